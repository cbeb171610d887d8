"""`hive-mind retrieval` as a person uses it: no key, no model, no network."""

import json
import re
import shlex
from pathlib import Path

import pytest

from hive_mind.cli.retrieval import workspaces
from tests.acceptance.hive_mind_command import HiveMind
from tests.acceptance.retrieval_example import GOOD, NAIVE, in_a_process
from tests.unit.retrieval.test_taking_over import project
from tests.unit.retrieval.workspaces import public, workspace, written

pytestmark = pytest.mark.usefixtures("loaded_cells")


def test_from_nothing_to_a_deployed_configuration_and_back(hive_mind):
    folder = hive_mind.home / "retrieval"

    began = in_a_process(hive_mind, "init")
    assert (began.code, began.err) == (0, "")
    assert "searches by keyword" in began.out
    assert in_a_process(hive_mind, "validate").code == 0
    assert re.search(r"documents \d+ added; \d+ chunks", in_a_process(hive_mind, "index").out)

    before = hive_mind("retrieval", "evaluate", NAIVE, "-o", "json").json
    assert before["count"] == 30
    assert before["metrics"]["nudcg"]["mean"] < 0.5 * before["metrics"]["ndcg"]["mean"]

    asked = hive_mind("retrieval", "query", "How does my application get an access token?")
    assert (asked.code, asked.err) == (0, "")
    assert "[relevant]" in asked.out
    assert "[distractor]" in asked.out

    tuned = in_a_process(hive_mind, "tune", "--name", "better", "--rounds", "4", "--seed", "1")
    assert tuned.code == 0, tuned.err
    assert "better may be deployed" in tuned.out

    compared = hive_mind("retrieval", "compare", NAIVE, "better", "--questions", "test", "-o", "json").json
    assert compared["differences"]["nudcg"]["interval"]["low"] > 0
    assert compared["after"]["distractors_in_5"] <= compared["before"]["distractors_in_5"] / 2

    deployed = hive_mind("retrieval", "deploy", "better", "--reason", "fewer distractors", "--by", "ines")
    assert deployed.code == 0, deployed.err
    assert json.loads((folder / "configs" / "active.json").read_text())["config"] == "better"

    told = hive_mind("retrieval", "history").out
    assert "deployed better in place of v1-naive by ines" in told
    assert "reason: fewer distractors" in told

    assert "v1-naive is active again" in hive_mind("retrieval", "deploy", "--rollback").out
    assert [one["what"] for one in hive_mind("retrieval", "history", "-o", "json").json] == ["rollback", "deploy", "found"]


def test_a_workspace_of_the_public_layout_is_read_as_it_is(hive_mind, tmp_path):
    public(tmp_path)

    described = hive_mind("retrieval", "describe", "-w", tmp_path)
    evaluated = hive_mind("retrieval", "evaluate", "-w", tmp_path)

    assert (described.code, evaluated.code) == (0, 0), described.err + evaluated.err
    assert "knowledge-base" in described.out
    assert "answered by words alone" in evaluated.err


def test_describe_tells_what_can_filter_and_its_values(retrieval):
    told = retrieval("retrieval", "describe").out

    assert re.search(r"category\s+keyword\s+yes\s+api-docs \d+ · ", told)
    assert re.search(r"title\s+text\s+no", told)
    assert "30 questions, 15 to tune on, 15 held out" in told
    assert "v1-naive (active)" in told
    assert retrieval("retrieval", "describe", "-o", "json").json["active"] == NAIVE


def test_index_takes_in_only_what_changed(retrieval):
    documents = retrieval.home / "retrieval" / "documents"
    (documents / "faqs" / "billing-and-limits.md").unlink()
    (documents / "faqs" / "new.md").write_text("# New\n\nThe lighthouse code is QX-17.\n")

    done = retrieval("retrieval", "index", "-o", "json").json[0]

    assert (done["added"], done["changed"], done["removed"]) == (1, 0, 1)
    assert "faqs/new.md" in retrieval("retrieval", "query", "QX-17").out


def test_query_explains_itself_to_programs(retrieval):
    config = {**GOOD, "name": "cut", "dynamic_k": {"enabled": True, "max_results": 5}}
    (retrieval.home / "retrieval" / "configs" / "cut.json").write_text(json.dumps(config))

    found = retrieval("retrieval", "query", "How long is a cursor valid?", "--config", "cut", "-o", "json").json

    assert found["config"] == "cut"
    assert found["results"][0]["keyword"] > 0
    assert found["results"][0]["keyword_rank"] == 1
    assert found["scored"] <= found["filtered_to"]
    assert found["why_cut"]
    assert found["labels"]["relevant"] == ["api-docs/pagination.md"]


def test_query_needs_no_questions_that_can_be_read(retrieval):
    (retrieval.home / "retrieval/evals/golden.json").write_text('{"queries": [')
    ended = retrieval("retrieval", "query", "How long is a cursor valid?", "-o", "json")

    assert ended.code == 0
    assert ended.json["results"]
    assert ended.json["labels"] is None
    assert "note: results are shown without labels: " in ended.err
    assert "golden.json:1: golden set: the bracket of line 1 is never closed; add ]" in ended.err


def test_validate_looks_for_the_documents_of_questions_in_the_collection_they_fit(hive_mind, tmp_path):
    here = workspace(tmp_path, config='{"name": "v1", "collection": "kb", "retrieval": {"method": "keyword"}}')
    written(tmp_path, {"collections/a.json": '{"name": "a", "documents_dir": "other"}', "other/b/c.md": "# C\n\nText.\n"})

    assert hive_mind("retrieval", "validate", "-w", tmp_path).code == 0

    here.golden_file.write_text(here.golden_file.read_text().replace("api/auth.md", "api/auht.md"))
    ended = hive_mind("retrieval", "validate", "-w", tmp_path)
    assert ended.code == 2
    assert "there is no document api/auht.md; did you mean api/auth.md?" in ended.out


