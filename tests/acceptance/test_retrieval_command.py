"""`hive-mind retrieval` as a person uses it: no key, no model, no network."""

import json
import re
import shlex
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from hive_mind.retrieval.workspace import Workspace
from tests.acceptance.hive_mind_command import Ended, HiveMind
from tests.servers.openai_compatible import OpenAICompatibleServer, Reply
from tests.unit.retrieval.bad_files import COLLECTIONS, CONFIGS, GOLDEN_SETS, WITHOUT_EMBEDDINGS
from tests.unit.retrieval.workspaces import everything_in, public, workspace

COMMANDS = (
    "init",
    "describe",
    "validate",
    "index",
    "query",
    "evaluate",
    "compare",
    "diff",
    "tune",
    "deploy",
    "history",
    "rollback",
)
ROOT = Path(__file__).parents[2]
NAIVE = "v1-naive"
GOOD = {
    "name": "good",
    "collection": "quaymaster",
    "retrieval": {"method": "keyword", "top_k": 5},
    "filters": {"status": ["current"], "audience": ["developers"]},
}
BAD = {
    "name": "bad",
    "collection": "quaymaster",
    "retrieval": {"method": "keyword"},
    "filters": {"category": ["faqs", "changelogs"]},
}


def in_a_process(hive_mind: HiveMind, *arguments: object, stdin: bytes = b"") -> Ended:
    process = hive_mind.start("retrieval", *arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = process.communicate(stdin, timeout=120)
    return Ended(process.returncode, out.decode(), err.decode())


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example, indexed, with a configuration that is good and one that is bad."""
    hive_mind = HiveMind(tmp_path_factory.mktemp("example") / "home")
    assert hive_mind("retrieval", "init").code == 0
    folder = hive_mind.home / "retrieval"
    for config in (GOOD, BAD):
        (folder / "configs" / f"{config['name']}.json").write_text(json.dumps(config))
    assert hive_mind("retrieval", "index").code == 0
    return folder


@pytest.fixture
def retrieval(hive_mind: HiveMind, example: Path) -> HiveMind:
    """A home with a copy of it."""
    shutil.copytree(example, hive_mind.home / "retrieval")
    return hive_mind


def test_from_nothing_to_a_deployed_configuration_and_back(hive_mind):
    folder = hive_mind.home / "retrieval"

    began = in_a_process(hive_mind, "init")
    assert (began.code, began.err) == (0, "")
    assert "searches by keyword" in began.out
    assert in_a_process(hive_mind, "validate").code == 0
    assert re.search(r"documents \d+ added; \d+ chunks", in_a_process(hive_mind, "index").out)

    before = in_a_process(hive_mind, "evaluate", NAIVE, "-o", "json").json
    assert before["count"] == 30
    assert before["metrics"]["nudcg"]["mean"] < 0.5 * before["metrics"]["ndcg"]["mean"]

    asked = in_a_process(hive_mind, "query", "How does my application get an access token?")
    assert (asked.code, asked.err) == (0, "")
    assert "[relevant]" in asked.out
    assert "[distractor]" in asked.out

    tuned = in_a_process(hive_mind, "tune", "--name", "better", "--rounds", "4", "--seed", "1")
    assert tuned.code == 0, tuned.err
    assert "better may be deployed" in tuned.out

    compared = in_a_process(hive_mind, "compare", NAIVE, "better", "--questions", "test", "-o", "json").json
    assert compared["differences"]["nudcg"]["interval"]["low"] > 0
    assert compared["after"]["distractors_in_5"] <= compared["before"]["distractors_in_5"] / 2

    deployed = in_a_process(hive_mind, "deploy", "better", "--reason", "fewer distractors", "--by", "ines")
    assert deployed.code == 0, deployed.err
    assert json.loads((folder / "configs" / "active.json").read_text())["config"] == "better"

    told = in_a_process(hive_mind, "history").out
    assert "deployed better in place of v1-naive by ines" in told
    assert "reason: fewer distractors" in told

    assert "v1-naive is active again" in in_a_process(hive_mind, "rollback").out
    assert [one["what"] for one in in_a_process(hive_mind, "history", "-o", "json").json] == ["rollback", "deploy", "found"]


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
    assert {name for name in after if not name.startswith("index/")} == {name for name in before if not name.startswith("index/")}


def test_deploying_what_is_in_use_changes_nothing_and_is_no_failure(retrieval):
    assert retrieval("retrieval", "deploy", "good").code == 0

    again = retrieval("retrieval", "deploy", "good")

    assert again.code == 0
    assert "in use already" in again.out
    assert len(retrieval("retrieval", "history", "-o", "json").json) == 2


@pytest.mark.parametrize("bad", [*CONFIGS, *WITHOUT_EMBEDDINGS], ids=lambda bad: bad.name)
def test_a_bad_configuration_is_told_exactly_and_never_deployed(hive_mind, tmp_path, bad):
    folder = tmp_path / "search"
    workspace(folder, config=bad.text)
    before = everything_in(folder)

    validated = hive_mind("retrieval", "validate", "v1", "-w", folder)
    deployed = hive_mind("retrieval", "deploy", "v1", "-w", folder, "--force", "--reason", "I want it")

    assert (validated.code, deployed.code) == (2, 2)
    told = [line for line in validated.out.splitlines() if ": warning: " not in line]
    for line, path, message in bad.says:
        assert f"configs/v1.json:{line}: {path}: {message}" in told
        assert f"v1.json:{line}: {path}: {message}" in deployed.err
    assert {name: text for name, text in everything_in(folder).items() if "deploying" not in name} == before


@pytest.mark.parametrize(
    ("kind", "bad"),
    [*(("collection", bad) for bad in COLLECTIONS), *(("golden", bad) for bad in GOLDEN_SETS)],
    ids=lambda one: one if isinstance(one, str) else one.name,
)
def test_a_bad_collection_or_golden_set_is_told_exactly(hive_mind, tmp_path, kind, bad):
    workspace(tmp_path, config='{"name": "v1", "collection": "kb", "retrieval": {"method": "keyword"}}', **{kind: bad.text})
    file = {"collection": "collections/kb.json", "golden": "evals/golden.json"}[kind]

    ended = hive_mind("retrieval", "validate", "-w", tmp_path)

    assert ended.code == 2
    for line, path, message in bad.says:
        assert f"{file}:{line}: {path}: {message}" in ended.out


def test_problems_can_be_had_as_json(hive_mind, tmp_path):
    workspace(tmp_path, config='{"name": "v1", "collection": "kb",\n"retrieval": {"top_k": true}}')

    found = hive_mind("retrieval", "validate", "v1", "-w", tmp_path, "-o", "json").json

    assert [(one["file"], one["is_valid"]) for one in found] == [("configs/v1.json", False)]
    assert found[0]["findings"][0]["line"] == 2


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


def test_diff_names_every_setting_that_differs(retrieval):
    told = retrieval("retrieval", "diff", NAIVE, "good").out.splitlines()

    assert told == [
        "v1-naive → good",
        "  retrieval.top_k: 10 → 5",
        "  filters.status: not set → current",
        "  filters.audience: not set → developers",
    ]
    assert "no setting differs" in retrieval("retrieval", "diff", "good", "good").out


def test_compare_without_a_second_name_compares_with_what_is_active(retrieval):
    ended = retrieval("retrieval", "compare", "good")

    assert ended.out.startswith("v1-naive → good: 30 questions")
    assert re.search(r"distractor \S+: \d+ → not shown", ended.out)


def test_pictures_are_drawn(retrieval, tmp_path):
    file = tmp_path / "compared.svg"

    assert retrieval("retrieval", "compare", "good", "--plot", file).code == 0

    assert file.read_text().startswith("<svg")
    wrong = retrieval("retrieval", "evaluate", "--plot", "compared.png")
    assert (wrong.code, ".svg" in wrong.err) == (2, True)


def test_a_person_tunes_at_the_keyboard(retrieval):
    typed = b'retrieval.top_k = many\nfilters.status = ["current"]\nold pages mislead\n\n'

    ended = in_a_process(retrieval, "tune", "--how", "person", "--name", "mine", stdin=typed)

    assert ended.code == 0, ended.err
    assert "not possible: retrieval.top_k" in ended.err
    assert "mine-001" in ended.out
    assert "old pages mislead" in (retrieval.home / "retrieval" / "configs" / "mine.json").read_text()


def test_ctrl_c_while_tuning_keeps_the_best(retrieval):
    process = retrieval.start("retrieval", "tune", "--name", "kept", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    for line in process.stdout:
        if b"kept-001" in line:
            process.send_signal(signal.SIGINT)
            break
    _, err = process.communicate(timeout=60)

    assert process.returncode == 130
    assert b"the best so far is kept" in err
    assert retrieval("retrieval", "validate", "kept").code == 0


def test_tuning_with_a_model_says_which_one_to_set(retrieval):
    ended = retrieval("retrieval", "tune", "--how", "llm")

    assert ended.code == 2
    assert "HIVE_MIND_LLM" in ended.err


def test_a_model_tunes_until_it_has_nothing_new_and_what_it_found_is_kept(retrieval):
    reply = json.dumps({"reason": "old pages mislead", "config": GOOD})

    ended = retrieval.with_environment(HIVE_MIND_LLM=f"scripted:{reply}")("retrieval", "tune", "--how", "llm", "--name", "told")

    assert ended.code == 0, ended.err
    assert "old pages mislead" in ended.out
    assert "told may be deployed" in ended.out
    assert "replied twice with something that can't be used" in ended.out
    assert "tokens spent" in ended.err


def test_a_served_model_improves_step_by_step_on_what_it_is_told(retrieval):
    pytest.importorskip("pydantic_ai")
    first = {**GOOD, "name": "first", "filters": {"status": ["current"]}}
    steps = [{"reason": "old pages mislead", "config": first}, {"reason": "help for others too", "config": GOOD}, {"done": True}]
    with OpenAICompatibleServer([Reply(f"```json\n{json.dumps(step)}\n```") for step in steps]) as server:
        told = retrieval.with_environment(
            HIVE_MIND_LLM="openai:some-model", HIVE_MIND_LLM_URL=server.base_url, HIVE_MIND_LLM_KEY="k"
        )
        ended = in_a_process(told, "tune", "--how", "llm", "--name", "served", "-o", "json")

    assert ended.code == 0, ended.err
    assert [step["reason"] for step in ended.json["steps"][1:]] == ["old pages mislead", "help for others too"]
    compared = ended.json["comparison"]
    assert compared["differences"]["nudcg"]["interval"]["low"] > 0
    assert compared["after"]["distractors_in_5"] <= compared["before"]["distractors_in_5"] / 2
    assert "old pages mislead" in json.dumps(server.requests[1].body)
    held_out = [one.query for one in Workspace.open(retrieval.home / "retrieval").golden().split("test")]
    assert not [query for query in held_out if any(query in json.dumps(one.body) for one in server.requests)]
    assert retrieval("retrieval", "deploy", "served").code == 0


def test_a_model_that_replies_nonsense_is_a_failure(retrieval):
    ended = retrieval.with_environment(HIVE_MIND_LLM="scripted:hello")("retrieval", "tune", "--how", "llm", "--name", "told")

    assert ended.code == 1
    assert "error: scripted:hello replied twice with something that can't be used: it contains no JSON object" in ended.err
    assert not (retrieval.home / "retrieval" / "configs" / "told.json").exists()


def test_without_a_workspace_every_command_says_how_to_get_one(hive_mind):
    for command in COMMANDS[1:]:
        more = {"query": ["x"], "compare": ["a", "b"], "diff": ["a", "b"], "deploy": ["a"]}.get(command, [])
        ended = hive_mind("retrieval", command, *more)
        assert (ended.code, ended.out) == (2, ""), command
        assert "hive-mind retrieval init" in ended.err
    assert not hive_mind.home.exists()


def test_init_overwrites_nothing(hive_mind):
    folder = hive_mind.home / "retrieval"
    folder.mkdir(parents=True)
    (folder / "mine.txt").write_text("mine")

    ended = hive_mind("retrieval", "init")

    assert ended.code == 2
    assert "nothing is overwritten" in ended.err
    assert list(folder.iterdir()) == [folder / "mine.txt"]


@pytest.mark.parametrize("name", ["godo", "../../etc/passwd", "configs/nothing.json", "active"])
def test_a_name_that_no_configuration_has_is_refused(retrieval, name):
    for command in ("deploy", "evaluate", "validate"):
        if (command, name) == ("evaluate", "active"):
            continue
        ended = retrieval("retrieval", command, name)
        assert (ended.code, ended.out) == (2, ""), ended.out


@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS)], ids=" ".join)
def test_help_teaches_by_examples(hive_mind, command):
    ended = hive_mind("retrieval", *command, "--help")

    assert ended.code == 0
    assert "Examples:" in ended.out
    assert " ".join(["hive-mind", "retrieval", *command]) in ended.out
    assert max(map(len, ended.out.splitlines())) <= 100


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
    howto = (ROOT / "docs" / "howto" / "retrieval.md").read_text("utf-8")
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
