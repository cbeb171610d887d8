"""What is better is put into use and the history says so; what is worse, makes no sense or can't be written changes nothing.

A rollback puts back what was in use before.

Who is killed while deploying or rolling back leaves a workspace that works and a history that is true.
"""

import itertools
import json
import os
import shutil
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from hive_mind.errors import InvalidInput, WorkspaceError
from hive_mind.retrieval import WorkspaceBusy, workspace_lock
from hive_mind.retrieval.deployment import read_deployments, read_history, rollback
from tests.servers.forked import Forked
from tests.unit.retrieval.deployments import BEST, GOOD, NAIVE, NOON, WORSE, names, place_in, put


@pytest.fixture
def place(tmp_path):
    return place_in(tmp_path)


def test_the_first_configuration_is_put_into_use_unless_it_misleads_more_than_it_helps(place):
    outcome = put(place, "naive", why="something to begin with")

    assert outcome.verdict.level == "behavioural"
    # It misleads more than it helps, and says so.
    assert outcome.entry is None
    assert place.workspace.active() is None
    assert put(place, "good").entry is not None
    assert place.workspace.active() == GOOD


def test_what_is_better_takes_the_place_of_what_was_there_and_the_history_says_who_when_and_why(place):
    put(place, "good", by="ines", why="a start")

    # Force that was not needed is not recorded as such.
    outcome = put(place, "best", by="bao", why="without the FAQ", force=True, now=NOON + timedelta(hours=1))

    assert place.workspace.active() == BEST
    _, entry = read_history(place.workspace.history_file)
    assert entry == outcome.entry
    assert (entry.what, entry.config, entry.former) == ("deploy", "best", "good")
    assert (entry.by, entry.why, entry.at) == ("bao", "without the FAQ", "2026-01-02T13:00:00.000000+00:00")
    assert (entry.figures["distractors"], entry.figures["distractors_before"]) == (0, 8)
    assert entry.figures["interval"][0] > 0
    told = place.workspace.deployment()
    assert (told.config, told.by, told.why, told.forced, entry.forced) == ("best", "bao", "without the FAQ", False, False)
    kept = [json.loads(path.read_text())["evaluation"]["config"]["name"] for path in outcome.results]
    assert kept == ["good", "best"]
    assert entry.results == tuple(path.name for path in outcome.results)


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "best", "retrieval": {"top_k": true}}',
        '{"name": "best", "collection": "gone"}',
        '{"name": "best", "collection": "kb", "retrieval": {"method": "vector"}}',
        '{"name": "other", "collection": "kb", "retrieval": {"method": "keyword"}}',
    ],
)
def test_no_force_deploys_what_has_no_form_or_makes_no_sense(place, text):
    place.workspace.config_file("best").write_text(text)

    outcome = put(place, "best", why="I insist", force=True)

    assert outcome.entry is None
    assert outcome.verdict.level in ("syntactic", "semantic")
    assert not place.workspace.active_file.exists()
    assert not place.workspace.results.exists()


def test_an_edited_file_reaches_nobody_before_it_is_deployed(place):
    put(place, "best")

    place.workspace.config_file("best").write_text(WORSE.model_copy(update={"name": "best"}).model_dump_json(by_alias=True))

    assert place.workspace.active() == BEST


@pytest.mark.parametrize(("by", "why"), [("x" * 201, ""), ("ines", "x" * 2001)])
def test_who_and_why_have_a_bound(place, by, why):
    with pytest.raises(InvalidInput, match="shorten it"):
        put(place, "good", by=by, why=why)


def test_while_somebody_deploys_nobody_else_does(place):
    with workspace_lock(place.workspace.root), pytest.raises(WorkspaceBusy, match="another process is deploying"):
        put(place, "good")


class TestWhatCameSomeOtherWay:
    def test_a_link_is_replaced_and_what_it_leads_to_stays_as_it_is(self, place):
        linked = place.workspace.config_file("good")
        place.workspace.active_file.symlink_to(linked)
        before = linked.read_bytes()

        put(place, "best")

        assert place.workspace.active() == BEST
        assert linked.read_bytes() == before

    def test_an_active_file_that_was_edited_by_hand_stands_in_the_history(self, place):
        put(place, "good")
        place.workspace.active_file.write_text('{"config": "best"}')

        assert [(one.what, one.config) for one in read_deployments(place.workspace)] == [("deploy", "good"), ("found", "best")]

    def test_a_line_that_is_no_entry_is_told_and_nothing_is_changed(self, place):
        put(place, "good")
        history = place.workspace.history_file
        history.write_text("{}\n" + history.read_text())

        with pytest.raises(WorkspaceError, match=r"history\.jsonl:1: history: is not an entry of the history"):
            put(place, "best")
        assert place.workspace.active() == GOOD


