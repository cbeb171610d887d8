"""Several processes change one file of credentials at once, and are killed without warning: no value is lost, none is half.

Two set values, a third changes the key under them. All meet what those before them left, key and file included. And one is killed
before each line of the code that changes the files.
"""

import json
import os
import random
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.chance import seed_of_this_run
from tests.crash.credentials_writer import NAMES, name_of, value
from tests.sampled import usually
from tests.servers.forked import Forked, run
from tests.unit.credentials.stores import revealed, store_in

# A child that neither speaks nor dies would hang the test.
CHILD_MAX_S = 60.0
ROUNDS = int(os.environ.get("HIVE_KILLS", "8"))


class Child:
    """A writer; `acknowledged` is the number of its last change that it said was durable, -1 for none."""

    def __init__(self, folder: Path, what: str, name: str) -> None:
        command = [sys.executable, "-m", "tests.crash.credentials_writer", str(folder), what, name]
        self.name, self.acknowledged = name, -1
        self.process = Forked(command, stdout=subprocess.PIPE, text=True)
        self._guard = threading.Timer(CHILD_MAX_S, self.process.kill)
        self._guard.start()

    def hear(self, lines: int = sys.maxsize) -> None:
        """So many lines, or all until it has ended. One that was cut off says nothing."""
        assert self.process.stdout is not None
        for _ in range(lines):
            line = self.process.stdout.readline()
            if not line.endswith("\n"):
                return
            self.acknowledged = int(line.split()[1])

    def kill(self) -> None:
        self.process.kill()
        self.hear()
        self.process.wait(CHILD_MAX_S)
        self._guard.cancel()
        assert self.process.stdout is not None
        self.process.stdout.close()


def allowed(name: str, acknowledged: int, before: dict[str, str]) -> dict[str, set[str | None]]:
    """What each credential of a writer may be: the last value that was acknowledged, or the one that was under way."""
    found: dict[str, set[str | None]] = {name_of(name, place): {before.get(name_of(name, place))} for place in range(NAMES)}
    for number in range(max(0, acknowledged + 1 - NAMES), acknowledged + 1):
        found[name_of(name, number)] = {value(name, number)}
    found[name_of(name, acknowledged + 1)].add(value(name, acknowledged + 1))
    return found


def test_processes_that_set_at_once_while_others_change_the_key_and_are_killed_lose_nothing(tmp_path: Path) -> None:
    rng, changes, rotations = random.Random(seed := seed_of_this_run()), 0, 0
    store_in(tmp_path).set("first", "was there before")
    for round_ in range(ROUNDS):
        before = revealed(store_in(tmp_path))
        children = [*(Child(tmp_path, "set", name) for name in ("left", "right")), Child(tmp_path, "rotate", "key")]
        for child in rng.sample(children, len(children)):
            child.hear(rng.randrange(1, 12))
        for child in rng.sample(children, len(children)):
            child.kill()

        kept = revealed(store_in(tmp_path))
        wanted = {name: may for one in children[:2] for name, may in allowed(one.name, one.acknowledged, before).items()}
        assert {name: kept.get(name) for name, may in wanted.items() if kept.get(name) not in may} == {}, (seed, round_)
        assert kept["first"] == "was there before"
        assert kept.keys() <= wanted.keys() | {"first"}
        changes += sum(one.acknowledged + 1 for one in children[:2])
        rotations += children[2].acknowledged + 1

    assert changes >= 2 * ROUNDS
    assert rotations >= ROUNDS


OLD = {"first": "was there before"}
CUT = {"set": OLD | {"second": "sw0rdfish-9"}, "replace": {"first": "sw0rdfish-9"}, "delete": {}, "rotate": OLD}


@pytest.mark.parametrize("change", usually(CUT, "replace", "rotate"))
def test_killed_before_any_line_it_has_happened_or_it_has_not(change: str, tmp_path: Path) -> None:
    store_in(tmp_path).set("first", OLD["first"])
    command = [sys.executable, "-m", "tests.crash.credentials_writer", str(tmp_path), "cut", change]

    seen = [json.loads(line) for line in run(command, CHILD_MAX_S, text=True, check=True).stdout.splitlines()]
    assert [kept for _, kept in seen if kept not in (OLD, CUT[change])] == []
    # All but the last were killed, some of them before it was written and some after.
    assert [status for status, _ in seen] == [9] * (len(seen) - 1) + [0]
    assert len(seen) > 30
    assert (seen[0][1], seen[-2][1], seen[-1][1]) == (OLD, CUT[change], CUT[change])
    assert store_in(tmp_path).rotate() == len(CUT[change])
