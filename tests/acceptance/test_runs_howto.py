"""What the how-to about runs shows is what its commands print."""

import re
import shlex
import textwrap
from pathlib import Path

import pytest

from tests.acceptance.hive_mind_command import HiveMind

ROOT = Path(__file__).parents[2]
HOWTO = (ROOT / "docs" / "howto" / "runs.md").read_text("utf-8")
BLOCK = re.compile(r"(?:^    .*\n|^\n)+", re.MULTILINE)


def steps(text: str) -> list[tuple[list[str], str]]:
    """Commands of the session with notes, each with what stands below it."""
    (session,) = (block for block in BLOCK.findall(text) if "hive-mind run incident-review" in block)
    parts = [step.partition("\n") for step in re.split(r"^\$ ", textwrap.dedent(session), flags=re.MULTILINE)[1:]]
    return [(shlex.split(line)[1:], told.strip()) for line, _, told in parts]


def test_the_session_prints_what_is_shown(hive_mind: HiveMind, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert len(steps(HOWTO)) == 4
    for line, told in steps(HOWTO):
        ended = hive_mind(*line)
        assert ended.code == int("parked" in told), ended.err
        assert ended.out.strip() == told
