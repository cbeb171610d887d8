"""Errors as exit codes and messages."""

import errno
import logging
import os
from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from hive_mind.cli.running import CommandError, Stopped, command, shown_notices
from hive_mind.errors import BackendUnavailable, BudgetExceeded, InvalidInput, UnknownBackend


def ending(error: BaseException) -> int:
    @command
    async def fails() -> None:
        raise error

    with pytest.raises(typer.Exit) as exit_:
        fails()
    return exit_.value.exit_code


PLACE, ROOM = "name another place", "make room there, and run it again"
UNFIT = (errno.ENAMETOOLONG, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.EFBIG)


def of_disk(number: int, advice: str) -> tuple[OSError, int, str]:
    error = OSError(number, os.strerror(number), "/srv/x")
    return error, 1, f"error: /srv/x: {os.strerror(number)}; {advice}\n"


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        *((one, 1, f"error: {one}\n") for one in (BackendUnavailable("kuzu", "gone"), BudgetExceeded("spent"))),
        (CommandError("bad file"), 1, "error: bad file\n"),
        # The caller must change these.
        *((one, 2, f"error: {one}\n") for one in (InvalidInput("no such name"), UnknownBackend("embed", "foo", ["none"]))),
        (Stopped("stopped; 3 of 12 files learned"), 130, "stopped; 3 of 12 files learned\n"),
        of_disk(errno.ENOSPC, ROOM),
        of_disk(errno.EROFS, f"{PLACE}, or mount it to be written"),
        *(of_disk(number, f"{PLACE}, or change its permissions") for number in (errno.EACCES, errno.EPERM)),
        *(of_disk(number, PLACE) for number in UNFIT),
    ],
)
def test_what_is_no_defect_is_an_exit_code_and_one_message(error, code, told, capsys):
    assert ending(error) == code
    assert capsys.readouterr() == ("", told)


@dataclass
class Where:
    place: Annotated[str, typer.Option("--place", "-p")] = "here"
    level: Annotated[int, typer.Option("--level")] = 1


def test_a_dataclass_stands_for_the_options_that_its_fields_declare():
    heard = []

    @command
    async def go(speed: int = 3, *, at: Where) -> None:
        heard.append((speed, at))

    app = typer.Typer()
    app.command()(go)
    for line in ([], ["--speed", "7", "-p", "there", "--level", "2"]):
        assert CliRunner().invoke(app, line).exit_code == 0
    assert heard == [(3, Where()), (7, Where("there", 2))]


def test_a_command_may_run_another():
    heard = []

    @command
    async def say(word: str) -> None:
        heard.append(word)

    say("hello")
    assert heard == ["hello"]


def test_a_defect_keeps_its_traceback():
    @command
    async def defective() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        defective()


def test_each_notice_is_shown_once_and_only_for_as_long_as_a_command_runs(capsys):
    logger = logging.getLogger("hive_mind.somewhere")
    with shown_notices():
        for _ in range(3):
            logger.warning("keyword search only: %s", "no model")
    logger.debug("unseen")

    assert capsys.readouterr() == ("", "note: keyword search only: no model\n")
    assert not logging.getLogger("hive_mind").handlers
