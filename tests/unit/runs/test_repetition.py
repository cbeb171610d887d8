"""Going in circles is told once; then a person is asked. What changes in its results is no circle."""

from hypothesis import given
from hypothesis import strategies as st

from hive_mind.runs import effects as e
from hive_mind.runs.pointers import CHARACTERS_MAX, shown
from hive_mind.runs.state import TURNS, Call, digest_of
from hive_mind.runs.steps import Warned
from tests.unit.runs.flow import Flow, call, worker

TALK = {"id": "a", "outputs": ["x"]}


def same_turns(flow: Flow, times: int = TURNS) -> None:
    for _ in range(times):
        flow.turn("a", call("look", q="1"), results=["nothing"])


def test_the_same_calls_with_the_same_results_are_warned_of_once_and_then_a_person_is_asked() -> None:
    flow = Flow(worker(TALK))
    same_turns(flow)
    assert flow.one(e.Proceed, "a").kind == "circle"
    flow.go_on()
    assert "the same results 3 times in a row" in flow.at("a").messages[-1].text
    same_turns(flow)
    flow.go_on()
    assert sum(isinstance(step, Warned) for step in flow.steps) == 1
    assert "repeats the same calls" in flow.one(e.AskPerson, "a").why


def test_two_alike_are_no_circle_yet() -> None:
    flow = Flow(worker(TALK))
    same_turns(flow, TURNS - 1)
    assert flow.one(e.CallModel, "a")


def test_calls_whose_results_differ_are_no_circle() -> None:
    flow = Flow(worker(TALK))
    for number in range(2 * TURNS):
        flow.turn("a", call("look", q="1"), results=[f"{number} found"])
    assert flow.one(e.CallModel, "a")


def test_calls_with_other_arguments_are_no_circle() -> None:
    flow = Flow(worker(TALK))
    for number in range(2 * TURNS):
        flow.turn("a", call("look", q=str(number)), results=["nothing"])
    assert flow.one(e.CallModel, "a")


def told(text: str, number: int) -> str:
    one = Call(call("look", q="1"), number, "done", shown("look", text, f"look_{number}.txt"))
    return digest_of([one])


def test_the_file_a_result_is_saved_to_makes_no_difference_however_long_it_is() -> None:
    for text in ("short", "x" * (CHARACTERS_MAX + 1)):
        assert told(text, 1) == told(text, 2)


@given(st.text(max_size=40), st.text(max_size=40))
def test_results_that_differ_have_digests_that_differ(one: str, other: str) -> None:
    assert (told(one, 1) == told(other, 2)) == (one == other)
