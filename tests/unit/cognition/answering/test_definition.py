"""Who asks what something is, is told what says so, and not whatever mentions it."""

import pytest

from hive_mind.cognition.answering.things import defining_bonus, may_define
from tests.unit.cognition.reading import hit


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("What is a bollard?", "A bollard is a short post that ropes are tied to."),
        ("What's a bollard?", "Bollards are short posts on the quay."),
        ("What is a dolphin?", "A mooring dolphin is a pile structure."),
        ("What is an EXIF stripper?", "An **EXIF stripper** removes camera data."),
        ("Define bollard", "Bollard: a short post for ropes."),
        ("What does fender mean?", "Rubber cushions at the quay are called fenders."),
        ("What does RTO stand for?", "**RTO**: recovery time objective, the time until service is back."),
        ("What is Hydrotec?", "We order valves from Hydrotec, a company in Kassel."),
        ("What is Skarholm?", "Skarholm lies two hours to the north."),
        ("Was ist ein Poller?", "Ein Poller ist ein kurzer Pfosten am Kai."),
        ("What is Berth-Planner?", "service.name: berth-planner"),
        ("冷蔵庫とは何ですか", "冷蔵庫は食べ物を冷やす箱です。"),
        # No definition is asked for.
        ("What is forbidden?", "Smoking in the shed is forbidden."),
        ("What is new in Porto?", "The bakery moved to Porto."),
        ("What is a ticket worth?", "We sell a ticket for 9 euros."),
        ("What is the maximum load?", "The lift takes a maximum load of 35 tonnes."),
        ("What is T2?", "A new gearbox for turbine T2 costs 48,700 euros."),
        ("Which pump is new?", "A new pump was bought."),
    ],
)
def test_a_fact_that_says_what_it_is_may_answer(question: str, told: str):
    assert may_define(question, hit(told).fact)


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("What is a bollard?", "The tug Marlin has a bollard pull of 52 tonnes."),
        ("What is a crane?", "Crane C3 lifts up to 60 tonnes."),
        ("What is a crane?", "Crane operator Ben Okafor sits in dock 4."),
        ("What is a lighthouse?", "Guided tours of the lighthouse start at 11 am."),
        ("What is Skarholm?", "The ferry to Skarholm leaves at 6:30."),
        ("What does bollard mean?", "We painted the bollard."),
        ("What does RTO stand for?", "We missed the RTO in May."),
        ("Was ist Hydrotec?", "Ein Ersatzventil wurde bei Hydrotec in Kassel bestellt."),
        ("Was ist ein Poller?", "Wir haben den Poller gestrichen."),
        ("冷蔵庫とは何ですか", "冷蔵庫の温度は四度に設定されています。"),
    ],
)
def test_a_fact_that_only_mentions_it_does_not(question: str, told: str):
    assert not may_define(question, hit(told).fact)


def test_what_stands_under_its_title_or_goes_on_about_it_says_what_it_is():
    assert may_define("What is a bowline?", hit("A knot that does not slip.", concept="Bowline").fact)
    assert may_define("What is a bowline?", hit("It is a knot that does not slip.", before="Tie a bowline first.").fact)
    assert not may_define("What is Skarholm?", hit("The ferry to Skarholm leaves at 6:30.", concept="Skarholm").fact)


def test_a_row_says_what_a_field_of_its_own_is():
    row = hit("Ben Okafor;crane operator;dock 4", concept="Ben Okafor", before="Name;Role;Office").fact
    cell = hit("| Bowline | A knot that does not slip |", before="| Term | Meaning |").fact

    assert not may_define("What is a crane?", row)
    assert may_define("What is a crane operator?", row)
    assert may_define("What is a bowline?", cell)
    assert not may_define("What is a knot?", cell)


@pytest.mark.parametrize(
    ("told", "is_first"),
    [
        ("Bollards is a program.", True),
        ("**bollards** is the tool for it.", True),
        ("The bollards.ropes instance.", False),
        ("Ropes and bollards are a risk.", False),
    ],
)
def test_what_begins_with_what_the_thing_is_comes_first(told: str, is_first: bool):
    assert (defining_bonus("What is bollards?", hit(told).fact) > 0) is is_first
    assert defining_bonus("What is bollards for?", hit(told).fact) == 0.0
