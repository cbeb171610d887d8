"""A request whose answer was lost with the process is put again: it is answered, and undoes nothing that came after it."""

import json
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.servers.forked import run

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
OLD, NEW, NEWEST = (f"The gateway listens on port {port}." for port in (8443, 9443, 7443))


class Agent:
    """One that is asked by a process for each request."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def asked(self, *, is_killed: bool = False, **request: object) -> Any:
        arguments = [str(self._home), json.dumps(request), "yes" if is_killed else "no"]
        ended = run([sys.executable, "-m", "tests.crash.request_writer", *arguments], 60, cwd=ROOT, text=True)
        assert ended.returncode == (-signal.SIGKILL if is_killed else 0), ended.stderr
        return None if is_killed else json.loads(ended.stdout)

    def learned(self, text: str) -> str:
        return str(self.asked(do="learn", text=text, source="runbook")["facts"][0])

    def known(self) -> list[str]:
        return [fact["content"] for fact in self.asked(do="facts")["facts"]]


def test_a_correction_put_again_after_a_kill_is_answered_and_does_not_undo_a_later_one(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    correct = {"do": "correct", "fact_id": agent.learned(OLD), "content": NEW, "source": "ada", "key": "k1"}

    agent.asked(**correct, is_killed=True)
    (newer,) = agent.asked(do="facts")["facts"]
    agent.asked(do="correct", fact_id=newer["fact_id"], content=NEWEST, source="ben")

    assert agent.asked(**correct)["fact_id"] == newer["fact_id"]
    assert agent.known() == [NEWEST]


def test_a_retraction_put_again_after_a_kill_is_answered_and_does_not_take_back_what_was_said_since(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    fact_id = agent.learned(OLD)
    retract = {"do": "retract", "fact_id": fact_id, "text": "wrong", "key": "k1"}

    agent.asked(**retract, is_killed=True)
    assert agent.known() == []
    agent.asked(do="store", content=OLD, source="ben")

    assert agent.asked(**retract)["fact_id"] == fact_id
    assert agent.known() == [OLD]
    assert agent.asked(do="retract", fact_id=fact_id, key="k2")["sharing"] == "retracted"


def test_what_was_learned_before_a_kill_is_learned_once(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    learn = {"do": "learn", "text": OLD, "source": "runbook", "key": "k1"}

    agent.asked(**learn, is_killed=True)
    again = agent.asked(**learn)

    (fact,) = agent.asked(do="facts")["facts"]
    assert (again["facts"], fact["sources"]) == ([fact["fact_id"]], ["runbook"])
