"""What a judgement means for a run: go on, try again, plan anew, or ask a person."""

from hive_mind.runs import effects as e
from hive_mind.runs.effects import ToolTraits
from hive_mind.runs.steps import Ended, Judged
from tests.unit.runs.flow import ACCEPT, ESCALATE, REPLAN, RETRY, Flow, call, worker

TALK = {"id": "a", "outputs": ["x"], "attempts": 2}
PAY = {"id": "pay", "kind": "tool", "tool": "pay", "outputs": ["receipt"], "args": {"sum": "$sum"}, "inputs": ["sum"]}
GOAL = {"id": "g", "success_criteria": [{"id": "good"}]}


def test_what_is_accepted_counts_from_then_on() -> None:
    flow = Flow(worker(TALK, "b", edges=["a b"]))
    flow.sets("a", x=1)
    assert flow.state.buffer == {}
    flow.judge("a")
    assert (flow.state.buffer, flow.nodes) == ({"x": 1}, ["b"])


def test_who_has_to_try_again_is_told_why_and_keeps_its_conversation() -> None:
    flow = Flow(worker(TALK))
    flow.says("a", text="first")
    flow.judge("a", RETRY, "reasoning", "say more")
    assert [message.text for message in flow.at("a").messages] == ["first", "[Judge feedback]: say more"]
    assert flow.at("a").attempt == 2
    assert flow.one(e.CallModel, "a")


def test_attempts_that_are_used_up_are_a_persons_business_who_may_set_the_outputs() -> None:
    flow = Flow(worker(TALK, "b", edges=["a b"]))
    flow.fail("a")
    assert flow.one(e.AskPerson, "a").kind == "judgment"
    flow.answer("a", ACCEPT, edit={"x": 5, "foreign": 6})
    flow.go_on()
    assert (flow.state.buffer, flow.nodes) == ({"x": 5}, ["b"])


def test_what_is_escalated_waits_and_nothing_else_is_wanted() -> None:
    flow = Flow(worker(TALK))
    flow.sets("a", x=1)
    flow.judge("a", ESCALATE, "too delicate")
    item = flow.ask("a")
    assert [type(one) for one in flow.wants] == [e.AwaitDecision]
    assert flow.state.is_waiting
    flow.decide(item, ESCALATE, "no")
    assert flow.ended == ("rejected", "ines: no")


def test_what_a_person_rejects_goes_the_way_of_a_failure_where_there_is_one() -> None:
    flow = Flow(worker(TALK, "b", edges=["a b failure"]))
    flow.sets("a", x=1)
    flow.judge("a", ESCALATE, "too delicate")
    flow.answer("a", ESCALATE)
    assert (flow.nodes, flow.state.buffer) == (["b"], {})


def test_a_new_plan_is_made_by_the_planner_who_is_told_what_came_of_the_last() -> None:
    planner = {"id": "plan", "inputs": ["feedback_context"], "outputs": ["todo"]}
    flow = Flow(worker("s", TALK, planner, edges=["s a", "plan a"], planner="plan"), {"about": "pumps"})
    flow.do("s")
    flow.says("a", text="well")
    flow.judge("a", RETRY, "hidden-criterion is not met", "too short")
    flow.sets("a", x=1)
    flow.judge("a", ESCALATE, "violates no-gossip", cause="constraint")
    flow.answer("a", REPLAN, "ask the keeper")
    assert flow.nodes == ["plan"]
    assert flow.state.buffer["feedback_context"] == {
        "completed_steps": ["s"],
        "failed_steps": [{"step_id": "a", "attempts": 2, "errors": ["too short", "violates no-gossip"]}],
        "accumulated_context": {"about": "pumps", "why": "ask the keeper"},
        "constraints_violated": ["violates no-gossip"],
    }
    assert flow.at("plan").messages[-1].text == "[Person]: ask the keeper"
    flow.do("plan", todo="x")
    assert flow.nodes == ["a"]


def test_a_judge_who_wants_a_new_plan_names_what_failed_and_a_second_plan_is_not_told_of_the_first_twice() -> None:
    flow = Flow(worker(TALK, "plan", edges=["plan a"], planner="plan"))
    for number in (1, 2):
        flow.sets("a", x=number)
        flow.judge("a", REPLAN, f"bad {number}")
        told = flow.state.buffer["feedback_context"]
        assert {"step_id": "a", "attempts": 1, "errors": [f"bad {number}"]} in told["failed_steps"]
        assert "feedback_context" not in told["accumulated_context"]
        assert flow.at("plan").messages[-1].text == f"[Judge feedback]: bad {number}"
        flow.do("plan")


def test_a_new_plan_gives_up_all_branches() -> None:
    flow = Flow(worker("s", TALK, "b", "plan", edges=["s a", "s b", "plan s"], planner="plan"))
    flow.do("s")
    flow.sets("a", x=1)
    flow.judge("a", REPLAN)
    assert flow.nodes == ["plan"]
    assert not flow.state.frames


