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


@pytest.mark.parametrize("error", [BackendUnavailable("kuzu", "gone"), BudgetExceeded("spent"), CommandError("bad file")])
def test_what_fails_though_asked_properly_is_1(error, capsys):
    assert ending(error) == 1
    assert capsys.readouterr() == ("", f"error: {error}\n")


@pytest.mark.parametrize("error", [InvalidInput("no such name"), UnknownBackend("embed", "foo", ["none"])])
def test_what_the_caller_must_change_is_2(error, capsys):
    assert ending(error) == 2
    assert capsys.readouterr() == ("", f"error: {error}\n")


def test_a_stop_says_what_was_kept(capsys):
    assert ending(Stopped("stopped; 3 of 12 files learned")) == 130
    assert capsys.readouterr() == ("", "stopped; 3 of 12 files learned\n")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS])
def test_a_disk_that_takes_nothing_more_is_told_and_no_defect(capsys, number):
    assert ending(OSError(number, os.strerror(number), "/home/state.json")) == 1
    assert capsys.readouterr().err == f"error: /home/state.json: {os.strerror(number)}; make room there, and run it again\n"


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        *((number, "name another place, or change its permissions") for number in (errno.EACCES, errno.EPERM)),
        *(
            (number, "name another place")
            for number in (errno.ENAMETOOLONG, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.EFBIG)
        ),
    ],
)
def test_a_place_that_can_not_be_taken_is_told_and_no_defect(capsys, number, advice):
    assert ending(OSError(number, os.strerror(number), "/srv/x")) == 1
    assert capsys.readouterr().err == f"error: /srv/x: {os.strerror(number)}; {advice}\n"


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
