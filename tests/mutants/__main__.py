"""How many mutants of the pure rooms do tests catch? `make mutants` draws 1,000: SEED=11 COUNT=1000 ROOMS="ranking crdt".

One process collects the tests of those rooms and those across rooms, and runs each once, which says which of them call which
function. Each mutant is then a fork in which the tests that call its function run, quick ones first, until one fails.
"""

import argparse
import functools
import gc
import json
import os
import random
import resource
import select
import signal
import sys
import time
import types
from collections import Counter
from collections.abc import Container, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import pytest

from hive_mind.measure import wilson_bounds
from tests import limits
from tests.architecture.test_rules import PURE
from tests.mutants.mutating import ROOT, Mutant, drawn

# Besides a room's own: what goes through many rooms in one process, and so calls theirs.
_ACROSS_ROOMS = ("tests/laws", "tests/contract/test_memory.py", "tests/unit/memory")
# A mutant is judged by the quick tests that call it, up to this many seconds of CPU together as they take without it.
_TESTS_S = 3.0
# One that takes this long never ends: in seconds of CPU, and for what waits and uses none.
_CPU_S, _ELAPSED_S = 40, 600.0
_CHILD_BYTES = 4 << 30
Outcome = Literal["caught", "endless", "missed", "uncalled"]


class Judging:
    """A plugin of pytest: it judges mutants in place of running tests. `outcomes`: of each, in their order."""

    def __init__(self, mutants: list[Mutant], rows: Path | None = None) -> None:
        self.outcomes: list[Outcome] = []
        self._mutants, self._rows = mutants, rows
        self._failures: list[str] = []
        self._caches: list[Any] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        """A counterexample is not made small. On a busy machine a test takes longer, and is bounded by what it uses."""
        limits.LIMIT_S = _ELAPSED_S
        from hypothesis import Phase, settings  # Pytest rewrites it, so it is imported by pytest.

        settings.register_profile("mutants", settings(), phases=(Phase.explicit, Phase.generate))
        settings.load_profile("mutants")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failures.append(report.nodeid)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self._caches = _caches()
        callers = self._callers(session)
        gc.freeze()
        for mutant in self._mutants:
            tests = _quick(callers.get(mutant.function, []))
            self.outcomes.append(self._outcome(mutant, tests) if tests else "uncalled")
            if self._rows is not None:
                row = {"mutant": mutant.name, "change": mutant.change, "tests": len(tests), "outcome": self.outcomes[-1]}
                with self._rows.open("a") as lines:
                    lines.write(json.dumps(row) + "\n")
        return True

    def _callers(self, session: pytest.Session) -> dict[types.FunctionType, list[tuple[float, pytest.Item]]]:
        """The tests that call each function of a mutant, with their seconds of CPU; those that fail as it is are left out."""
        functions = {id(mutant.function.__code__): mutant.function for mutant in self._mutants}
        callers: dict[types.FunctionType, list[tuple[float, pytest.Item]]] = {}
        for test in session.items:
            self._failures.clear()
            _emptied(self._caches)
            began_s = time.process_time()
            with _calls_noted(functions.keys()) as called:
                test.config.hook.pytest_runtest_protocol(item=test, nextitem=None)
            for code in called if not self._failures else ():
                callers.setdefault(functions[code], []).append((time.process_time() - began_s, test))
        return callers

    def _outcome(self, mutant: Mutant, tests: list[pytest.Item]) -> Outcome:
        """In a fork that has the mutant."""
        reading, writing = os.pipe()
        if not (pid := os.fork()):
            signal.signal(signal.SIGXCPU, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_CPU, (_CPU_S, _CPU_S + 1))
            resource.setrlimit(resource.RLIMIT_AS, (_CHILD_BYTES, _CHILD_BYTES))
            _emptied(self._caches)
            mutant.function.__code__ = mutant.code
            self._failures.clear()
            for test in tests:
                test.config.hook.pytest_runtest_protocol(item=test, nextitem=None)
                if self._failures:
                    break
            os.write(writing, b"caught" if self._failures else b"missed")
            os._exit(0)
        os.close(writing)
        try:
            ready, _, _ = select.select([reading], [], [], _ELAPSED_S)
            word = os.read(reading, 16) if ready else b""
        finally:
            os.close(reading)
            if not word:
                os.kill(pid, signal.SIGKILL)
            _, status = os.waitpid(pid, 0)
        if word == b"missed":
            return "missed"
        return "caught" if word or os.waitstatus_to_exitcode(status) not in {-signal.SIGXCPU, -signal.SIGKILL} else "endless"


