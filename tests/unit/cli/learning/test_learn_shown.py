"""What learning did, as people read it."""

import pytest

from hive_mind.cli.learning import show_learned

TOLD = {"file": "a.txt", "facts": 2, "added": 2, "confirmed": 0, "former": 0, "unsure": 0, "left_out": {"a question": 1}}


def test_where_no_lines_are_asked_for_nothing_is_said_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    show_learned([TOLD])
    assert capsys.readouterr().out == "a.txt: 2 facts, 2 of them new; left out: 1 question\n"


def test_of_many_lines_the_first_are_shown_and_how_to_get_all_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    kept = [{"what": "kept", "text": f"fact {number}"} for number in range(300_000)]
    left = [{"what": "left out (a question)", "text": f"why {number}?"} for number in range(101)]

    show_learned([{**TOLD, "lines": [*kept, *left]}])

    shown = capsys.readouterr().out
    assert len(shown.splitlines()) < 250
    assert "fact 99\n" in shown
    assert "… and 299,900 more kept: all of them with --output json" in shown
    assert "… and 1 more left out" in shown
