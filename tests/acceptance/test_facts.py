"""`hive-mind facts`: list, search, show, retract, export, import."""

import json
import os

import pytest


@pytest.fixture
def taught(hive_mind, notes):
    hive_mind("learn", notes)
    return hive_mind


def ids(hive_mind, *arguments):
    return [fact["id"] for fact in hive_mind("facts", "list", "--output", "json", *arguments).json]


def test_facts_are_listed_the_newest_first_a_line_each_and_a_list_that_was_cut_says_that_there_is_more(taught):
    assert [fact["content"] for fact in taught("facts", "list", "-n", 2, "--output", "json").json] == [
        "Pump D40 drains the tunnel.",
        "Pump D4 cools the transformers.",
    ]
    lines = taught("facts", "list").out.splitlines()
    assert len(lines) == 4
    assert all(line == line.rstrip() for line in lines)
    for form in ("text", "json"):
        assert "1 of 3 facts: more with --limit" in taught("facts", "list", "-n", 1, "-o", form).err
        assert "more" not in taught("facts", "list", "-n", 3, "-o", form).err


def test_a_search_shows_the_nearest_with_its_score(taught):
    (first, *_) = taught("facts", "search", "D40", "--output", "json").json
    assert first["content"] == "Pump D40 drains the tunnel."
    assert "score" in taught("facts", "search", "D40").out


def test_a_fact_is_shown_by_the_beginning_of_its_id(taught):
    id_ = ids(taught)[0]

    shown = taught("facts", "show", id_[:6])
    full = taught("facts", "show", id_, "--output", "json").json

    assert "Pump D40 drains the tunnel." in shown.out
    assert "notes.txt" in shown.out
    assert (full["id"], full["episodes"][0]["title"]) == (id_, "notes")


def test_a_retracted_fact_is_found_by_its_id_only_and_without_a_person_to_ask_that_needs_a_yes(taught):
    id_ = ids(taught)[0]
    ended = taught("facts", "retract", id_)
    assert (ended.code, "--yes" in ended.err, len(ids(taught))) == (2, True, 3)
    assert taught("facts", "retract", id_[:8], "--yes").code == 0
    assert id_ not in ids(taught)
    assert taught("facts", "show", id_[:8], "--output", "json").json["sharing"] == "retracted"


@pytest.mark.parametrize("command", ["show", "retract"])
def test_an_id_nobody_has_is_wrong_usage(taught, command):
    for id_, told in (("abc", "6 or more"), ("abcdef0123", "facts list"), ("0" * 32, "facts list")):
        ended = taught("facts", command, id_)
        assert (ended.code, ended.out, told in ended.err) == (2, "", True), id_


def test_what_was_exported_and_imported_is_the_same_memory(taught, tmp_path):
    taught("facts", "retract", ids(taught)[0], "--yes")
    taught("facts", "export", tmp_path / "memory.jsonl")

    copied = taught("facts", "import", tmp_path / "memory.jsonl", "--agent", "copy", "--output", "json")

    assert (copied.code, copied.json["added"]) == (0, 2)
    assert ids(taught, "--agent", "copy") == ids(taught)
    assert taught("facts", "export", "--agent", "copy").out == (tmp_path / "memory.jsonl").read_text()


def test_an_export_flows_through_a_pipe(taught):
    lines = taught("facts", "export").out

    assert [json.loads(line)["type"] for line in lines.splitlines()] == [
        "episode",
        "fact",
        "fact",
        "fact",
        "link",
        "link",
        "link",
    ]
    assert taught("facts", "import", "-", "--agent", "copy", stdin=lines).code == 0


def test_an_export_never_replaces_a_file_unasked_nor_what_is_no_file(taught, tmp_path):
    target = tmp_path / "memory.jsonl"
    target.write_text("precious")

    refused = taught("facts", "export", target)
    kept = target.read_text()
    forced = taught("facts", "export", target, "--force", "--output", "json")

    assert (refused.code, kept) == (2, "precious")
    assert "--force" in refused.err
    assert forced.json == {"file": str(target), "facts": 3, "lines": 7}
    assert list(tmp_path.glob("*.part")) == []
    no_file = taught("facts", "export", os.devnull, "--force")
    assert (no_file.code, no_file.out, "- for standard output" in no_file.err) == (2, "", True)


def test_a_bad_file_is_refused_whole_and_a_missing_one_is_wrong_usage(taught, tmp_path):
    bad = tmp_path / "bad.jsonl"
    for body in (b"", b"no json\n", b"\xff\x00\xff", b'{"type":"fact","content":"x"}\n', b"[" * 5000):
        bad.write_bytes(body)
        ended = taught("facts", "import", bad)
        assert (ended.code, ended.out, "bad.jsonl" in ended.err) == (1, "", True), body
    assert len(ids(taught)) == 3
    assert taught("facts", "import", "missing.jsonl").code == 2


def test_exporting_an_agent_that_does_not_exist_leaves_the_last_export_alone(taught, tmp_path):
    taught("facts", "export", tmp_path / "memory.jsonl")
    before = (tmp_path / "memory.jsonl").read_bytes()

    ended = taught("facts", "export", tmp_path / "memory.jsonl", "--force", "--agent", "typo")

    assert (ended.code, ended.out) == (2, "")
    assert "agent 'typo' has learned nothing yet" in ended.err
    assert (tmp_path / "memory.jsonl").read_bytes() == before


@pytest.mark.parametrize("command", [["list"], ["search", "D4"]], ids=" ".join)
def test_looking_at_an_agent_that_does_not_exist_tells_so_and_makes_none(hive_mind, command):
    ended = hive_mind("facts", *command, "--agent", "typo", "--output", "json")
    assert (ended.code, ended.json) == (0, [])
    assert "hive-mind learn PATH --agent typo" in ended.err
    assert not hive_mind.home.exists()


def test_facts_are_counted_and_the_latest_is_shown(taught):
    every = len(ids(taught))

    assert taught("facts", "list", "--count").out.strip() == f"{every} facts"
    assert taught("facts", "list", "--concept", "D4", "--count").out.strip() == "1 fact about D4"
    assert taught("facts", "list", "--concept", "D5", "--count", "--output", "json").json["count"] == 0
    shown = taught("facts", "list", "--concept", "D40", "--latest", "--output", "json").json
    assert (shown["count"], [one["content"] for one in shown["facts"]]) == (1, ["Pump D40 drains the tunnel."])
    refused = taught("facts", "list", "--count", "--latest", "--earliest")
    assert (refused.code, "mutually exclusive" in refused.err) == (2, True)


def test_ask_counts_and_lists_over_all_facts(taught):
    assert taught("ask", "How many facts are there about D4?").out.strip() == "1 fact about D4."
    listed = taught("ask", "List all facts about D40", "--output", "json").json
    assert (listed["method"], len(listed["sources"])) == ("collected", 1)
