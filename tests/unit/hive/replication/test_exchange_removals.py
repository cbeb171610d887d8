"""A removal reaches who still has what was removed, and what was removed does not come back."""

import pytest

from hive_mind.model.evidence import dot
from tests.unit.hive.exchanging import meet, steps, two


@pytest.mark.parametrize("who_begins", [0, 1])
def test_a_removal_reaches_who_still_has_the_assertion(who_begins):
    members = two()
    ada, bert = members
    ada.say("Wrong.", "Right.")
    meet(ada, bert)
    ada.take_back("Wrong.")

    meet(members[who_begins], members[1 - who_begins])

    assert bert.contents() == ["Right."]
    assert bert.share.proof(dot(ada.share.members.actor, 1)) is not None


def test_who_took_over_the_past_can_convince_others_of_it():
    """The only other one with the proof loses it to an old backup, and has the assertion again."""
    ada, bert = two()
    ada.say("Wrong.", "Right.")
    backup = ada.share
    ada.boot()
    ada.take_back("Wrong.")
    for _ in range(3):
        meet(ada, bert)
    assert ada.share.members == bert.share.members

    ada.shares["all"] = backup
    ada.boot()
    assert sorted(ada.contents()) == ["Right.", "Wrong."]
    meet(ada, bert)

    assert ada.contents() == bert.contents() == ["Right."]


@pytest.mark.parametrize("who_begins", [0, 1])
def test_a_past_of_which_there_is_no_proof_is_taken_over_without(who_begins):
    members = two()
    ada, bert = members
    ada.say("Fading.", "Lasting.")
    ada.take_back("Fading.", why="expired")
    for _ in range(3):
        meet(members[who_begins], members[1 - who_begins])

    assert ada.share.members == bert.share.members
    assert len(meet(ada, bert)) == 2


@pytest.mark.parametrize("who_begins", [0, 1])
def test_a_removal_that_is_not_believed_ends_in_disagreement_and_not_in_a_loop_until_the_other_clock_says_so_too(who_begins):
    members = two()
    ada, bert = members
    ada.say("Fading.", "Lasting.")
    meet(ada, bert)
    ada.take_back("Fading.", why="expired")

    for _ in range(3):
        messages = meet(members[who_begins], members[1 - who_begins])
        assert len(messages) <= 5
        assert [add for step in steps(messages) for add in step.adds] == []
    assert sorted(bert.contents()) == ["Fading.", "Lasting."]
    assert ada.contents() == ["Lasting."]

    bert.authority.expired.add(dot(ada.share.members.actor, 1))
    meet(members[who_begins], members[1 - who_begins])
    assert bert.contents() == ["Lasting."]


def test_the_past_is_shared_even_while_a_removal_is_not_believed():
    """Otherwise gaps in what was seen would stay for as long as two clocks disagree."""
    ada, bert = two()
    ada.say("Fading.")
    meet(ada, bert)
    ada.take_back("Fading.", why="expired")
    ada.say("Wrong.")
    ada.take_back("Wrong.")
    ada.say("Right.")
    meet(bert, ada)
    meet(bert, ada)

    assert bert.share.members.context == ada.share.members.context
    assert "Fading." in bert.contents()
