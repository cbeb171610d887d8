"""How many mutants of the pure rooms do their own unit tests catch? `python -m tests.mutants --count 1000 --seed 11`.

Each room is one process: its tests are collected and run once, which says which of them call which function; then each mutant is
a fork in which the tests that call its function run until one fails. A mutant that no test calls is missed.
"""

import argparse
import gc
import json
import os
import resource
import select
import signal
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hive_mind.measure.intervals import wilson_bounds
from tests.mutants.mutating import ROOT, Mutant, modules_of, mutants

ROOMS = ("model", "ranking", "crdt", "measure", "goals", "judge", "runs", "hive", "memory/gate", "control/planning")
_CHILD_S, _CHILD_BYTES, _ROOM_S = 60, 4 << 30, 6 * 3600


class Judging:
    """A plugin of pytest: it judges mutants in place of running tests. A line of JSON each goes to `out`."""

    def __init__(self, drawn: list[Mutant], out: Path) -> None:
        self._drawn, self._out = drawn, out
        self._failed: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed.append(report.nodeid)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        callers = self._callers(session)
        gc.freeze()
        with self._out.open("w") as lines:
            for mutant in self._drawn:
                items = callers.get(mutant.function.__code__, [])
                caught = bool(items) and _is_caught(mutant, items, self._failed)
                lines.write(json.dumps({"mutant": mutant.name, "tests": len(items), "is_caught": caught}) + "\n")
                lines.flush()
        return True

    def _callers(self, session: pytest.Session) -> dict[types.CodeType, list[pytest.Item]]:
        """The tests that call each function of a mutant; those that fail as it is are left out."""
        wanted = {mutant.function.__code__ for mutant in self._drawn}
        callers: dict[types.CodeType, list[pytest.Item]] = {}
        for item in session.items:
            called: set[types.CodeType] = set()

            def note(frame: types.FrameType, event: str, _: Any, called: set[types.CodeType] = called) -> None:
                if event == "call" and frame.f_code in wanted:
                    called.add(frame.f_code)

            self._failed.clear()
            sys.setprofile(note)
            try:
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
            finally:
                sys.setprofile(None)
            for code in called if not self._failed else ():
                callers.setdefault(code, []).append(item)
        return callers


def _is_caught(mutant: Mutant, items: list[pytest.Item], failed: list[str]) -> bool:
    """Whether a test fails in a fork that has the mutant, or never ends, or breaks its process."""
    reading, writing = os.pipe()
    if not (pid := os.fork()):
        mutant.function.__code__ = mutant.code
        signal.alarm(_CHILD_S)
        resource.setrlimit(resource.RLIMIT_AS, (_CHILD_BYTES, _CHILD_BYTES))
        failed.clear()
        for item in items:
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
            if failed:
                break
        os.write(writing, b"caught" if failed else b"missed")
        os._exit(0)
    os.close(writing)
    try:
        ready, _, _ = select.select([reading], [], [], _CHILD_S + 5)
        said = os.read(reading, 16) if ready else b""
    finally:
        os.close(reading)
        if not said:
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return said != b"missed"


def judge(room: str, count: int, seed: int, out: Path) -> int:
    """Of one room, in this process."""
    drawn = mutants(modules_of(room), count, seed)
    words = ["-p", "no:xdist", "-p", "no:cacheprovider", "-q", "-m", "not slow and not thorough and not embeddings and not data"]
    return int(pytest.main([*words, str(ROOT / "tests" / "unit" / room)], plugins=[Judging(drawn, out)]))


def _rows(out: Path) -> Iterator[dict[str, Any]]:
    return (json.loads(line) for line in out.read_text("utf-8").splitlines()) if out.exists() else iter(())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000, help="mutants over all rooms, dealt out by their lines")
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--out", type=Path, required=True, help="folder for a file of lines each room")
    parser.add_argument("--rooms", nargs="*", default=ROOMS)
    parser.add_argument("--room", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.room:
        sys.exit(judge(options.room, options.count, options.seed, options.out / f"{options.room.replace('/', '-')}.jsonl"))
    sizes = {room: sum(map(_size, (ROOT / "hive_mind" / room).rglob("*.py"))) for room in options.rooms}
    total: list[bool] = []
    for room, size in sizes.items():
        count = round(options.count * size / sum(sizes.values()))
        words = ["--room", room, "--count", str(count), "--seed", str(options.seed), "--out", str(options.out)]
        subprocess.run(
            [sys.executable, "-m", "tests.mutants", *words], cwd=ROOT, stdout=subprocess.DEVNULL, check=False, timeout=_ROOM_S
        )
        caught = [bool(row["is_caught"]) for row in _rows(options.out / f"{room.replace('/', '-')}.jsonl")]
        print(f"{room:20} {_shown(caught)}", flush=True)
        total += caught
    print(f"{'all':20} {_shown(total)}")


def _size(path: Path) -> int:
    return path.read_text("utf-8").count("\n")


def _shown(caught: list[bool]) -> str:
    if not caught:
        return "none"
    low, high = wilson_bounds(sum(caught), len(caught))
    return f"{sum(caught)} of {len(caught)} caught, {sum(caught) / len(caught):.1%} [{low:.1%}, {high:.1%}]"


if __name__ == "__main__":
    main()
