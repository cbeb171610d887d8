import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hive_mind.errors import InvalidInput
from hive_mind.retrieval.measuring import Shown, drawn
from tests.unit.retrieval.measurements import config, evaluation

SVG = "{http://www.w3.org/2000/svg}"


def picture(*evaluations):
    return ET.fromstring(drawn(evaluations).decode())  # noqa: S314 - our own


def words(found):
    return [one.text for one in found.iter(f"{SVG}text")]


def titles(found, end):
    """Of the marks in groups whose id ends so."""
    groups = [one for one in found.iter(f"{SVG}g") if re.search(f"{end}$", one.get("id", ""))]
    return [one.text for group in groups for one in group.iter(f"{SVG}title")]


def test_it_has_the_three_charts_marks_every_result_as_what_it_is_and_is_the_same_file_each_time():
    file = drawn([evaluation("rD.", "sE", name="naive")])
    found = ET.fromstring(file.decode())  # noqa: S314 - our own

    assert {"Score by rank: naive", "UDCG by k", "UDCG against nDCG", "naive: nUDCG 0.173, 2 distractors"} <= set(words(found))
    assert titles(found, "-relevant") == ["q1: question 1 → r (relevant), score 1", "q2: question 2 → s (relevant), score 1"]
    assert len(titles(found, "-distractor")) == 2
    assert titles(found, "-neither") == ["q1: question 1 → ., score 0.3333"]
    assert titles(found, "against-.*") == ["naive: q1, q2 (nDCG 0.469, nUDCG 0.173)"]
    assert drawn([evaluation("rD.", "sE", name="naive")]) == file


def test_two_measurements_have_a_chart_of_scores_each_and_share_the_others():
    told = words(picture(evaluation("rD", name="old"), evaluation("rs", name="new")))

    assert {"Score by rank: old", "Score by rank: new"} <= set(told)
    assert told.count("UDCG by k") == 1


def bars(found):
    return sum("opacity: 0.14" in one.get("style", "") for one in found.iter(f"{SVG}path"))


def scored(*scores, cut_at=None, enabled=False):
    shown = tuple(Shown(n, "r", f"r#{n}", "", score, 0.0, None) for n, score in enumerate(scores, 1))
    one = evaluation("r", of=config(dynamic_k={"enabled": enabled}))
    return replace(one, rows=(replace(one.rows[0], shown=shown, cut_at=cut_at),))


def test_a_cliff_is_shown_where_a_ranking_was_or_could_be_cut_and_where_there_is_none_it_says_so():
    found = picture(scored(1.0, 0.9, cut_at=2, enabled=True), scored(1.0, 0.99, 0.98, 0.3), scored(1.0, 0.9, 0.8, 0.7))

    assert bars(found) == 2
    for said in ("bars: cut at the cliff, 1 of 1 questions", "bars: cliffs that were not cut at, 1 of 1 questions", "no cliff"):
        assert sum(said in one for one in words(found)) == 1


def test_what_a_question_says_can_not_break_the_file():
    one = evaluation("rD")

    found = picture(replace(one, rows=(replace(one.rows[0], id='<"&>', query="</svg><script>\x00\x1b[31m"),)))

    assert list(found.iter(f"{SVG}script")) == []


@pytest.mark.parametrize("count", [0, 5])
def test_what_has_no_room_is_refused(count):
    with pytest.raises(InvalidInput, match="one to 4 measurements"):
        drawn([evaluation("r")] * count)


def test_a_measurement_without_questions_is_refused():
    with pytest.raises(InvalidInput, match="that have questions"):
        drawn([evaluation()])


@settings(deadline=None, max_examples=2)
@given(
    st.lists(st.lists(st.text("rstDE.", max_size=12), min_size=1, max_size=5), min_size=1, max_size=4),
    st.lists(st.floats(-5, 50, allow_nan=False), min_size=12, max_size=12),
)
def test_whatever_was_measured_stays_inside_the_picture(measured, scores):
    best_first = sorted(scores, reverse=True)

    def with_scores(one):
        rows = [replace(row, shown=tuple(replace(s, score=best_first[s.rank - 1]) for s in row.shown)) for row in one.rows]
        return replace(one, rows=tuple(rows))

    found = picture(*[with_scores(evaluation(*answers)) for answers in measured])

    _, _, width, height = map(float, found.get("viewBox").split())
    marks = list(found.iter(f"{SVG}use"))
    assert all(0 <= float(one.get("x")) <= width and 0 <= float(one.get("y")) <= height for one in marks)
    shown = sum(len(answer) for answers in measured for answer in answers)
    assert len(titles(found, "^scores-.*")) == shown
