"""`hive-mind learn`, with good and bad input."""

from pathlib import Path

import pytest

from hive_mind.runtime.texts.text_files import FILE_BYTES_MAX


def test_what_was_learned_from_a_file_is_known_afterwards_and_adds_nothing_again(hive_mind, notes, monkeypatch):
    learned = hive_mind("learn", notes)
    asked = hive_mind("ask", "When does the ferry to Corrin leave?")

    assert (learned.code, learned.err) == (0, "")
    assert "3 facts, 3 of them new" in learned.out
    assert asked.code == 0
    assert "leaves at nine" in asked.out
    assert "notes.txt" in asked.out
    monkeypatch.chdir(notes.parent)
    again = hive_mind("learn", notes.name, "--output", "json").json
    assert (again["added"], again["confirmed"]) == (0, 0)


def test_an_edited_file_is_answered_with_what_it_says_now_and_its_former_words_are_marked(hive_mind, notes):
    hive_mind("learn", notes)
    notes.write_text(notes.read_text().replace("at nine", "at eleven"))

    learned = hive_mind("learn", notes)
    again = hive_mind("learn", notes, "--output", "json").json

    assert "3 facts, 1 of them new, 1 no longer said and now former" in learned.out
    assert (again["added"], again["former"]) == (0, 0)
    question = "When does the ferry to Corrin leave?"
    answer = hive_mind("ask", question).out
    assert "eleven" in answer
    assert "nine" not in answer
    newer, older, *_ = hive_mind("facts", "search", question, "--with-superseded", "--output", "json").json
    assert "eleven" in newer["content"]
    assert "nine" in older["content"]
    assert hive_mind("facts", "search", question, "--with-superseded").out.count("no longer true") == 1
    assert "replaced by" in hive_mind("facts", "show", older["fact_id"]).out


def test_an_edited_file_adds_to_what_it_said_where_that_is_wanted_or_its_source_is_named(hive_mind, notes):
    text = notes.read_text()
    for time, how in (("ten", ()), ("eleven", ("--no-replace",)), ("twelve", ("--source", "Ana")), ("noon", ("--source", "Ana"))):
        notes.write_text(text.replace("at nine", f"at {time}"))

        assert hive_mind("learn", notes, *how, "--output", "json").json["former"] == 0

    known = hive_mind("facts", "list", "--output", "json").json
    assert sum("The ferry to Corrin leaves" in fact["content"] for fact in known) == 4


def test_a_source_with_a_name_is_replaced_by_one_file_where_that_is_wanted(hive_mind, notes, tmp_path):
    hive_mind("learn", notes, "--source", "board")
    notes.write_text("The mast costs 6,900 euros.")

    assert hive_mind("learn", notes, "--source", "board", "--replace", "--output", "json").json["former"] == 3
    (tmp_path / "more.txt").write_text("The sail costs 900 euros.")
    refused = hive_mind("learn", tmp_path, "--source", "board", "--replace")
    assert (refused.code, "is for one file" in refused.err) == (2, True)


def test_another_source_confirms(hive_mind, notes):
    hive_mind("learn", notes, "--source", "Ana")
    assert hive_mind("learn", notes, "--source", "Bo", "--output", "json").json["confirmed"] == 3


def test_standard_input_is_learned(hive_mind):
    learned = hive_mind("learn", "-", "--source", "call", "--said-at", "2025-03-10", stdin="The ferry leaves at nine.")
    (fact,) = hive_mind("facts", "list", "--output", "json").json
    assert learned.code == 0
    assert (fact["sources"], fact["said_at"]) == (["call"], "2025-03-10")


