"""Measurements as they are read: by people and by programs."""

import msgspec

from hive_mind.cli.retrieval.compare import (
    plain_comparison,
    plain_evaluation,
    questions_of,
    show_comparison,
    show_evaluation,
    show_questions,
)
from hive_mind.retrieval.measuring.verdict import compare
from tests.unit.retrieval.measurements import evaluation


def lines(capsys) -> list[str]:
    return [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]


def test_what_ndcg_takes_for_harmless_is_seen(capsys):
    show_evaluation(evaluation("rDs.t", "rst"))

    told = lines(capsys)
    assert told[0] == "v1: 2 held-out questions, the first 10 results of each"
    assert "distractors: 1 shown, 1 of them in the first 5, at 1 of 2 questions; 8 results in all" in told
    assert next(line for line in told if line.startswith("UDCG 1.00")).split()[1:4] == ["1.00", "1.00", "1.50"]


def test_the_questions_that_go_worst_come_first(capsys):
    assert questions_of(evaluation("r")).startswith("1 held-out question, ")
    show_questions(evaluation("rst", "DE", "r"), 2)

    told = lines(capsys)
    assert "Where it goes worst" in told
    assert [line.split()[0] for line in told[-2:]] == ["q2", "q3"]


def test_programs_get_everything_as_json():
    told = msgspec.json.decode(msgspec.json.encode(plain_evaluation(evaluation("rD", "rst"))))

    assert told["count"] == 2
    assert told["distractors"] == told["distractors_in_5"] == 1
    assert len(told["udcg_by_k"]) == told["k"] == 10
    assert [one["id"] for one in told["by_question"]] == ["q1", "q2"]
    assert told["metrics"]["nudcg"]["questions"] == 2


def test_a_comparison_says_what_moved_and_which_distractors_went(capsys):
    found = compare(evaluation("DrE", "rst", name="old"), evaluation("rs", "rst", name="new"))

    show_comparison(found, 5)

    told = lines(capsys)
    assert told[0].startswith("old → new: 2 held-out questions")
    assert "distractors: 2 → 0, in the first 5 2 → 0; at 1 → 0 questions; results 6 → 5" in told
    assert "questions: 1 better, 0 worse, 1 with the same nUDCG" in told
    assert "distractor D: 1 → not shown" in told
    assert "relevant r: 2 → 1" in told
    plain = msgspec.json.decode(msgspec.json.encode(plain_comparison(found)))
    assert (plain["moves"][0]["went"], plain["more_distractors"]) == (["D", "E"], -2)
    # Of many moves some are listed, and how to see all is said.
    show_comparison(compare(evaluation("D", "E", "D", name="old"), evaluation("r", "s", "t", name="new")), 1, can_show_more=True)
    assert "2 more questions moved; see them with --moves 3" in lines(capsys)
