"""Of two items of a list, the one that a question names is meant."""

import pytest

from hive_mind.cognition.answering.counterparts import about_what_is_named
from tests.builders import fact
from tests.texts import hit_of

FACTS = [
    fact("opens at five", concept="Mill 3: Summer"),
    fact("opens at eight", concept="Mill 3: Winter"),
    fact("In winter the yard is shut", concept="Mill 3: Summer"),
    fact("The mill is old", concept="Mill 3"),
]


SENSORS = [
    fact("Roof sensor manual: the cell lasts 18 months."),
    fact("It weighs 210 g.", before="Roof sensor manual: the cell lasts 18 months."),
    fact("Cellar sensor manual: the cell lasts 5 years."),
    fact("The sensor weighs 90 g."),
    fact("The shed is red."),
]


@pytest.mark.parametrize(
    ("question", "kept"),
    [
        ("What does the attic sensor weigh?", {4}),
        ("What does the cellar sensor weigh?", {1, 2, 3, 4}),
        ("What does the sensor weigh?", {0, 1, 2, 3, 4}),
    ],
)
def test_where_others_of_a_kind_are_known_nothing_tells_of_one_that_is_not(question: str, kept: set[int]):
    assert about_what_is_named(question, [hit_of(one) for one in SENSORS]) == {SENSORS[place].id for place in kept}


@pytest.mark.parametrize(
    ("question", "kept"),
    [
        ("When does mill 3 open in winter?", {1, 2, 3}),
        ("When does mill 3 open in summer?", {0, 2, 3}),
        ("When does mill 3 open?", {0, 1, 2, 3}),
        ("When does mill 3 open in summer and in winter?", {0, 1, 2, 3}),
    ],
)
def test_what_stands_under_another_item_than_the_named_one_is_left_out(question: str, kept: set[int]):
    assert about_what_is_named(question, [hit_of(one) for one in FACTS]) == {FACTS[place].id for place in kept}