@pytest.mark.usefixtures("notes")
def test_what_can_not_be_read_is_named_and_the_rest_is_learned(hive_mind, tmp_path):
    (tmp_path / "doc.pdf").write_bytes(b"%PDF-1.7\n")
    (tmp_path / "empty.txt").write_bytes(b"")
    (tmp_path / "loop.txt").symlink_to("loop.txt")
    (tmp_path / "odd.txt").write_bytes("Der Schlüssel liegt im ".encode() + b"\xff Schrank.")
    (tmp_path / "picture.txt").write_bytes(bytes(range(256)) * 10)
    (tmp_path / "wide.txt").write_text("The mast costs 6,900 euros.", encoding="utf-16")

    ended = hive_mind("learn", tmp_path, "--output", "json")

    assert ended.code == 1
    assert [file["added"] for file in ended.json["files"]] == [3, 1, 1]
    skipped = {Path(skip["file"]).name: skip["reason"] for skip in ended.json["skipped"]}
    assert skipped.keys() == {"doc.pdf", "empty.txt", "loop.txt", "picture.txt"}
    assert (skipped["empty.txt"], skipped["picture.txt"]) == ("is empty", "looks binary")
    told = " ".join(ended.err.split())
    for part in ("is damaged or no PDF", "empty.txt is empty", "picture.txt looks binary", "odd.txt: 1 characters are not UTF-8"):
        assert part in told


def test_standard_input_has_the_same_bound_as_a_file(hive_mind):
    ended = hive_mind("learn", "-", stdin=b"The ferry leaves. " * (FILE_BYTES_MAX // 18 + 1))
    assert ended.code == 1
    assert "is too large" in ended.err


def test_a_text_of_a_megabyte_is_learned_and_told_before_it_is_read(hive_mind, tmp_path):
    large = tmp_path / "large.txt"
    rest = ", then it was towed back to its place by the harbour crew and chained to the same stone as before" * 3
    large.write_text("".join(f"Buoy {n} was painted last winter{rest}.\n" for n in range(3300)))

    ended = hive_mind("learn", large, "--output", "json")

    assert large.stat().st_size > 1 << 20
    assert (ended.code, ended.json["skipped"]) == (0, [])
    assert ended.json["added"] >= 3300
    assert "large.txt: reading 1.1 million characters" in ended.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["missing.txt"], "no such file"),
        (["", "--watch"], "a path is empty"),
        (["-", "notes.txt"], "stands alone"),
        (["-", "--said-at", "yesterday"], "--said-at"),
        (["-", "--agent", "../other"], "agent"),
        (["-", "--embed", "magic"], "magic"),
        (["-", "--output", "xml"], "xml"),
        ([], "Missing argument"),
    ],
)
def test_wrong_usage_is_told_in_one_message_and_learns_nothing(hive_mind, arguments, told):
    ended = hive_mind("learn", *arguments, stdin="The ferry leaves at nine.")
    assert (ended.code, ended.out) == (2, "")
    assert told in ended.err
    assert "Traceback" not in ended.err
    assert hive_mind("facts", "list").out == "No facts yet.\n"


def test_what_was_left_out_is_told_with_the_reason_and_line_by_line_where_that_is_asked(hive_mind, tmp_path):
    chat = tmp_path / "chat.txt"
    chat.write_text("Ann: Who has the key?\nBob: Mira has it.\nAnn: Thanks!\nAnn: And where is the van?\n")

    assert "1 fact, 1 of them new; left out: 1 greeting or thanks, 1 question" in hive_mind("learn", chat).out

    explained = hive_mind("learn", chat, "--explain").out
    assert "kept: Ann: Who has the key? Bob: Mira has it." in explained
    assert "left out (a greeting or thanks): Thanks!" in explained
    assert "left out (a question): And where is the van?" in explained

    (file,) = hive_mind("learn", chat, "--output", "json").json["files"]
    assert file["left_out"] == {"a greeting or thanks": 1, "a question": 1}


def test_a_long_log_is_summed_up_and_that_is_told(hive_mind, tmp_path):
    log = tmp_path / "app.log"
    log.write_text("".join(f"2026-05-11 10:00:{n % 60:02} INFO request {n} served in {n % 7} ms\n" for n in range(300)))
    assert "6 facts, 6 of them new; left out: 294 log lines like others" in hive_mind("learn", log).out


def test_files_of_a_folder_that_are_no_texts_are_named(hive_mind, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "notes.txt").write_text("The pump is red.")
    for number in range(22):
        (folder / f"{number:02}.jpg").write_bytes(b"\0")

    ended = hive_mind("learn", folder)

    assert ended.code == 0
    assert "19.jpg (not named as a text or document) and 2 more" in " ".join(ended.err.split())
    assert len(hive_mind("learn", folder, "--output", "json").json["passed_over"]) == 22
