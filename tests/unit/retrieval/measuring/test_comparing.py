import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hive_mind.errors import InvalidInput
from hive_mind.retrieval.measuring.verdict import RankChange, compare
from tests.unit.retrieval.measurements import config, evaluation

ANSWERS = st.lists(st.tuples(st.text("rstDE.", max_size=6), st.text("rstDE.", max_size=6)), min_size=1, max_size=8)


def both(pairs):
    before, after = zip(*pairs, strict=True)
    return compare(evaluation(*before, name="old"), evaluation(*after, name="new"))


def test_what_moved_is_told_for_each_question_that_changed():
    found = both([("rDs", "rs."), ("r", "r"), ("rs", "srE")])

    assert [(move.id, move.came, move.went) for move in found.moves] == [("q3", ("E",), ()), ("q1", (), ("D",))]
    assert found.moves[1].places == (RankChange("s", "relevant", 3, 2), RankChange("D", "distractor", 2, None))
    assert found.moves[0].places == (
        RankChange("r", "relevant", 1, 2),
        RankChange("s", "relevant", 2, 1),
        RankChange("E", "distractor", None, 3),
    )


def test_the_greatest_loss_comes_first():
    found = both([("r", "rs"), ("rst", "D"), ("rs", "r")])

    assert [move.id for move in found.moves] == ["q2", "q3", "q1"]
    assert (found.won, found.lost) == (1, 2)


def test_a_change_among_unlabelled_documents_is_no_move():
    assert both([("r..", "r")]).moves == ()


def test_the_difference_is_that_of_the_means_with_an_interval_around_it():
    found = both([("D", "r")] * 6)

    assert found.nudcg.difference.difference == pytest.approx(found.after.nudcg - found.before.nudcg)
    assert found.nudcg.difference.low > 0
    assert (found.nudcg.difference.p, found.more_distractors) == (0.03125, -6)


def test_nothing_that_either_shows_lies_behind_the_cut():
    long = evaluation("." * 14 + "D", of=config("wide", retrieval={"top_k": 20})).at(20)

    found = compare(evaluation("rst"), long)

    assert found.before.k == found.after.k == 20
    assert found.more_distractors == 1


def test_a_metric_that_is_undefined_has_no_difference():
    before, after = evaluation("r"), evaluation("D")
    bare = [type(one)(one.config, one.split, one.k, (_without_relevant(one.rows[0]),)) for one in (before, after)]

    found = compare(*bare)

    assert found.of("recall").difference is None
    assert found.nudcg.difference.difference == -1.0


def _without_relevant(row):
    return type(row)(row.id, row.query, (), row.distractors, row.shown, row.scored, row.method)


def test_measurements_with_other_questions_are_not_compared():
    with pytest.raises(InvalidInput, match="'old' and 'new' were not measured with the same questions"):
        compare(evaluation("r", name="old"), evaluation("r", "s", name="new"))


@settings(deadline=None, max_examples=40)
@given(ANSWERS, st.randoms())
def test_the_order_of_questions_decides_nothing_values_keep_their_range_and_the_other_way_round_every_sign_turns(pairs, chance):
    there, again, back = both(pairs), both(chance.sample(pairs, len(pairs))), both([(after, before) for before, after in pairs])
    difference = there.nudcg.difference

    assert [one.difference for one in there.changes] == [one.difference for one in again.changes]
    assert -2 <= difference.low <= difference.difference + 1e-12
    assert difference.difference - 1e-12 <= difference.high <= 2
    assert 0 < difference.p <= 1
    assert sum(len(move.came) - len(move.went) for move in there.moves) == there.more_distractors == -back.more_distractors
    assert difference.difference == pytest.approx(-back.nudcg.difference.difference)
    assert difference.p == pytest.approx(back.nudcg.difference.p)
    assert (there.won, there.lost) == (back.lost, back.won)
    assert {move.id: move.came for move in there.moves} == {move.id: move.went for move in back.moves}