def test_without_a_planner_or_with_no_plans_left_a_person_is_asked() -> None:
    for fields in ({}, {"planner": "plan", "replans": 0}):
        flow = Flow(worker(TALK, "plan", edges=["plan a"], **fields))
        flow.sets("a", x=1)
        flow.judge("a", REPLAN, "bad")
        assert [step.action for step in flow.steps if isinstance(step, Judged)] == [ESCALATE]
        assert flow.one(e.AskPerson, "a").why == "bad"


def test_a_tool_that_failed_is_called_again_and_each_error_is_told_once() -> None:
    flow = Flow(worker(PAY, "b", edges=["pay b failure"]), {"sum": 3})
    ids = []
    for number in range(3):
        flow.go_on()
        ids.append(flow.one(e.CallTool, "pay").call.id)
        assert flow.one(e.CallTool, "pay").call.arguments == {"sum": 3}
        flow.gives("pay", e.ToolResult(f"error {number}", is_error=True))
    assert len(set(ids)) == 3
    assert (flow.state.failed, flow.nodes) == ((("pay", 3, ("error 0", "error 1", "error 2")),), ["b"])


def test_a_tool_that_must_not_run_twice_is_not_called_again_because_a_judge_wants_it() -> None:
    flow = Flow(worker(PAY), {"sum": 3}, {"pay": ToolTraits(is_idempotent=False)})
    flow.go_on()
    flow.gives("pay", e.ToolResult("no money", is_error=True))
    assert flow.one(e.AskPerson, "pay").why == "no money"

    flow = Flow(worker(PAY), {"sum": 3}, {"pay": ToolTraits(is_idempotent=False)})
    flow.go_on()
    flow.gives("pay", e.ToolResult("paid", "paid"))
    flow.judge("pay", RETRY, "not enough")
    assert flow.at("pay").phase == "parked"


def test_an_effect_that_can_not_be_had_is_a_persons_business() -> None:
    flow = Flow(worker(TALK))
    flow.give(e.Failed(flow.one(e.CallModel, "a").id, "the provider failed"))
    assert flow.one(e.AskPerson, "a").why == "the provider failed"
    flow.answer("a", RETRY)
    assert flow.one(e.CallModel, "a")


def test_the_whole_is_judged_at_the_end_and_done_again_with_its_feedback() -> None:
    flow = Flow(worker("a", "b", edges=["a b"], goal=GOAL))
    flow.do("a")
    flow.do("b")
    flow.whole(RETRY, "bad", "say more")
    assert flow.nodes == ["b"]
    assert flow.at("b").messages[-1].text == "[Judge feedback]: say more"
    flow.do("b")
    flow.whole(ACCEPT, "good")
    assert flow.ended == ("accepted", "good")


def test_the_whole_is_planned_anew_where_there_is_a_planner() -> None:
    flow = Flow(worker("a", "plan", edges=["plan a"], goal=GOAL, planner="plan"))
    flow.do("a")
    flow.whole(REPLAN, "bad", "begin elsewhere")
    assert flow.nodes == ["plan"]
    assert flow.at("plan").messages[-1].text == "[Judge feedback]: begin elsewhere"
    assert flow.state.buffer["feedback_context"]["accumulated_context"] == {"why": "begin elsewhere"}


def test_where_the_last_node_may_not_be_entered_again_a_person_decides_about_the_whole() -> None:
    flow = Flow(worker({"id": "a", "visits": 1}, goal=GOAL))
    flow.do("a")
    flow.whole(RETRY, "bad")
    item = flow.ask()
    assert flow.state.is_waiting
    flow.decide(item, RETRY, "again")
    assert flow.ended == ("rejected", "it can't be tried again: ines: again")


def test_a_person_accepts_or_rejects_the_whole() -> None:
    for action, outcome in ((ACCEPT, "accepted"), (ESCALATE, "rejected")):
        flow = Flow(worker("a", goal=GOAL))
        flow.do("a")
        flow.whole(ESCALATE, "who knows")
        flow.decide(flow.ask(), action, "I looked")
        assert flow.ended == (outcome, "ines: I looked")


def test_a_cancelled_run_wants_nothing_any_more() -> None:
    flow = Flow(worker(TALK))
    flow.keep([Ended("cancelled", "cancelled by ines")])
    assert (flow.ended, flow.wants) == (("cancelled", "cancelled by ines"), ())


def test_text_that_no_file_can_hold_is_kept_all_the_same() -> None:
    flow = Flow(worker(TALK))
    flow.says("a", call("set_output", key="x", value=["\ud800"]), text="half \ud83d")
    flow.gives("a", e.ToolResult("\udc00 is set", outputs={"x": ["\ud800"]}))
    assert flow.at("a").messages[0].text == "half ?"
    assert flow.at("a").outputs == {"x": ["?"]}
    flow.give(e.Failed(flow.one(e.AskJudge, "a").id, "why \udc00"))
    assert flow.at("a").why == "why ?"
