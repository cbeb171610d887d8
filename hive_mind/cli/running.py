"""From a command to the world: runs its coroutine, and turns what goes wrong into one message and an exit code.

0 is fine, 1 failed, 2 used wrongly, 130 stopped by Ctrl-C (143 by SIGTERM, 129 by SIGHUP), 141 the reader of our output went
away (as for any Unix tool). An error that is not ours keeps its traceback: it is a defect, and the place
matters.

Notices of the parts below ("keyword search only: …"), shown once each as a line on stderr.

Being told to end: SIGTERM (systemd, docker, kill) and SIGHUP (a terminal that closes) do what Ctrl-C does. The first cancels the
work in the event loop, which finishes the write under way and says how far it came. Further ones change nothing: a terminal that
closes sends two. Only a second Ctrl-C ends at once, and everything acknowledged is on disk then too. A signal ignored when a
command starts (by `nohup`, or by a shell for a command in the background) stays ignored.
"""

import asyncio
import errno
import functools
import inspect
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from dataclasses import fields, is_dataclass, make_dataclass
from io import UnsupportedOperation
from pathlib import Path
from types import FrameType
from typing import Any, TextIO, TypeVar, get_type_hints

from hive_mind.cli.output import say, spell_out_unknown_characters
from hive_mind.errors import ConfigError, FileError, HiveError, reason_of

Outcome = TypeVar("Outcome")

# 128 and the number of the signal, as shells have it.
_SIGNALLED = 128


class Ending:
    """Which signal wants this process to end; without one it is Ctrl-C."""

    _received: signal.Signals | None = None
    _task: asyncio.Task[Any] | None = None

    @property
    def code(self) -> int:
        """The exit code of a process that was told to end."""
        return exit_code(self._received or signal.SIGINT)

    async def cancellable(self, work: Coroutine[Any, Any, Outcome]) -> Outcome:
        """For `asyncio.run`: work that the first signal cancels, unless it has finished by then."""
        self._task = asyncio.current_task()
        try:
            result = await work
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0)
            return result
        finally:
            self._task = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self._received is not None:
            return
        self._received = signal.Signals(number)
        if self._task is not None:
            _alarm(_READER_S)
            self._task.get_loop().call_soon_threadsafe(_alarm, 0)
        self._interrupt(frame)

    def _interrupt(self, frame: FrameType | None) -> None:
        interrupt = signal.getsignal(signal.SIGINT)
        if callable(interrupt):
            # Python's own, or that of an event loop, which counts how often it was called.
            interrupt(signal.SIGINT, frame)
            return
        if self._task is None:
            raise KeyboardInterrupt
        self._task.cancel()

    def unraisable(self, event: Any) -> None:
        """For `sys.unraisablehook`: an interrupt that met a destructor, where Python can raise nothing, comes once more."""
        if event.exc_type is not KeyboardInterrupt:
            sys.__unraisablehook__(event)
            return
        signal.signal(signal.SIGALRM, lambda _, frame: self._interrupt(frame))
        signal.setitimer(signal.ITIMER_REAL, _AGAIN_S)


def exit_code(number: int) -> int:
    """The exit code of a process that a signal ends."""
    return _SIGNALLED + number


def ending_signals(*first: signal.Signals) -> list[signal.Signals]:
    """Those of this system that end a process and are not ignored; Ctrl-C where it is named."""
    signals = (*first, *(getattr(signal, name, None) for name in ("SIGTERM", "SIGHUP")))
    return [number for number in signals if number is not None and signal.getsignal(number) not in (signal.SIG_IGN, None)]


# By then the destructor has ended; where the interrupt meets another one, it comes again.
_AGAIN_S = 0.05
# Told to end, it waits no longer for a reader of its output, who may have stopped reading for good.
_READER_S = 5


def _alarm(after_s: int) -> None:
    """Interrupt this thread then as a second Ctrl-C would, unless it is called again with 0."""
    if hasattr(signal, "alarm") and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.alarm(after_s)


FAILED, USAGE, STOPPED, NO_READER = 1, 2, 130, 141

# The remedy for a disk that is full or was mounted to be read, for a place that is not this user's, and for a path that no system
# takes: those are no defects.
_ADVICE = dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "make room there, and run it again") | {
    errno.EROFS: "name another place, or mount it to be written",
    **dict.fromkeys((errno.EACCES, errno.EPERM), "name another place, or change its permissions"),
    **dict.fromkeys(
        (errno.ENAMETOOLONG, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ELOOP, errno.EFBIG), "name another place"
    ),
    # Of a standard output that was closed when we began: see `__main__`.
    errno.EBADF: "give it a standard output, such as > /dev/null",
}

_LOGGER = "hive_mind"


class CommandError(HiveError):
    """A command that can't do what it was asked to, though it was asked properly."""


class Stopped(Exception):
    """Ctrl-C, or a signal that is treated like it, with one line that says what was kept."""


