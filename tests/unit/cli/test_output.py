"""What reaches a person's terminal."""

from random import Random

import pytest

from hive_mind.cli import output, printing
from hive_mind.cli.output import printable, progress, show_indented, shown_source


@pytest.mark.parametrize("character", ["\x1b", "\x07", "\r", "\x9b", "\u202e", "\u2066", "\ud800"])
def test_text_can_not_steer_the_terminal(character):
    assert printable(f"a{character}b") == "a\ufffdb"


@pytest.mark.parametrize("text", ["two\nlines\tand a tab", "שלום, дом, 東京", "family: 👨\u200d👩\u200d👧", "می\u200cخواهم"])
def test_text_of_every_language_is_shown_as_it_is(text):
    assert printable(text) == text


def test_a_source_below_this_folder_is_shown_by_its_relative_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert shown_source(str(tmp_path / "notes" / "a.txt")) == "notes/a.txt"
    assert shown_source("/elsewhere/a.txt") == "/elsewhere/a.txt"
    assert shown_source("call with Ana") == "call with Ana"
    assert shown_source("a\nerror: b\t\x1b") == "a error: b \ufffd"


def test_a_line_end_in_a_name_begins_no_line_that_looks_like_a_message(capsys):
    output.say("skipped: a\nerror: b.txt is empty")
    assert capsys.readouterr().err == "skipped: a\n  error: b.txt is empty\n"


def test_a_number_stands_before_the_first_of_several_lines_only(capsys):
    show_indented("stop\nstart", lead="  1.")
    assert capsys.readouterr().out.split("\n")[:2] == ["  1. stop", "     start"]


def test_without_a_terminal_a_line_says_how_far_a_large_file_is(capsys, monkeypatch):
    monkeypatch.setattr(output, "_SHOWN_EVERY_S", 0.0)
    with progress("files") as report:
        report(0.42, 2, "large.txt 42 %")
    assert capsys.readouterr().err == "0 of 2 files: large.txt 42 %\n"


LAID_OUT = ["", "one", "a\tb\tc", "first\nsecond\n", "\x1b[31mred", "日本語 – “quoted”", "x" * 5000, "trailing  ", "a\x0bb"]


@pytest.mark.parametrize("text", LAID_OUT)
def test_a_pipe_gets_what_rich_would_have_printed(capsys, text):
    printed = []
    for work in (
        lambda: output.show(text, "bold"),
        lambda: printing.print_styled(text, "bold", stderr=False),
        lambda: output.show_indented(text, "dim", "  1."),
        lambda: printing.print_indented(text, "dim", "  1."),
    ):
        work()
        printed.append(capsys.readouterr().out)

    assert printed[0] == printed[1]
    # Rich breaks a cell at a tab; a pipe gets one line for one.
    assert printed[2] == printed[3] or "\t" in text


def test_a_table_for_a_pipe_is_what_rich_would_have_printed(capsys):
    chance = Random(3)
    words = ["", "a", "bc ", " d", "é", "日本", "🙂", "e\u0301", "\x1b[31mred", "first\nsecond", "x" * 200]
    for _ in range(200):
        columns = range(chance.randint(1, 5))
        titles = [chance.choice(["", "id", "a title"]) for _ in columns]
        rows = [["".join(chance.choices(words, k=2)) for _ in columns] for _ in range(chance.randint(0, 4))]
        right = [column for column in columns if chance.random() < 0.3]

        output.show_table(titles, rows, right=right)
        printed = capsys.readouterr().out
        printing.print_table(titles, rows, right=right)
        assert printed == capsys.readouterr().out, (titles, rows, right)
