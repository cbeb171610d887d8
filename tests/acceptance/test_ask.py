"""`hive-mind ask`."""

import pytest


def test_an_agent_that_knows_nothing_yet_says_how_to_teach_it(hive_mind):
    ended = hive_mind("ask", "When does the ferry leave?")
    assert ended.code == 0
    assert "hive-mind learn PATH" in ended.err
    assert not hive_mind.home.exists()


def test_json_holds_the_answer_with_its_sources_an_explained_one_their_figures_and_not_knowing_is_one(hive_mind, notes):
    hive_mind("learn", notes)
    answer = hive_mind("ask", "What does pump D4 cool?", "--output", "json").json
    (first, *_) = answer["sources"]
    assert answer["question"] == "What does pump D4 cool?"
    assert first["content"] == "Pump D4 cools the transformers."
    assert first["contributions"]["keyword"] > 0

    explained = hive_mind("ask", "What does pump D4 cool?", "--explain").out
    assert [part for part in ("keyword (BM25)", "cosine none", "adds: keyword") if part not in explained] == []

    unknown = hive_mind("ask", "Which university did Maud attend?", "--output", "json")
    assert (unknown.code, unknown.json["is_known"], unknown.json["sources"]) == (0, False, [])


def test_each_agent_knows_only_its_own(hive_mind, notes):
    hive_mind("learn", notes, "--agent", "ana")
    assert "nine" in hive_mind("ask", "When does the ferry leave?", "--agent", "ana").out
    assert "nine" not in hive_mind("ask", "When does the ferry leave?", "--agent", "bo").out


@pytest.mark.parametrize(
    ("arguments", "told"), [(["  "], "has no words"), (["x", "--limit", "0"], "limit"), (["x", "--method", "m"], "m")]
)
def test_what_can_not_be_asked_is_wrong_usage(hive_mind, arguments, told):
    ended = hive_mind("ask", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert told in ended.err


def test_text_from_a_file_can_not_steer_the_terminal(hive_mind):
    hive_mind("learn", "-", stdin="The ferry \x1b[31mleaves\x1b]0;x\x07 at nine.")
    assert "\x1b" not in hive_mind("ask", "When does the ferry leave?").out


def test_what_contradicts_an_answer_is_shown_with_which_is_newer_and_better_supported(hive_mind, tmp_path):
    for folder, port in (("one", 8443), ("two", 9443), ("three", 9443)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "gateway.txt").write_text(f"The gateway listens on port {port}.")
        hive_mind("learn", str(tmp_path / folder / "gateway.txt"))
    newer = "“The gateway listens on port 9443.” is newer and better supported (2 sources against 1)"

    asked = hive_mind("ask", "Which port does the gateway listen on?", "--explain").out
    searched = hive_mind("facts", "search", "gateway port").out
    hits = hive_mind("facts", "search", "gateway port", "--output", "json").json

    assert newer in asked.replace("\n     ", " ")
    assert "disputed by: The gateway listens on port 8443." in asked
    assert newer in searched.replace("\n     ", " ")
    assert {hit["content"]: [rival["content"] for rival in hit["rivals"]] for hit in hits} == {
        "The gateway listens on port 8443.": ["The gateway listens on port 9443."],
        "The gateway listens on port 9443.": ["The gateway listens on port 8443."],
    }


@pytest.mark.parametrize(
    ("model", "why"),
    [
        ({"HIVE_MIND_LLM": "openai:tiny"}, "OPENAI_API_KEY"),
        ({"HIVE_MIND_LLM": "openai:tiny", "HIVE_MIND_LLM_URL": "http://127.0.0.1:9/v1"}, "can't be reached"),
        ({"HIVE_MIND_LLM": "scripted:nonsense"}, "can't be used"),
        ({"HIVE_MIND_LLM": "scripted:nonsense", "HIVE_MIND_TOKEN_BUDGET": "10"}, "token budget is spent"),
    ],
    ids=str,
)
def test_where_the_language_model_fails_it_quotes_and_says_why(hive_mind, notes, monkeypatch, model, why):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ADMIN_KEY"):
        monkeypatch.delenv(name, raising=False)
    hive_mind("learn", notes)

    ended = hive_mind.with_environment(**model)("ask", "What does pump D4 cool?", "--output", "json")

    assert (ended.code, ended.json["method"]) == (0, "quoted")
    assert "transformers" in ended.json["text"]
    assert "quoted instead of reasoned: " in ended.err
    assert why in ended.err


def test_learning_without_the_language_model_that_was_asked_for_is_refused(hive_mind, notes, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    ended = hive_mind.with_environment(HIVE_MIND_LLM="openai:tiny")("learn", notes)
    assert ended.code == 2
    assert "OPENAI_API_KEY" in ended.err