def cut_short(error: BaseException, far: str) -> BaseException:
    """The error to raise where work in parts was cancelled or failed; it, or a line, says how far that came."""
    if isinstance(error, asyncio.CancelledError):
        return Stopped(f"stopped; {far}")
    say(f"failed; {far}")
    return error


Work = Callable[..., Coroutine[Any, Any, None] | None]


def command(work: Work) -> Callable[..., None]:
    """Make a function a command: the same parameters, and the coroutine that it may give is run to its end.

    A plain function that gives one can read standard input before the event loop starts. A parameter whose type is a dataclass
    stands for the options that its fields declare, and gets one made of what was given for them.
    """
    signature = inspect.signature(work, eval_str=True)
    groups: dict[str, Any] = {
        name: parameter.annotation for name, parameter in signature.parameters.items() if is_dataclass(parameter.annotation)
    }

    @functools.wraps(work)
    def run(*args: Any, **options: Any) -> None:
        for name, group in groups.items():
            options[name] = group(**{field.name: options.pop(field.name) for field in fields(group)})
        spell_out_unknown_characters()
        with exit_codes() as ending, shown_notices():
            coroutine = work(*args, **options)
            if coroutine is not None:
                asyncio.run(ending.cancellable(coroutine))
            sys.stdout.flush()

    declared = [
        option
        for parameter in signature.parameters.values()
        for option in (_options_of(parameter) if parameter.name in groups else [parameter])
    ]
    run.__signature__ = signature.replace(parameters=declared)  # type: ignore[attr-defined]
    return run


def _options_of(group: inspect.Parameter) -> list[inspect.Parameter]:
    types = get_type_hints(group.annotation, include_extras=True)
    defaults = {field.name: field.default for field in fields(group.annotation)}
    return [inspect.Parameter(name, group.kind, default=default, annotation=types[name]) for name, default in defaults.items()]


@contextmanager
def exit_codes() -> Iterator[Ending]:
    """Errors raised on purpose, and signals that end a process, become a line on stderr and an exit code.

    While it lasts, the signals do what Ctrl-C does. In another thread than the first they stay what they are.
    """
    ending, is_first = Ending(), threading.current_thread() is threading.main_thread()
    before = {number: signal.signal(number, ending) for number in ending_signals()} if is_first else {}
    hook = sys.unraisablehook
    if is_first and hasattr(signal, "setitimer"):
        sys.unraisablehook = ending.unraisable
    try:
        yield ending
    except HiveError as error:
        first, *others = [problem.in_file(error.file) for problem in error.problems] if isinstance(error, FileError) else [error]
        say(f"error: {first}", style="red")
        for problem in others:
            say(str(problem), style="red")
        raise _exit(USAGE if isinstance(error, ConfigError) else FAILED) from None
    except (Stopped, KeyboardInterrupt, asyncio.CancelledError) as stop:
        _alarm(_READER_S)
        try:
            say(str(stop) or "stopped; only what was finished before is kept")
            sys.stdout.flush()
        except (KeyboardInterrupt, OSError):
            _drop_output(sys.stdout, sys.stderr)
        _alarm(0)
        # Where an interrupt met the code that makes a dataclass, Python ends the process by SIGINT, whatever its exit code; it
        # forgets that when the next one is made.
        make_dataclass("_Next", ())
        raise _exit(ending.code) from None
    except (BrokenPipeError, SystemExit) as end:
        # Rich, which prints help, makes an exit of the first.
        if not isinstance(end, BrokenPipeError) and not isinstance(end.__context__, BrokenPipeError):
            raise
        _drop_output()
        raise _exit(NO_READER) from None
    except OSError as error:
        if error.errno not in _ADVICE:
            raise error
        say(f"error: {error.filename or 'writing'}: {reason_of(error)}; {_ADVICE[error.errno]}", style="red")
        if error.filename is None:
            _drop_output()
        raise _exit(FAILED) from None
    finally:
        sys.unraisablehook = hook
        for number, handler in before.items():
            signal.signal(number, handler)


def _drop_output(*streams: TextIO) -> None:
    """The text still buffered has no reader or no room; without this Python would wait for one, or complain, at exit."""
    with suppress(UnsupportedOperation):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in streams or (sys.stdout,):
            os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def _exit(code: int) -> Exception:
    # A worker that runs well needs nothing of the command line.
    import typer

    return typer.Exit(code)


class _Shown(logging.Handler):
    """Says each different message once."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self._said: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        """Say the message, unless it was said before."""
        message = record.getMessage()
        if message not in self._said:
            self._said.add(message)
            say(f"note: {message}", style="yellow")


@contextmanager
def shown_notices() -> Iterator[None]:
    """For as long as the block runs, what this package has to say goes to stderr and nowhere else."""
    logger, handler = logging.getLogger(_LOGGER), _Shown()
    propagated, logger.propagate = logger.propagate, False
    level = logger.level
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagated
        logger.setLevel(level)


def is_there(path: str | Path) -> bool:
    """Whether a file or folder is; none has a name that is too long, for which `Path.exists` fails."""
    try:
        return Path(path).exists()
    except OSError:
        return False
