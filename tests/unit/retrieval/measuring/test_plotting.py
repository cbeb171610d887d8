import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hive_mind.errors import InvalidInput
from hive_mind.retrieval.measuring.measured import Shown
from hive_mind.retrieval.measuring.plotting import drawn
from tests.unit.retrieval.measurements import config, evaluation

SVG = "{http://www.w3.org/2000/svg}"


def picture(*evaluations):
    return ET.fromstring(drawn(evaluations))  # noqa: S314 - our own


def words(found):
    return [one.text for one in found.iter(f"{SVG}text")]


def of_class(found, name):
    return [one for one in found.iter() if one.get("class") == name]


def test_it_has_the_three_charts_and_says_what_was_measured():
    told = words(picture(evaluation("rDs", "rst", name="naive")))

    assert {"Score by rank: naive", "UDCG by k", "UDCG against nDCG"} <= set(told)
    assert "naive: nUDCG 0.704, 1 distractor" in told


def test_two_measurements_have_a_chart_of_scores_each_and_share_the_others():
    told = words(picture(evaluation("rD", name="old"), evaluation("rs", name="new")))

    assert {"Score by rank: old", "Score by rank: new"} <= set(told)
    assert told.count("UDCG by k") == 1


def test_every_result_is_marked_as_what_it_is():
    found = picture(evaluation("rD.", "sE"))

    # One more of each explains what the mark means.
    assert len(of_class(found, "relevant")) == 2 + 1
    assert len(of_class(found, "distractor")) == 2 + 1
    assert len(of_class(found, "other")) == 1 + 1


def scored(*scores, cut_at=None, enabled=False):
    shown = tuple(Shown(n, "r", f"r#{n}", "", score, 0.0, None) for n, score in enumerate(scores, 1))
    one = evaluation("r", of=config(dynamic_k={"enabled": enabled}))
    return replace(one, rows=(replace(one.rows[0], shown=shown, cut_at=cut_at),))


def test_the_cliff_is_shown_where_a_ranking_was_cut():
    found = picture(scored(1.0, 0.9, cut_at=2, enabled=True))

    assert len(of_class(found, "band")) == 1
    assert any("bars: cut at the cliff, 1 of 1 questions" in one for one in words(found))


def test_the_cliff_is_shown_where_a_ranking_could_be_cut():
    found = picture(scored(1.0, 0.99, 0.98, 0.3))

    assert len(of_class(found, "band")) == 1
    assert any("bars: cliffs that were not cut at, 1 of 1 questions" in one for one in words(found))


def test_without_a_cliff_it_says_so():
    assert any("no cliff" in one for one in words(picture(scored(1.0, 0.9, 0.8, 0.7))))


def test_what_a_question_says_can_not_break_the_file():
    one = evaluation("rD")
    rude = replace(one.rows[0], id='<"&>', query="</svg><script>\x00\x1b[31m")

    found = picture(replace(one, rows=(rude,)))

    assert list(found.iter(f"{SVG}script")) == []


def test_it_needs_nothing_but_itself_and_has_a_dark_side():
    file = drawn([evaluation("rD")])

    assert "prefers-color-scheme:dark" in file
    assert file.count("http") == 1  # the name of SVG itself
    assert "url(" not in file


def test_the_same_measurement_gives_the_same_file():
    assert drawn([evaluation("rDs", "st")]) == drawn([evaluation("rDs", "st")])


@pytest.mark.parametrize("count", [0, 5])
def test_what_has_no_room_is_refused(count):
    with pytest.raises(InvalidInput, match="one to 4 measurements"):
        drawn([evaluation("r")] * count)


def test_a_measurement_without_questions_is_refused():
    with pytest.raises(InvalidInput, match="that have questions"):
        drawn([evaluation()])


@settings(deadline=None, max_examples=40)
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

    width, height = float(found.get("width")), float(found.get("height"))
    for one in found.iter():
        for name, most in (("cx", width), ("cy", height), ("x", width), ("y", height)):
            assert 0 <= float(one.get(name, 0)) <= most
        for pair in (one.get("points") or "").split():
            x, y = map(float, pair.split(","))
            assert 0 <= x <= width
            assert 0 <= y <= height
