"""`hive-mind retrieval deploy` refuses what is worse, unless it is forced for a reason, and a dry run only judges."""

import json
import re
from pathlib import Path

import pytest

from tests.acceptance.retrieval_example import in_a_process
from tests.unit.retrieval.workspaces import everything_in


def test_what_is_worse_is_refused_with_the_evidence(retrieval):
    folder = retrieval.home / "retrieval"
    active = (folder / "configs" / "active.json").read_bytes()

    ended = in_a_process(retrieval, "deploy", "bad")

    assert ended.code == 1
    assert "refused: bad is not deployed, v1-naive stays active" in ended.err
    assert re.search(r"nUDCG is lower: -?[\d.]+ after [\d.]+ \([+-][\d.]+, 95 % interval", ended.err)
    assert "nUDCG" in ended.out
    assert (folder / "configs" / "active.json").read_bytes() == active
    assert list((folder / "results").glob("bad-*.json"))


def test_force_needs_a_reason_and_both_are_recorded(retrieval):
    refused = retrieval("retrieval", "deploy", "bad", "--force")
    assert refused.code == 2
    assert "--reason" in refused.err

    assert retrieval("retrieval", "deploy", "bad", "--force", "--reason", "an experiment").code == 0
    told = retrieval("retrieval", "history").out
    assert "deployed bad in place of v1-naive against the gate" in told
    assert "reason: an experiment" in told
    assert "overruled: nUDCG is lower" in told


def test_a_dry_run_judges_and_writes_nothing(retrieval):
    folder = retrieval.home / "retrieval"
    before = everything_in(folder)

    good, bad = (retrieval("retrieval", "deploy", name, "--dry-run") for name in ("good", "bad"))

    assert (good.code, bad.code) == (0, 1)
    assert "good may be deployed" in good.out
    after = everything_in(folder)
    assert {name: after[name] for name in after if not name.startswith("index/")} == {
        name: before[name] for name in before if not name.startswith("index/")
    }


def project(folder: Path, questions: int) -> Path:
    """A project as document 000 lays it out: its workspace in a folder of that name, paths as seen from the project."""
    workspace = folder / "workspace"
    config = {"collection": "knowledge-base", "retrieval": {"method": "keyword", "top_k": 10, "rrf_k": 60}, "filters": {}}
    naive = {"name": "v1-naive", **config}
    files = {
        "collections/knowledge-base.json": {
            "name": "knowledge-base",
            "documents_dir": "workspace/documents",
            "filterable_fields": ["category"],
            "chunking": {"strategy": "by_heading", "heading_level": 2, "max_tokens": 512},
        },
        "configs/v1-naive.json": naive,
        "configs/v2-filtered.json": {**naive, "name": "v2-filtered", "filters": {"category": ["api"]}},
        "configs/active.json": naive,
        "evals/golden.json": {
            "queries": [
                {
                    "query": f"How do I use part {number}?",
                    "relevant": [f"workspace/documents/api/{number}.md"],
                    "distractors": [f"documents/faqs/{number}.md"],
                }
                for number in range(questions)
            ]
        },
    }
    for name, value in files.items():
        file = workspace / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(value))
    for number in range(questions):
        for category, text in (("api", f"Part {number} is used by its name."), ("faqs", f"How do I use part {number}? Never.")):
            file = workspace / "documents" / category / f"{number}.md"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"# Part {number}\n\n{text}\n")
    return folder


@pytest.mark.parametrize("place", [".", "workspace"])
def test_a_project_of_document_000_is_used_as_it_is_or_taken_over_from_its_folder_too(hive_mind, tmp_path, place):
    at = project(tmp_path / "hive", questions=5) / place

    checked = hive_mind("retrieval", "validate", "-w", at, "-o", "json")
    assert checked.code == 0, checked.err
    deployed = hive_mind("retrieval", "deploy", "v2-filtered", "-w", at)
    assert deployed.code == 0, deployed.err
    assert "v2-filtered is active in place of v1-naive" in deployed.out
    again = hive_mind("retrieval", "deploy", "v2-filtered", "-w", at)
    assert (again.code, "identical to the configuration in use" in again.out) == (0, True)
    assert len(hive_mind("retrieval", "history", "-w", at, "-o", "json").json) == 2
    taken = hive_mind("retrieval", "init", "--from", at, "-w", tmp_path / "ours", "-o", "json").json
    assert taken["documents"] == 10


def test_with_four_questions_it_says_how_many_are_needed_and_what_else_is_possible(hive_mind, tmp_path):
    refused = hive_mind("retrieval", "deploy", "v2-filtered", "-w", project(tmp_path / "hive", questions=4))

    assert refused.code == 1
    assert "4 questions decide nothing" in refused.err
    assert "label at least 6 in evals/golden.json, better 30, or 5 each of which gains" in refused.err


def test_what_tune_writes_is_used_without_a_warning(hive_mind, tmp_path):
    at = project(tmp_path / "hive", questions=6)

    assert hive_mind("retrieval", "tune", "-w", at, "--name", "better", "--rounds", "2").code == 0

    assert "warning" not in hive_mind("retrieval", "validate", "-w", at).out
    assert "has no effect" not in hive_mind("retrieval", "tune", "better", "-w", at, "--rounds", "1").err


def test_results_with_equal_scores_are_not_taken_for_the_edge_of_a_cliff(hive_mind, tmp_path):
    at = project(tmp_path / "hive", questions=6)
    file = at / "workspace" / "configs" / "v3-cut.json"
    cut = {"enabled": True, "gap_threshold_factor": 3.0, "min_results": 1, "max_results": 10}
    file.write_text(
        json.dumps({"name": "v3-cut", "collection": "knowledge-base", "retrieval": {"method": "keyword"}, "dynamic_k": cut})
    )
    for name, how in (("x", "hand"), ("y", "foot")):
        (at / "workspace" / "documents" / "api" / f"{name}.md").write_text(f"# Valve\n\nThe valve closes by {how}.\n")
    (at / "workspace" / "documents" / "api" / "z.md").write_text(
        "# Pump\n\nBehind the valve stands a pump, which runs day and night.\n"
    )

    shown = hive_mind("retrieval", "query", "valve closes", "-c", "v3-cut", "-w", at, "-o", "json").json

    assert {result["document"] for result in shown["results"]} == {"api/x.md", "api/y.md", "api/z.md"}