def test_a_note_that_is_none_stops_nobody(place):
    put(place, "good")
    (place.workspace.root / ".deploying.json").write_text("garbage")

    assert put(place, "best").entry is not None

    assert names(place) == [("deploy", "good"), ("deploy", "best")]
    assert rollback(place.workspace, "ines").config == "good"


@pytest.mark.parametrize("active", ['{"config": "gone"}', "{,"])
def test_the_history_can_be_read_while_the_active_file_can_not(place, active):
    put(place, "good")
    place.workspace.active_file.write_text(active)

    assert [one.config for one in read_deployments(place.workspace)] == ["good"]
    with pytest.raises((InvalidInput, WorkspaceError), match="active"):
        put(place, "best")


@pytest.mark.parametrize("name", [".deploying.lock", "history.jsonl", "results"])
def test_what_can_not_be_written_is_told_and_changes_nothing(place, name):
    put(place, "good")
    path = place.workspace.root / name
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    path.write_text("") if name == "results" else path.mkdir()

    with pytest.raises(InvalidInput, match=rf"{name} can't be (written|read) \(.+\): make"):
        put(place, "best")

    assert place.workspace.active() == GOOD


def test_a_history_that_is_a_link_is_not_followed(place, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("a line without an end")
    place.workspace.history_file.symlink_to(secret)

    with pytest.raises(InvalidInput, match="is a link"):
        put(place, "good")

    assert secret.read_text() == "a line without an end"


class TestRollback:
    def test_it_puts_back_what_was_in_use_before_as_it_was_then(self, place):
        put(place, "good", why="a start")
        put(place, "best")
        place.workspace.config_file("good").unlink()

        entry = rollback(place.workspace, "bao", "slower than thought", NOON)

        assert place.workspace.active() == GOOD
        assert (entry.what, entry.config, entry.former, entry.by) == ("rollback", "good", "best", "bao")
        assert entry.why == "slower than thought"

    def test_once_more_goes_back_further(self, place):
        place.workspace.active_file.write_text(NAIVE.model_dump_json(by_alias=True))
        put(place, "good")
        put(place, "best")

        rollback(place.workspace, "ines")
        rollback(place.workspace, "ines")

        assert place.workspace.active() == NAIVE
        assert names(place) == [
            ("found", "naive"), ("deploy", "good"), ("deploy", "best"), ("rollback", "good"), ("rollback", "naive"),
        ]  # fmt: skip

    def test_after_a_rollback_a_deployment_can_be_rolled_back_too(self, place):
        put(place, "good")
        put(place, "worse", why="try", force=True)
        rollback(place.workspace, "ines")
        put(place, "best")

        rollback(place.workspace, "ines")

        assert place.workspace.active() == GOOD

    @pytest.mark.parametrize("deployed", [[], ["good"]])
    def test_there_has_to_be_something_to_go_back_to(self, place, deployed):
        for name in deployed:
            put(place, name)

        with pytest.raises(InvalidInput, match="nothing to roll back to"):
            rollback(place.workspace, "ines")


ROOT = Path(__file__).parents[4]


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


def places_of(folder, *deployed):
    """Places in which these were deployed, as many as are wanted; each is a copy of one."""
    first = place_in(folder / "first")
    for name in deployed:
        put(first, name)
    for number in itertools.count():
        shutil.copytree(first.workspace.root, folder / str(number))
        yield place_in(folder / str(number))


class TestAKill:
    """Between any two changes of the disk: syncing a file, renaming one, taking one away."""

    def test_in_the_middle_of_a_deployment_leaves_the_former_or_the_new_one_and_a_true_history(self, tmp_path, monkeypatch):
        places = places_of(tmp_path, "good")
        first = next(places)
        steps = steps_of(monkeypatch, lambda: put(first, "best"))
        seen = set()
        for step in range(steps):
            place = next(places)
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
        places = places_of(tmp_path, "good", "best")
        first = next(places)
        steps = steps_of(monkeypatch, lambda: rollback(first.workspace, "ines"))
        seen = set()
        for step in range(steps):
            place = next(places)
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
            "from hive_mind.retrieval.deployment import rollback\n"
            "from tests.unit.retrieval.deployments import place_in, put\n"
            f"place = place_in(Path({str(place.workspace.root)!r}))\n"
            "while True:\n"
            "    put(place, 'best', now=None)\n"
            "    rollback(place.workspace, 'ines')\n"
            "    print(flush=True)\n"
        )
        with Forked([sys.executable, "-c", script], stdout=subprocess.PIPE, cwd=ROOT) as process:
            for _ in range(2):
                assert process.stdout.readline() == b"\n"
            process.kill()

        assert place.workspace.active() in (GOOD, BEST)
        told = read_deployments(place.workspace)
        assert len({one.at for one in told}) == len(told)
        assert told[-1].is_of(place.workspace.active())
