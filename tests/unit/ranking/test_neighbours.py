"""A turn of a conversation gains by what was said around it; what was not said in one gains nothing."""

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.model.fact import Fact
from hive_mind.model.gathered import NOWHERE, Pool
from hive_mind.model.ids import fact_id
from hive_mind.ranking.neighbours import gained, place_of, speakers_named
from hive_mind.ranking.pipeline import RankingSettings, Related, rank
from tests.builders import fact
from tests.supports import alike

WEIGHT = RankingSettings().neighbour_weight


def turn(text: str, before: str = "", said_at: str = "2023-05-08T13:56", speaker: str = "Ada") -> Fact:
    return replace(fact(text, before=before), said_at=said_at, speaker=speaker, id=fact_id(text))


def gains(turns: list[Fact], relevance: list[float], source: str = "chat") -> list[float]:
    places = b"".join(place_of(one, source) for one in turns)
    return gained([one.id for one in turns], np.array(relevance, np.float32), places, WEIGHT).tolist()


def test_a_turn_gains_by_the_three_best_others_of_its_session():
    turns = [turn(f"Turn {number}.") for number in range(5)] + [turn("Another day.", said_at="2023-05-09")]
    assert gains(turns, [0.9, 0.6, 0.3, 0.3, 0.1, 0.8]) == pytest.approx(
        [WEIGHT * share for share in (1.2 / 3, 1.5 / 3, 1.8 / 3, 1.8 / 3, 1.8 / 3, 0.0)]
    )


def test_a_turn_gains_by_the_one_that_answers_it_and_not_by_the_one_that_it_answers():
    asked, answered = turn("Where were you?"), turn("In Porto.", before="Where were you?", said_at="2023-05-09")
    assert gains([answered, asked], [0.8, 0.2]) == pytest.approx([0.0, WEIGHT * 0.25 * 0.8])


@pytest.mark.parametrize("before", ['user: I\'d like the "dry" one', "user: I\u2019d like the \u201cdry\u201d one"])
def test_a_message_to_an_assistant_gains_by_the_answer_in_a_chat_without_dates(before: str):
    asked = turn('user: I\'d like the "dry" one', said_at="", speaker="user")
    answer = turn("assistant: Dry tents stay so.", before, said_at="", speaker="assistant")
    following = turn("user: And when it's cold?", answer.content, said_at="", speaker="user")
    assert gains([asked, answer, following], [0.2, 0.8, 0.4]) == pytest.approx([WEIGHT * 0.75 * 0.8, 0.0, 0.0])


def test_what_was_said_twice_does_not_answer_itself():
    assert gains([turn("Thanks.", before="Thanks.")], [0.5]) == [0.0]


@pytest.mark.parametrize("said", [{"speaker": ""}, {"said_at": ""}, {"said_at": "2023-05"}])
def test_what_nobody_said_in_a_dated_conversation_has_no_place(said: dict[str, str]):
    assert place_of(turn("The pump is red.", before="The door is blue.", **said), "notes") == NOWHERE


def test_a_session_is_what_one_source_said_in_one_day():
    assert place_of(turn("Yes."), "chat")[:8] == place_of(turn("No.", said_at="2023-05-08"), "chat")[:8]
    assert place_of(turn("Yes."), "chat")[:8] != place_of(turn("Yes."), "another")[:8]


def test_in_a_room_of_many_neighbours_say_nothing_about_each_other():
    two = [turn(f"Turn {number}.", "Bo: And?") for number in range(4)]
    room = [turn(f"Turn {number}.", "Bo: And?", speaker=speaker) for number, speaker in enumerate(["Ada", "Cy", "Ada", "Ada"])]
    assert min(gains(two, [0.5] * 4)) > 0.0
    assert gains(room, [0.5] * 4) == [0.0] * 4


def test_one_room_among_many_conversations_of_two_changes_nothing():
    talks = [turn(f"Turn {n}.", said_at=f"2023-05-{n // 2 + 1:02}", speaker="Ada" if n % 2 else "Bo") for n in range(8)]
    room = [turn(f"Room {name}.", said_at="2023-06-01", speaker=name) for name in ("Ada", "Bo", "Cy")]
    assert min(gains(talks + room, [0.5] * 11)) > 0.0


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 12), st.floats(0, 1, width=16)), max_size=12), st.randoms())
def test_what_each_gains_does_not_depend_on_the_order_of_the_pool(said, chance: random.Random):
    turns = [turn(f"Turn {n}.", f"Turn {before}.", f"2023-05-0{day + 1}") for n, (day, before, _) in enumerate(said)]
    relevance = [one for _, _, one in said]
    order = chance.sample(range(len(said)), len(said))

    shuffled = gains([turns[place] for place in order], [relevance[place] for place in order])

    assert shuffled == [gains(turns, relevance)[place] for place in order]
    assert all(0.0 <= one <= WEIGHT * 1.25 + 1e-6 for one in shuffled)


def test_the_rest_of_the_conversation_decides_between_equal_matches_and_is_part_of_the_score():
    pool = Pool(("a" * 32, "b" * 32, "c" * 32), np.float32([3, 3, 1]), np.float32([np.nan] * 3), np.float32([0, 0, 0]))
    places = [place_of(turn("A.", said_at=day), "chat") for day in ("2023-05-01", "2023-05-02", "2023-05-02")]

    found = rank(pool, alike, 3, related=Related(b"".join(places)))

    assert [one.id[0] for one in found] == ["b", "a", "c"]
    assert found[0].contributions.others > 0 == found[1].contributions.others
    assert [one.contributions.total for one in found] == pytest.approx([one.score for one in found])
    off = rank(pool, alike, 3, settings=RankingSettings(neighbour_weight=0.0), related=Related(b"".join(places)))
    assert [one.id[0] for one in off] == ["a", "b", "c"]


def test_a_turn_gains_where_the_one_speaks_whom_the_question_names():
    turns = [turn("I sold it.", speaker=speaker, said_at=f"2023-05-0{day}") for day, speaker in enumerate(["Ana Silva", "Bo"], 1)]
    places = b"".join(place_of(one, "chat") for one in turns)

    def found(question: str) -> list[float]:
        relevance = np.array([0.5, 0.5], np.float32)
        return gained([one.id for one in turns], relevance, places, WEIGHT, speakers_named(question)).tolist()

    assert found("What did Ana Silva sell?") == pytest.approx([WEIGHT * 0.2, 0.0])
    assert found("Did Bo sell the boat?") == pytest.approx([0.0, WEIGHT * 0.2])
    assert found("Who sold the boat?") == [0.0, 0.0]
    assert found("who is bo") == [0.0, 0.0]


def test_in_a_room_of_many_who_speaks_says_nothing_either():
    turns = [turn(f"Turn {number}.", speaker=speaker) for number, speaker in enumerate(["Ada", "Bo", "Cy"])]
    places = b"".join(place_of(one, "chat") for one in turns)
    relevance = np.array([0.5] * 3, np.float32)
    assert gained([one.id for one in turns], relevance, places, WEIGHT, speakers_named("What did Ada say?")).tolist() == [0.0] * 3
