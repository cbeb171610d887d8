"""Which process is meant: its number and when it began, because numbers are given out again.

Checked before a process is signalled. One that is not provably the intended process is left alone.
"""

import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

import msgspec
import psutil

# The kernel counts in hundredths of a second from when it was booted; the rest is for clocks that are set in small steps.
_SAME_START_S = 1.0
# From the start of a process until its command can be read: a millisecond or two, unless nobody lets it run.
_LOADED_WITHIN_S = 1.0


class Identity(msgspec.Struct, frozen=True, array_like=True):
    """A process. `started` is its start time as `psutil` gives it, in seconds."""

    pid: int
    started: float


@dataclass(frozen=True, slots=True)
class Use:
    """The resources that a process has used so far."""

    memory_bytes: int = 0
    cpu_s: float = 0.0


def identity_of(pid: int) -> Identity | None:
    """The process that has this number now; None where there is none."""
    process = _living(pid)
    return None if process is None else Identity(pid, process.create_time())


def state_of(identity: Identity) -> Literal["gone", "stopped", "alive"]:
    """Whether this very process is there, and whether somebody stopped it (SIGSTOP, or a debugger)."""
    try:
        if (process := _found(identity)) is None:
            return "gone"
        return "stopped" if process.status() in (psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP) else "alive"
    except psutil.Error:
        return "gone"


def is_running(identity: Identity) -> bool:
    """Whether this very process is there. One that ended and that nobody has taken note of is not."""
    return _found(identity) is not None


def send(identity: Identity, signum: signal.Signals) -> bool:
    """Signal this very process; False where it is gone."""
    # A descriptor stays with its process: its number can't change hands between looking and sending. Not every system has them.
    try:
        descriptor = os.pidfd_open(identity.pid) if hasattr(os, "pidfd_open") else None
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        descriptor = None
    try:
        process = _found(identity)
        if process is None:
            return False
        if descriptor is None:
            process.send_signal(signum)
        else:
            signal.pidfd_send_signal(descriptor, signum)
        return True
    except (ProcessLookupError, psutil.NoSuchProcess):
        return False
    finally:
        if descriptor is not None:
            os.close(descriptor)


def use_of(identity: Identity) -> Use:
    """The resources it uses; none where it is gone or may not be asked."""
    process = _found(identity)
    try:
        if process is None:
            return Use()
        with process.oneshot():
            spent = process.cpu_times()
            return Use(process.memory_info().rss, spent.user + spent.system)
    except psutil.Error:
        return Use()


def command_of(identity: Identity) -> list[str]:
    """The command it was started with; nothing where it is gone or may not be asked.

    One that was just started has none until its program is loaded, which on a busy machine is seen often: that is waited for.
    """
    until_s = time.monotonic() + _LOADED_WITHIN_S
    with suppress(psutil.Error):
        while (process := _found(identity)) is not None:
            if (command := process.cmdline()) or time.monotonic() > until_s:
                return command
            time.sleep(0.001)
    return []


def _found(identity: Identity) -> psutil.Process | None:
    process = _living(identity.pid)
    if process is None or abs(process.create_time() - identity.started) > _SAME_START_S:
        return None
    return process


def _living(pid: int) -> psutil.Process | None:
    # 0 and -1 stand for many processes, 1 is the system's, and this one is nobody's worker.
    if pid <= 1 or pid == os.getpid():
        return None
    try:
        process = psutil.Process(pid)
        return None if _is_over(process) else process
    except (psutil.Error, OSError, OverflowError, ValueError):
        return None


def _is_over(process: psutil.Process) -> bool:
    # While another thread is in the middle of a call to the kernel, its first one shows as ended and it still writes.
    return process.status() == psutil.STATUS_DEAD or (process.status() == psutil.STATUS_ZOMBIE and process.num_threads() <= 1)
