"""What a handful of questions can't tell is called so; answers are in the summary and can be read."""

from pathlib import Path

import pytest

from hive_mind.evals.experiments import Arm, Fault, Row
from hive_mind.evals.report import write_report
from hive_mind.evals.report.findings import chosen
from hive_mind.measure import JUDGED_MIN, Difference
from tests.unit.evals.report.invented import experiment, write_run
from tests.unit.evals.report.test_page import Page

pytestmark = pytest.mark.usefixtures("without_drawings")

ARMS = (Arm("single"), Arm("flat", 10), Arm("sharded", 10))


def page(folder: Path, questions: int) -> Page:
    wanted = experiment("Letters", arms=ARMS, faults=[Fault()], answerer="quoting")
    return Page(write_report(write_run(folder, wanted, questions=questions)))


def test_with_eleven_questions_nothing_is_judged(tmp_path: Path):
    found = page(tmp_path / "run", 11)

    told = found.words["summary"]
    assert f"Too few questions to judge.  Letters has 11 questions, and from {JUDGED_MIN} on anything is judged." in told
    assert "Too few questions to judge parity." in told
    assert "that more than 23.84\N{NARROW NO-BREAK SPACE}% of questions differ is ruled out" in told
    assert "Parity holds." not in told
    # A random draw finds next to nothing, and that is no chance; nor can eleven questions prove it.
    assert "may be chance" not in " ".join(found.words.values())
    assert "too few questions" in found.words["results-1"]


@pytest.mark.parametrize(("questions", "holds"), [(58, False), (59, True)])
def test_parity_holds_where_one_in_twenty_is_ruled_out_to_differ(tmp_path: Path, questions: int, holds: bool):
    told = page(tmp_path / "run", questions).words["summary"]

    assert ("Parity holds." in told) is holds
    assert ("Too few questions to judge parity." in told) is not holds
    assert "Too few questions to judge. " not in told


def test_a_real_difference_is_real_with_few_questions_too():
    found, luck = Difference(-0.9, -1.0, -0.8, 0.0001, 0.02, 12), Difference(-0.9, -1.0, -0.8, 0.001, 0.2, 12)

    assert found.is_real
    assert not found.has_too_few_questions
    assert luck.has_too_few_questions


def test_how_good_answers_are_stands_in_the_summary(tmp_path: Path):
    told = page(tmp_path / "run", 40).words["summary"]

    assert "Answers at a glance, Letters" in told
    assert "keyword hit" in told.split("Answers at a glance")[1]
    assert "knew when to decline" in told.split("Answers at a glance")[1]


def test_three_questions_can_be_read_with_their_answers(tmp_path: Path):
    told = " ".join(page(tmp_path / "run", 40).words["answers"].split())

    assert "Who wrote letter 0?" in told
    assert "it says so." in told
    assert told.count("has its keywords") == 1
    assert told.count("lacks its keywords") == 2
    assert "Of single on Letters, answered by quoting." in told


def test_one_of_each_kind_is_shown_the_first_there_is():
    rows = [
        Row("right", metrics={"keyword_hit": 1.0}),
        Row("right too", metrics={"keyword_hit": 1.0, "required_hit": 1.0}),
        Row("half", metrics={"keyword_hit": 1.0, "required_hit": 0.0}),
        Row("stale", metrics={"keyword_hit": 1.0, "stale": 1.0}),
        Row("declined", metrics={"keyword_hit": 0.0, "abstained": 1.0}),
    ]

    assert [row.question for row in chosen(rows)] == ["right", "half", "declined"]
    assert [row.question for row in chosen(rows[:2])] == ["right", "right too"]
    assert [row.question for row in chosen([rows[3], rows[0], rows[1]])] == ["right", "stale", "right too"]
