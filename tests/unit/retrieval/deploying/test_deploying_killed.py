"""Who is killed while deploying or rolling back leaves a workspace that works and a history that is true."""

import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from hive_mind.retrieval.deployment import read_deployments, rollback
from tests.servers.forked import Forked
from tests.unit.retrieval.deployments import ANSWERS, BEST, GOOD, NAIVE, NOON, WORSE, place_in, put
from tests.unit.retrieval.measurements import Ranked, bench

ROOT = Path(__file__).parents[4]


@pytest.fixture
def place(tmp_path):
    return place_in(tmp_path)


class Killed(BaseException):
    """What nobody catches."""


def killed_at(monkeypatch, step):
    """From the given change of the disk on, nothing reaches it any more. Returns what was counted."""
    count = [0]

    def counting(kind, name):
        real = getattr(kind, name)

        def counted(*args, **more):
            count[0] += 1
            if count[0] > step:
                raise Killed
            return real(*args, **more)

        monkeypatch.setattr(kind, name, counted)

    for kind, name in [(os, "fsync"), (Path, "replace"), (Path, "unlink")]:
        counting(kind, name)
    return count


def steps_of(monkeypatch, change):
    with monkeypatch.context() as patched:
        counted = killed_at(patched, 10_000)
        change()
    return counted[0]


class TestAKill:
    """Between any two changes of the disk: syncing a file, renaming one, taking one away."""

    def test_in_the_middle_of_a_deployment_leaves_the_former_or_the_new_one_and_a_true_history(self, tmp_path, monkeypatch):
        folders = (bench(tmp_path / str(n), Ranked(ANSWERS), NAIVE, GOOD, BEST, WORSE) for n in range(1_000))
        first = next(folders)
        put(first, "good")
        steps = steps_of(monkeypatch, lambda: put(first, "best"))
        seen = set()
        for step in range(steps):
            place = next(folders)
            put(place, "good")
            with monkeypatch.context() as patched:
                killed_at(patched, step)
                with pytest.raises(Killed):
                    put(place, "best")
            active = place.workspace.active()
            assert active in (GOOD, BEST)
            seen.add(active.name)

            assert [one.config for one in read_deployments(place.workspace)] == (["good"] if active == GOOD else ["good", "best"])
            # Nothing is in the way of the next one.
            assert active == BEST or put(place, "best", now=NOON + timedelta(minutes=1)).entry
            rollback(place.workspace, "ines")
            assert place.workspace.active() == GOOD
        assert seen == {"good", "best"}
        assert steps > 15

    def test_in_the_middle_of_a_rollback_does_the_same(self, tmp_path, monkeypatch):
        folders = (bench(tmp_path / str(n), Ranked(ANSWERS), NAIVE, GOOD, BEST, WORSE) for n in range(1_000))

        def two(place):
            put(place, "good")
            put(place, "best")
            return place

        first = two(next(folders))
        steps = steps_of(monkeypatch, lambda: rollback(first.workspace, "ines"))
        seen = set()
        for step in range(steps):
            place = two(next(folders))
            with monkeypatch.context() as patched:
                killed_at(patched, step)
                with pytest.raises(Killed):
                    rollback(place.workspace, "ines", now=NOON)
            active = place.workspace.active()
            seen.add(active.name)

            history = [one.what for one in read_deployments(place.workspace)]
            assert history == ["deploy", "deploy"] + (["rollback"] if active == GOOD else [])
        assert seen == {"good", "best"}

    def test_that_leaves_half_a_line_costs_only_that_half(self, place):
        put(place, "good")
        put(place, "best")
        history = place.workspace.history_file
        history.write_bytes(history.read_bytes()[:-30])

        assert [one.config for one in read_deployments(place.workspace)] == ["good", "best"]
        assert history.read_bytes().count(b"\n") == 2

    def test_of_a_real_process_leaves_a_workspace_that_works(self, place):
        put(place, "good")
        script = (
            "import sys; sys.path.insert(0, '.')\n"
            "from pathlib import Path\n"
            "from tests.unit.retrieval.deploying.test_deploying_killed import *\n"
            f"place = bench(Path({str(place.workspace.root)!r}), Ranked(ANSWERS), NAIVE, GOOD, BEST, WORSE)\n"
            "while True:\n"
            "    put(place, 'best', now=None)\n"
            "    rollback(place.workspace, 'ines')\n"
            "    print(flush=True)\n"
        )
        with Forked([sys.executable, "-c", script], stdout=subprocess.PIPE, cwd=ROOT) as process:
            for _ in range(3):
                assert process.stdout.readline() == b"\n"
            process.kill()

        assert place.workspace.active() in (GOOD, BEST)
        told = read_deployments(place.workspace)
        assert len({one.at for one in told}) == len(told)
        assert told[-1].is_of(place.workspace.active())
