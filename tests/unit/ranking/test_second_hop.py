"""What the best passage names is asked for, too, and never outranks what the question itself finds by much."""

from dataclasses import replace

import numpy as np
import pytest

from hive_mind.model.probe import Anchors, Pool, Probe
from hive_mind.ranking.related.second_hop import WEIGHT, lent, may_hop, names_beyond, second_probe, unscored
from tests.builders import fact

PROBE = Probe(("author", "ash"), Anchors((("ash",),)), np.float32([1, 0]), depth=7)
NOVEL = fact("Ash is a novel that the poet Ivo Kern wrote in Trieste.")


def pool_of(**keyword: float) -> Pool:
    count = len(keyword)
    return Pool(tuple(keyword), np.float32(list(keyword.values())), np.full(count, 0.5, np.float32), np.zeros(count, np.float32))


def test_the_names_that_a_question_lacks_are_the_second_question_with_the_same_meaning():
    further = second_probe(PROBE, NOVEL)
    assert further is not None
    assert further.terms == ("ivo", "kern", "triest")
    assert (further.anchors, further.vector, further.depth) == (Anchors(), PROBE.vector, 7)


@pytest.mark.parametrize("passage", [replace(NOVEL, speaker="Ada"), fact("nothing has a name"), fact("Ash, the Author.")])
def test_a_turn_of_a_conversation_and_a_passage_that_names_nothing_new_lead_no_further(passage):
    assert second_probe(PROBE, passage) is None


def test_a_long_passage_leads_to_what_it_names_first():
    names = names_beyond(" ".join(f"Name{chr(97 + n)}x" for n in range(26)), ())
    assert len(names) == 16
    assert (names[0], names[-1]) == ("nameax", "namepx")


@pytest.mark.parametrize(
    ("probe", "may"), [(PROBE, True), (replace(PROBE, terms=()), False), (replace(PROBE, anchors=Anchors((), True)), False)]
)
def test_a_question_without_words_or_of_identifiers_alone_goes_no_further(probe: Probe, may: bool):
    assert may_hop(probe) is may


def test_the_best_match_of_the_names_gains_most_and_the_passage_that_has_them_as_much():
    assert lent(pool_of(novel=9.0, poet=4.0, town=1.0), "novel") == pytest.approx(
        {"novel": WEIGHT, "poet": WEIGHT, "town": WEIGHT / 4}
    )


def test_where_nothing_else_has_the_names_nothing_changes():
    assert lent(pool_of(novel=9.0), "novel") == {"novel": 0.0}


def test_the_second_question_decides_no_words_of_the_first():
    assert unscored(pool_of(poet=4.0)).keyword.tolist() == [0.0]
    assert unscored(pool_of(poet=4.0)).semantic.tolist() == [0.5]
