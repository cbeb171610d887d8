"""A worker is plain values: what a file says, what a step keeps and what a program writes are the same."""

import pytest
from pydantic import ValidationError

from hive_mind.runs.graphs.spec import SUB_AGENT_TURNS, WorkerSpec, sub_agent
from tests.unit.runs.flow import worker


def test_a_worker_that_was_kept_and_read_again_is_the_same() -> None:
    spec = worker({"id": "a", "outputs": ["x"], "args": {}}, "b", edges=["a b"], limits={"turns": 7}, context="isolated")
    assert WorkerSpec.model_validate(spec.model_dump(mode="json", by_alias=True, exclude_defaults=True)) == spec


@pytest.mark.parametrize("name", ["", "1st", "two words", "a/b", "x" * 64])
def test_a_node_has_a_name_that_prompts_and_steps_can_say(name: str) -> None:
    with pytest.raises(ValidationError, match="pattern"):
        worker(name)


@pytest.mark.parametrize("field", ["turns", "attempts", "visits"])
def test_nothing_may_be_tried_less_than_once(field: str) -> None:
    with pytest.raises(ValidationError, match="greater than or equal to 1"):
        worker({"id": "a", field: 0})


def test_a_condition_that_can_never_be_asked_is_refused_with_the_worker() -> None:
    with pytest.raises(ValidationError, match="the condition can't be used"):
        worker("a", "b", edges=[{"source": "a", "target": "b", "on": "condition", "when": "import os"}])


def test_a_sub_agent_runs_alone_with_its_task_and_delegates_nothing_itself() -> None:
    look = {"id": "look", "prompt": "Look closely.", "inputs": ["x"], "outputs": ["found"]}
    spec = worker({"id": "lead", "subagents": ["look"]}, subagents=[look], inputs=["x"], identity="We look.")
    child = sub_agent(spec, "look", "at the pumps", spec.limits)
    assert [node.id for node in child.nodes] == ["look"]
    assert child.identity == "We look."
    assert child.nodes[0].prompt == "Look closely.\n\nYour task: at the pumps"
    assert not child.nodes[0].subagents
    assert not child.subagents
    assert child.limits.turns == child.nodes[0].turns == SUB_AGENT_TURNS


def test_a_sub_agent_has_the_turns_that_its_node_says_but_never_more_than_the_worker() -> None:
    spec = worker("lead", subagents=[{"id": "look", "turns": 30}], limits={"turns": 20})
    assert sub_agent(spec, "look", "x", spec.limits).nodes[0].turns == 30
    assert sub_agent(spec, "look", "x", spec.limits).limits.turns == 20