@contextmanager
def _calls_noted(codes: Container[int]) -> Iterator[set[int]]:
    """Which of `codes`, by their `id`, are called."""
    called: set[int] = set()

    def note(frame: types.FrameType, event: str, _: object) -> None:
        if event == "call" and id(frame.f_code) in codes:
            called.add(id(frame.f_code))

    sys.settrace(note)
    try:
        yield called
    finally:
        sys.settrace(None)


def _caches() -> list[Any]:
    """Of the package: what a function has remembered from before would hide a mutant."""
    gc.unfreeze()
    caches = (thing for thing in gc.get_objects() if type(thing) is functools._lru_cache_wrapper)
    return [cache for cache in caches if cache.__module__.startswith("hive_mind")]


def _emptied(caches: list[Any]) -> None:
    for cache in caches:
        cache.cache_clear()


def _quick(timed: list[tuple[float, pytest.Item]]) -> list[pytest.Item]:
    """As many of the quickest as take `_TESTS_S`, and one at least."""
    tests: list[pytest.Item] = []
    spent_s = 0.0
    for test_s, test in sorted(timed, key=lambda pair: pair[0]):
        if tests and (spent_s := spent_s + test_s) > _TESTS_S:
            break
        tests.append(test)
    return tests


def tests_of(room: str) -> list[Path]:
    """A folder of its own, or the tests that have its name; and those across rooms."""
    across = [ROOT / path for path in _ACROSS_ROOMS]
    if not room.endswith(".py"):
        return [*across, *(folder for folder in (ROOT / "tests" / "unit" / room, ROOT / "tests" / room) if folder.is_dir())]
    return [*across, *sorted((ROOT / "tests").rglob(f"test_{Path(room).stem}.py"))]


def judge(mutants: list[Mutant], tests: list[Path], rows: Path | None = None) -> list[Outcome]:
    words = ["-p", "no:xdist", "-p", "no:cacheprovider"]
    judging = Judging(mutants, rows)
    with TemporaryDirectory(prefix="mutants-") as folder, Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere):
        marks = "not slow and not thorough and not embeddings and not data"
        pytest.main([*words, "--basetemp", f"{folder}/tests", "-m", marks, *map(str, tests)], plugins=[judging])
    return judging.outcomes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000, help="mutants over all rooms, dealt out by their lines")
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--rooms", nargs="*", default=PURE)
    parser.add_argument("--rows", type=Path, help="file that gets a line of JSON for each mutant as soon as it is judged")
    options = parser.parse_args()
    rooms = drawn(options.rooms, options.count, options.seed)
    tests = [path for room in rooms for path in tests_of(room)]
    mutants = [mutant for of_room in rooms.values() for mutant in of_room]
    # So that what has been judged, wherever it stands, is a sample of all.
    random.Random(options.seed).shuffle(mutants)
    outcomes = dict(zip(mutants, judge(mutants, tests, options.rows), strict=True))
    for mutant, outcome in sorted(outcomes.items(), key=lambda judged: judged[0].name):
        if outcome in {"missed", "uncalled"}:
            print(f"{outcome:8} {mutant.name}  {mutant.change}")
    for room, of_room in rooms.items():
        print(f"{room:34} {_shown([outcomes[mutant] for mutant in of_room])}")
    print(f"{'all':34} {_shown(list(outcomes.values()))}")


def _shown(outcomes: list[Outcome]) -> str:
    if not outcomes:
        return "none"
    counts = Counter(outcomes)
    caught = counts["caught"] + counts["endless"]
    low, high = wilson_bounds(caught, len(outcomes))
    rest = ", ".join(f"{counts[outcome]} {outcome}" for outcome in ("endless", "uncalled") if counts[outcome])
    return f"{caught} of {len(outcomes)} caught, {caught / len(outcomes):.1%} [{low:.1%}, {high:.1%}]{rest and f' ({rest})'}"


if __name__ == "__main__":
    main()