def test_validate_asks_for_a_model_where_only_what_is_in_use_needs_one(hive_mind, tmp_path, monkeypatch):
    async def yes(*_):
        return True

    monkeypatch.setattr(workspaces, "has_embeddings", yes)
    words = '{"name": "v1", "collection": "kb", "retrieval": {"method": "keyword"}}'
    workspace(tmp_path, config=words, active='{"name": "v1", "collection": "kb", "retrieval": {"method": "hybrid"}}')

    ended = hive_mind("retrieval", "validate", "-w", tmp_path)

    assert (ended.code, "needs embeddings" in ended.out) == (0, False)


def test_diff_names_every_setting_that_differs(retrieval):
    told = retrieval("retrieval", "compare", NAIVE, "good", "--settings").out.splitlines()

    assert told == [
        "v1-naive → good",
        "  retrieval.top_k: 10 → 5",
        "  filters.status: not set → current",
        "  filters.audience: not set → developers",
    ]
    assert "no setting differs" in retrieval("retrieval", "compare", "good", "good", "--settings").out


def test_compare_without_a_second_name_compares_with_what_is_active(retrieval):
    ended = retrieval("retrieval", "compare", "good")
    assert ended.out.startswith("v1-naive → good: 30 questions")
    assert re.search(r"distractor \S+: \d+ → not shown", ended.out)


def test_pictures_are_drawn(retrieval, tmp_path):
    for name, start in (("compared.svg", b"<svg"), ("compared.PNG", b"\x89PNG")):
        assert retrieval("retrieval", "compare", "good", "--plot", tmp_path / name).code == 0
        assert (tmp_path / name).read_bytes().startswith(start)
    wrong = retrieval("retrieval", "evaluate", "--plot", "compared.pdf")
    assert (wrong.code, ".svg or .png" in wrong.err) == (2, True)


def test_ask_takes_the_same_file(hive_mind, notes, tmp_path):
    assert hive_mind("learn", notes).code == 0
    file = tmp_path / "one.json"
    file.write_text('{"name": "one", "retrieval": {"method": "keyword", "top_k": 1}, "filters": {"category": ["faqs"]}}')

    plain, configured = (hive_mind("ask", "Which pump cools?", *more, "-o", "json") for more in ([], ["--config", file]))

    assert configured.code == 0, configured.err
    assert plain.json["sources"]
    assert "has no effect here in filters" in configured.err
    wrong = hive_mind("ask", "Which pump cools?", "--config", tmp_path / "absent.json")
    assert (wrong.code, wrong.out) == (2, "")


def test_eval_takes_the_same_file(hive_mind, tmp_path):
    documents = [{"_id": "d1", "text": "The ferry leaves at nine."}, {"_id": "d2", "text": "Pumps need oil."}]
    (tmp_path / "x.corpus.jsonl").write_text("\n".join(map(json.dumps, documents)))
    (tmp_path / "x.queries.jsonl").write_text(json.dumps({"_id": "q1", "text": "When does the ferry leave?", "qrels": {"d1": 1}}))
    file = tmp_path / "one.json"
    file.write_text('{"name": "one", "retrieval": {"method": "keyword", "top_k": 3}}')
    arguments = ["eval", "retrieval", "--data", tmp_path, "--topology", "single,flat", "--agents", 2, "--config", file]

    rows = hive_mind(*arguments, "-o", "json").json["rows"]

    assert [(row["method"], row["metrics"]["recall@3"]) for row in rows] == [("keyword", 1.0), ("keyword", 1.0)]
    file.write_text('{"name": "one", "retrieval": {"top_k": true}}')
    assert f"{file}:1: retrieval.top_k: " in hive_mind(*arguments).err


def test_the_commands_of_the_howto_do_what_it_says(hive_mind: HiveMind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    at_home = HiveMind(Path(".hive"))
    howto = (Path(__file__).parents[2] / "docs" / "howto" / "retrieval.md").read_text("utf-8")
    config = "\n".join(
        line[4:] for line in re.findall(r"(?m)^    (?://|[{}]|  ).*$", howto.split("Save this as")[1].split("|")[0])
    )
    commands = [line.strip() for line in howto.splitlines() if line.startswith("    hive-mind ")]

    assert len(commands) >= 18
    for command in commands:
        if "validate current" in command:
            Path(".hive/retrieval/configs/current.json").write_text(config)
        ended = at_home(*shlex.split(command, comments=True)[1:])
        assert ended.code == int(command.partition("# exit code ")[2] or 0), (command, ended.err)
    assert hive_mind.home.exists() is False


def test_a_workspace_of_another_project_is_taken_over_and_what_was_changed_is_told(hive_mind, tmp_path):
    source, here = project(tmp_path / "repository"), tmp_path / "ours"

    before = in_a_process(hive_mind, "validate", "-w", source)
    taken = in_a_process(hive_mind, "init", "--from", source, "-w", here)
    after = hive_mind("retrieval", "evaluate", "v2-filtered", "-w", here, "-o", "json")

    assert before.code == 2
    assert taken.code == 0, taken.err
    assert "configs/v1.json is configs/v1-naive.json, as it calls itself" in taken.out
    assert f"hive-mind retrieval validate -w {here}" in taken.out
    assert after.code == 0, after.err
    assert after.json["count"] == 2
    again = hive_mind("retrieval", "init", "--from", tmp_path / "nowhere", "-w", here)
    assert (again.code, "is not a workspace" in again.err) == (2, True)
