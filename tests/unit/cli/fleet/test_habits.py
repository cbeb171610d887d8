"""What fingers that know kubectl type is understood."""

from enum import StrEnum

import pytest
import typer
from typer.main import get_command

from hive_mind.cli.app import app
from hive_mind.cli.fleet import describe, get, noun_of, seconds


@pytest.mark.parametrize(("given", "meant_s"), [("90", 90), ("0.5", 0.5), ("10s", 10), ("1.5m", 90), ("1H", 3600), (120.0, 120)])
def test_a_time_may_have_a_unit(given: str, meant_s: float) -> None:
    assert seconds(given) == meant_s


@pytest.mark.parametrize("given", ["", "s", "10x", "-1s", "0", "25h", "nan", "inf", "1e3", "1m30s", "9" * 5000])
def test_what_is_no_time_is_told_with_what_is_one(given: str) -> None:
    with pytest.raises(typer.BadParameter, match=r"write 90, 90s, 1\.5m or 1h") as told:
        seconds(given)
    assert len(str(told.value)) < 200


@pytest.mark.parametrize(
    ("nouns", "typed", "meant"),
    [
        (get.Kind, "agent", "agents"),
        (get.Kind, "Hive", "hives"),
        (get.Kind, "events", "events"),
        (describe.Kind, "agents", "agent"),
    ],
)
def test_one_or_several_is_the_same_noun(nouns: type[StrEnum], typed: str, meant: str) -> None:
    assert noun_of(nouns)(typed) == meant


def test_another_noun_is_told_with_those_there_are() -> None:
    with pytest.raises(typer.BadParameter, match="'pods' is none of hive, agent"):
        noun_of(describe.Kind)("pods")


def test_the_last_lines_of_a_log_are_its_tail() -> None:
    (lines,) = (one for one in get_command(app).get_command(None, "logs").params if one.name == "lines")
    assert {"-n", "--lines", "--tail"} <= set(lines.opts)
