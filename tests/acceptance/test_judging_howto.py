"""What the how-to about judging shows is what its commands print."""

import os
import re
import shlex
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

from hive_mind.agents.judging.hybrid_judge import JudgedTurn
from tests.acceptance.hive_mind_command import HiveMind
from tests.servers.forked import run
from tests.servers.home_guard import HomeGuard
from tests.servers.redis_server import redis_program

ROOT = Path(__file__).parents[2]
HOWTO = (ROOT / "docs" / "howto" / "judge.md").read_text("utf-8")
SESSION = re.compile(r"(?:^    .*\n|^\n)+", re.MULTILINE)
PATIENCE_S = 30.0
LEFT_OUT = "…\n"
# How long ago something was asked.
AGO = re.compile(r"\b\d+[sm]\b +")


def steps(text: str) -> list[tuple[list[str], str]]:
    """Commands of the session about the judged fleet, each with what stands below it."""
    (session,) = (block for block in SESSION.findall(text) if "manifests/judged.yaml" in block)
    whole = re.sub(r"\n\n(?=\$ )", "\n", textwrap.dedent(session).strip() + "\n")
    parts = [step.partition("\n") for step in re.split(r"^\$ ", whole, flags=re.MULTILINE)[1:]]
    return [(shlex.split(line)[1:], told) for line, _, told in parts]


def said(out: str) -> list[str]:
    """Without times, and in any order: two agents ask in the same moment."""
    return sorted(AGO.sub("", out).splitlines())


@pytest.mark.slow
def test_the_judged_fleet_says_what_the_how_to_shows(hive_mind: HiveMind, monkeypatch: pytest.MonkeyPatch) -> None:
    redis_program()
    monkeypatch.chdir(ROOT)
    guard = HomeGuard(hive_mind.home)
    try:
        for line, told in steps(HOWTO):
            give_up = time.monotonic() + PATIENCE_S
            # What an agent learned or a person decided takes a moment until it is seen elsewhere.
            while told not in (LEFT_OUT, (ended := hive_mind(*line)).out) and said(ended.out) != said(told):
                assert time.monotonic() < give_up, f"{line}: {ended.out}{ended.err}"
                assert line[:2] != ["inbox", "approve"], ended.out + ended.err
                time.sleep(0.2)
            assert ended.code == 0, ended.err
    finally:
        guard.release()


def test_the_program_prints_what_stands_below_it() -> None:
    functions, program = re.findall(r"^```python\n(.*?)^```", HOWTO, re.MULTILINE | re.DOTALL)
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    own: dict[str, Any] = {}
    exec(functions, own)  # noqa: S102 - the document's own
    assert (own["brief"](JudgedTurn("short")), own["tested"]({"code": "assert 1"})) == (None, True)
    ended = run([sys.executable, "-c", program], 60, env=environment, text=True, check=True)
    assert textwrap.indent(ended.stdout, "    ") in HOWTO
