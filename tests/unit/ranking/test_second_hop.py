"""What the best passages name is asked for, too, and never outranks what the question itself finds by much."""

from dataclasses import replace

import numpy as np
import pytest

from hive_mind.model.gathered import Anchors, Pool, Probe
from hive_mind.ranking.question import (
    INSTEAD_WEIGHT,
    LOOKED_AT,
    NAMES_WEIGHT,
    lent,
    names_beyond,
    naming_all,
    second_probe,
    unscored,
)
from tests.builders import fact

PROBE = Probe(("author", "ash"), Anchors((("ash",),)), np.float32([1, 0]), depth=7)
BY_NAMES = replace(PROBE, anchors=Anchors())
CASE = Probe(("end", "inc", "9037", "inc-9037"), Anchors((("inc-9037",),)), np.float32([1, 0]), depth=7)
OPENED = fact("CRIT juniper-10 no answer for 90s at 2026-03-18T10:00, opened INC-9037")
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


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Visitors pay 14 euros. Opening hours: Mondays and Fridays.", ("friday",)),
        ("Visitors of Trieste pay. Trieste is dear.", ("triest",)),
        ("Ed Wood was filmed in Paris, Texas and not in France.\nParts of it are lost.", ("ed", "wood", "pari", "texa", "franc")),
    ],
)
def test_a_word_that_only_begins_a_sentence_is_no_name(text: str, names: tuple[str, ...]):
    assert set(names_beyond(text, ())) == set(names)


def test_a_long_passage_leads_to_what_it_names_first():
    names = names_beyond("by " + " ".join(f"Name{chr(97 + n)}x" for n in range(26)), ())
    assert len(names) == 16
    assert (names[0], names[-1]) == ("nameax", "namepx")


def test_where_the_names_of_the_best_are_of_no_use_only_its_identifiers_lead_on():
    assert second_probe(PROBE, None) is None
    assert second_probe(CASE, None, [OPENED]) is not None


def test_the_best_match_of_the_names_gains_most_and_the_passage_that_has_them_as_much():
    second = pool_of(novel=9.0, poet=4.0, town=1.0)

    assert lent(BY_NAMES, second, pool_of(), "novel") == pytest.approx(
        {"novel": NAMES_WEIGHT, "poet": NAMES_WEIGHT, "town": NAMES_WEIGHT / 4}
    )


def test_names_that_are_common_beside_what_was_asked_for_gain_less():
    second, first = pool_of(novel=1.0, poet=0.9), pool_of(novel=9.0)

    assert lent(BY_NAMES, second, first, "novel") == pytest.approx({"novel": NAMES_WEIGHT / 3, "poet": NAMES_WEIGHT / 3})


@pytest.mark.parametrize("further", [BY_NAMES, CASE])
@pytest.mark.parametrize("best", ["novel", "nowhere"])
def test_gains_hang_on_shares_of_scores_and_not_on_their_scale(further: Probe, best: str):
    scores, half = np.float32([9, 4, 1]), np.full(3, 0.5, np.float32)

    def gains(scale: float) -> dict[str, float]:
        second = Pool(("novel", "poet", "town"), np.float32(scale) * scores, half, half)
        return lent(further, second, pool_of(poet=5.0 * scale), best)

    assert gains(1.0)["poet"] > gains(1.0)["town"] > 0
    for scale in (0.01, 0.1, 10.0):
        assert gains(scale) == pytest.approx(gains(1.0))


def test_where_nothing_else_has_the_names_nothing_changes():
    assert lent(BY_NAMES, pool_of(novel=9.0), pool_of(), "novel") == {"novel": 0.0}


def test_what_is_said_of_an_identifier_is_asked_of_the_other_one_that_is_named_with_it():
    further = second_probe(CASE, NOVEL, [OPENED])

    assert further is not None
    assert further.terms == ("end", "junip", "10", "juniper-10")
    assert (further.anchors, further.vector, further.depth) == (Anchors((("juniper-10",),)), CASE.vector, 7)


def test_of_several_other_identifiers_the_one_that_is_named_most_often_is_asked_for():
    passages = [
        fact("INC-9037: I am at rowan-7."),
        OPENED,
        replace(OPENED, speaker="bot-3", content="bot-3: INC-9037, juniper-10."),
    ]

    further = second_probe(CASE, NOVEL, passages)

    assert further is not None
    assert further.anchors.required == (("juniper-10",),)


@pytest.mark.parametrize(
    "text", ["Anything on INC-9037 yet?", "INC-9037 for 90s", "INC-9037, rowan-7 and juniper-10: all closed"]
)
def test_what_names_no_other_identifier_or_several_leads_no_further(text: str):
    assert second_probe(CASE, replace(fact(text), speaker="Ada"), [fact(text)]) is None


def test_those_of_the_best_that_name_all_identifiers_may_name_another_one():
    ids = [f"d{n}" for n in range(LOOKED_AT + 1)]
    both = replace(CASE, anchors=Anchors((("inc-9037",), ("d40",))))
    exact = np.full(len(ids), both.anchors.weight, np.float32)
    exact[1] /= 2
    pool = Pool(tuple(ids), exact, exact, exact)

    assert naming_all(both, pool, ids) == [ids[0], *ids[2:LOOKED_AT]]
    assert naming_all(BY_NAMES, pool, ids) == []


def test_what_names_the_other_identifier_alone_gains_by_how_well_it_answers():
    further = replace(CASE, anchors=Anchors((("juniper-10",),)))
    first = Pool(("opened",), np.float32([3]), np.float32([0.5]), np.float32([0.3]))
    second = Pool(
        ("opened", "mended", "dark", "of it"),
        np.float32([4, 4, 1, 3]),
        np.full(4, 0.5, np.float32),
        np.float32([0.3, 0.3, 0.3, 0]),
    )

    assert lent(further, second, first, "opened") == pytest.approx({"mended": INSTEAD_WEIGHT, "dark": INSTEAD_WEIGHT / 4})


def test_the_second_question_decides_no_words_of_the_first():
    assert unscored(pool_of(poet=4.0)).keyword.tolist() == [0.0]
    assert unscored(pool_of(poet=4.0)).semantic.tolist() == [0.5]
