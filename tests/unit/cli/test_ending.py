"""Signals that end a process, as one command sees them."""

import asyncio
import fcntl
import os
import signal
import sys
import termios
import threading
from collections.abc import Iterator
from subprocess import DEVNULL, STDOUT

import pytest
import typer

from hive_mind.cli.running import command, ending_signals, exit_codes
from tests.servers.children import Child
from tests.waiting import wait_until

CODES = [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
HANDLED = [number for number, _ in CODES]


@pytest.fixture(autouse=True)
def handlers_are_as_before() -> Iterator[None]:
    # Ignored where a shell started the tests in the background.
    started_with = signal.signal(signal.SIGINT, signal.default_int_handler)
    before = [signal.getsignal(number) for number in HANDLED]
    yield
    after = [signal.getsignal(number) for number in HANDLED]
    for number, handler in zip(HANDLED, before, strict=True):
        signal.signal(number, handler)
    signal.signal(signal.SIGINT, started_with)
    assert after == before


def code_of(*numbers: signal.Signals) -> tuple[int, list[str]]:
    """The exit code of a command that is signalled while it waits, and what it still did."""
    done: list[str] = []

    @command
    async def waits() -> None:
        asyncio.get_running_loop().call_soon(lambda: [os.kill(os.getpid(), number) for number in numbers])
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            done.append("finished")

    with pytest.raises(typer.Exit) as exit_:
        waits()
    return exit_.value.exit_code, done


@pytest.mark.parametrize(("number", "code"), CODES)
def test_a_command_that_is_told_to_end_finishes_and_says_by_its_exit_code_who_told_it(number, code, capsys):
    assert code_of(number) == (code, ["finished"])
    assert capsys.readouterr().err == "stopped; only what was finished before is kept\n"


@pytest.mark.parametrize("number", HANDLED)
def test_a_command_that_has_finished_when_it_is_told_to_end_has_not_stopped(number, capsys):
    @command
    async def finishes() -> None:
        os.kill(os.getpid(), number)

    finishes()

    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGHUP])
def test_a_second_signal_leaves_the_command_to_finish(second):
    code, done = code_of(signal.SIGHUP, second)
    assert code in (129, 143)
    assert done == ["finished"]


@pytest.mark.parametrize(("number", "code"), CODES[1:])
def test_it_is_told_to_end_also_where_ctrl_c_is_ignored(number, code):
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert code_of(number) == (code, ["finished"])
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("number", HANDLED[1:])
def test_what_was_ignored_stays_ignored(number):
    before = signal.signal(number, signal.SIG_IGN)
    try:
        assert number not in ending_signals()
        with exit_codes():
            os.kill(os.getpid(), number)
    finally:
        signal.signal(number, before)


@pytest.mark.parametrize(("number", "code"), CODES)
def test_what_runs_without_an_event_loop_is_interrupted_as_by_ctrl_c(number, code):
    def waits() -> None:
        with exit_codes():
            os.kill(os.getpid(), number)
            threading.Event().wait()

    with pytest.raises(typer.Exit) as exit_:
        waits()

    assert exit_.value.exit_code == code


class Dying:
    """Is signalled where Python can raise nothing."""

    def __init__(self, number: signal.Signals) -> None:
        self.number = number

    def __del__(self) -> None:
        os.kill(os.getpid(), self.number)
        # Python looks for signals between two steps.
        [None for _ in range(100)]


@pytest.mark.parametrize(("number", "code"), CODES)
def test_a_signal_that_meets_a_destructor_is_not_lost(number, code, capsys):
    def waits() -> None:
        with exit_codes():
            Dying(number)
            threading.Event().wait(60)

    with pytest.raises(typer.Exit) as exit_:
        waits()

    assert exit_.value.exit_code == code
    assert capsys.readouterr().err == "stopped; only what was finished before is kept\n"


MAKES = """
import os, sys, typer
from hive_mind.cli import running

try:
    with running.exit_codes():
        exec("os.kill(os.getpid(), int(sys.argv[1]))")
except typer.Exit as end:
    sys.exit(end.exit_code)
"""


@pytest.mark.parametrize(("number", "code"), CODES[1:])
def test_the_exit_code_is_that_of_the_signal_also_where_it_met_code_that_was_made_from_text(number, code, tmp_path):
    (tmp_path / "made.py").write_text(MAKES)
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    with Child([sys.executable, "-m", "made", str(int(number))], env=environment, stderr=DEVNULL) as process:
        assert process.wait(60) == code


def test_in_another_thread_signals_stay_what_they_are():
    seen: list[object] = []

    def work() -> None:
        with exit_codes():
            seen.extend(signal.getsignal(number) for number in HANDLED)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

    assert seen == [signal.getsignal(number) for number in HANDLED]


WRITES = """
import sys, typer
from hive_mind.cli import output, running

@running.command
async def writes():
    output.show("x" * int(sys.argv[1]))

running._READER_S, sys.argv[2:] = 1, []
app = typer.Typer()
app.command()(writes)
app([])
"""


# So much is written in the loop, so little at the end.
@pytest.mark.parametrize(("characters", "stderr"), [(500_000, DEVNULL), (500_000, STDOUT), (5_000, DEVNULL), (5_000, STDOUT)])
def test_it_ends_though_nobody_reads_its_output(characters, stderr):
    reader, writer = os.pipe()
    room = fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    environment = os.environ | {"PYTHONUNBUFFERED": ""}
    with Child([sys.executable, "-c", WRITES, str(characters)], env=environment, stdout=writer, stderr=stderr) as process:
        wait_until(lambda: int.from_bytes(fcntl.ioctl(reader, termios.FIONREAD, bytes(4)), sys.byteorder) == room)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 128 + signal.SIGTERM
    os.close(reader)
    os.close(writer)
