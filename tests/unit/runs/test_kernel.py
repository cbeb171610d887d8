"""What a run wants and what events mean: attempts, edges, branches, limits, approvals, and that late events mean nothing."""

from typing import Any

from hive_mind.judge.judgment import JudgmentAction
from hive_mind.runs import effects as e
from hive_mind.runs import steps as s
from hive_mind.runs.accepted import accepted
from hive_mind.runs.effects import REPORTING_TOOLS, wanted
from hive_mind.runs.fold import fold
from hive_mind.runs.state import RunState
from tests.unit.runs.flow import ACCEPT, ESCALATE, REPLAN, RETRY, Flow, call, loop, worker


def works(flow: Flow) -> list[e.Effect]:
    """All that should be under way but for time limits."""
    return [one for one in flow.wants if not isinstance(one, e.WakeIn)]


def asked(flow: Flow) -> e.AskPerson:
    """The one question that is wanted; its item is there now."""
    flow.go_on()
    effect = flow.one(e.AskPerson)
    flow.give(e.ItemOpened(effect.id, f"item-{effect.id}"))
    return effect


def decided(flow: Flow, action: JudgmentAction = ACCEPT, because: str = "", edit: Any = None) -> None:
    """The first item that waits."""
    flow.decide(next(iter(flow.state.waiting)), action, because, edit)


def test_a_node_is_left_when_its_outputs_are_accepted_and_the_run_ends_with_the_last() -> None:
    flow = Flow(worker(loop("a"), loop("b"), edges=[("a", "b")]))
    flow.sets("a", a=1)
    flow.judge()
    assert flow.nodes == ["b"]
    flow.sets("b", b=2)
    flow.judge()
    flow.go_on()
    assert (flow.state.outcome, dict(flow.state.buffer)) == ("accepted", {"a": 1, "b": 2})
    assert works(flow) == []


def test_outputs_reach_the_buffer_only_when_they_are_accepted() -> None:
    flow = Flow(worker(loop("a")))
    flow.sets("a", a="draft")
    assert flow.state.buffer == {}
    flow.judge("", RETRY, "thin", feedback="say more")
    assert flow.state.buffer == {}
    assert flow.state.places["p1"].messages[-1].text == "[Judge feedback]: say more"


def test_feedback_stays_in_the_conversation_and_errors_add_up_until_attempts_are_used() -> None:
    flow = Flow(worker(loop("a", attempts=2), loop("b"), edges=[("a", "b", "failure")]))
    flow.sets("a", a=1)
    flow.judge("", RETRY, "one")
    flow.sets("a", a=2)
    flow.judge("", RETRY, "two")
    assert flow.nodes == ["b"]
    assert flow.state.failed == (("a", 2, ("one", "two")),)
    assert flow.state.buffer == {}


def test_without_an_edge_for_it_a_failure_is_a_persons_business() -> None:
    flow = Flow(worker(loop("a", attempts=1)))
    flow.sets("a", a=1)
    flow.judge("", RETRY, "bad")
    assert asked(flow).kind == "judgment"
    decided(flow, RETRY, "use the other table")
    place = flow.state.places["p1"]
    assert (place.phase, place.attempt, place.messages[-1].text) == ("think", 2, "[Person]: use the other table")
    flow.sets("a", a=2)
    flow.judge("", RETRY, "bad")
    asked(flow)
    decided(flow, ESCALATE, "enough")
    assert (flow.state.outcome, flow.state.reason) == ("rejected", "ines: enough")


def test_a_person_may_accept_with_a_value_of_their_own_but_only_for_keys_of_the_node() -> None:
    flow = Flow(worker(loop("a")))
    flow.sets("a", a=1)
    flow.judge("", ESCALATE, "unsure")
    asked(flow)
    decided(flow, ACCEPT, edit={"a": 9, "other": 1})
    flow.go_on()
    assert (flow.state.outcome, dict(flow.state.buffer)) == ("accepted", {"a": 9})


def test_replanning_tells_the_planner_the_four_things_and_gives_up_the_rest() -> None:
    nodes = loop("plan", inputs=["feedback_context"]), loop("a", attempts=1)
    flow = Flow(worker(*nodes, edges=[("plan", "a")], planner="plan", replans=1))
    flow.sets("plan", plan="p1")
    flow.judge()
    flow.sets("a", a=1)
    flow.judge("", REPLAN, "the plan is wrong")
    assert flow.nodes == ["plan"]
    told = flow.state.buffer["feedback_context"]
    assert sorted(told) == ["accumulated_context", "completed_steps", "constraints_violated", "failed_steps"]
    assert told["completed_steps"] == ["plan"]
    assert told["accumulated_context"] == {"plan": "p1", "why": "the plan is wrong"}
    flow.sets("plan", plan="p2")
    flow.judge()
    flow.sets("a", a=2)
    flow.judge("", REPLAN, "again")
    assert asked(flow).kind == "judgment"


def test_conditions_choose_edges_and_one_that_can_not_be_put_to_the_data_goes_to_a_person() -> None:
    edges = [("a", "b", "condition", "output.a > 5"), ("a", "c", "condition", "output.a <= 5")]
    flow = Flow(worker(loop("a"), loop("b"), loop("c"), edges=edges))
    flow.sets("a", a=7)
    flow.judge()
    assert flow.nodes == ["b"]
    flow = Flow(worker(loop("a"), loop("b"), loop("c"), edges=edges))
    flow.sets("a", a="seven")
    flow.judge()
    assert (flow.nodes, asked(flow).kind) == (["a"], "judgment")
    assert "can't be decided" in flow.state.places["p1"].why


DIAMOND = {
    "nodes": (loop("a"), loop("b"), loop("c"), loop("d")),
    "edges": [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")],
}


def branched(join: str) -> Flow:
    nodes = [node | ({"join": join} if node["id"] == "d" else {}) for node in DIAMOND["nodes"]]
    flow = Flow(worker(*nodes, edges=DIAMOND["edges"]))
    flow.sets("a", a=1)
    flow.judge()
    assert flow.nodes == ["b", "c"]
    return flow


def test_branches_run_at_once_with_conversations_of_their_own_and_meet() -> None:
    flow = branched("all")
    flow.do("c", c=3)
    assert flow.nodes == ["b"]
    flow.do("b", b=2)
    assert flow.nodes == ["d"]
    assert dict(flow.state.buffer) == {"a": 1, "b": 2, "c": 3}
    assert flow.state.frames == {}
    texts = [message.text for message in next(iter(flow.state.places.values())).messages]
    assert not any("c is set" in text for text in texts)


def test_the_first_branch_is_enough_for_a_join_of_any_and_the_others_are_given_up() -> None:
    flow = branched("any")
    flow.do("c", c=3)
    assert flow.nodes == ["d"]
    assert dict(flow.state.buffer) == {"a": 1, "c": 3}


def test_a_branch_that_ends_elsewhere_keeps_nobody_waiting() -> None:
    nodes = (loop("a"), loop("b"), loop("c"), loop("d", join="all"))
    flow = Flow(worker(*nodes, edges=[("a", "b"), ("a", "c"), ("b", "d")]))
    flow.sets("a", a=1)
    flow.judge()
    flow.do("b", b=2)
    assert flow.nodes == ["c"]
    flow.do("c", c=3)
    assert flow.nodes == ["d"]


def test_a_branch_may_branch_again_and_the_outer_join_waits_for_all_of_it() -> None:
    nodes = (loop("a"), loop("b"), loop("c"), loop("b1"), loop("b2"), loop("bj", join="all"), loop("d", join="all"))
    edges = [("a", "b"), ("a", "c"), ("b", "b1"), ("b", "b2"), ("b1", "bj"), ("b2", "bj"), ("bj", "d"), ("c", "d")]
    flow = Flow(worker(*nodes, edges=edges))
    flow.sets("a", a=1)
    flow.judge()
    flow.do("c", c=0)
    for node in ("b", "b1"):
        flow.do(node, **{node: 0})
    assert flow.nodes == ["b2"]
    flow.do("b2", b2=0)
    assert flow.nodes == ["bj"]
    flow.do("bj", bj=0)
    assert flow.nodes == ["d"]


def test_a_graph_that_goes_in_circles_ends_by_the_visits_of_its_nodes() -> None:
    flow = Flow(worker(loop("a", visits=2), loop("b"), edges=[("a", "b"), ("b", "a")]))
    for node in ("a", "b", "a", "b"):
        flow.sets(node, **{node: 1})
        flow.judge()
    assert (flow.state.outcome, "node a was entered 2 times" in flow.state.reason) == ("failed", True)


def test_the_last_turn_offers_only_reports_and_then_the_run_is_exhausted() -> None:
    flow = Flow(worker(loop("a", tools=["search"]), limits={"turns": 2}))
    flow.says("a", call("search", q=1))
    flow.gives("a", e.ToolResult("found"))
    assert flow.one(e.CallModel).is_last
    assert "search" not in REPORTING_TOOLS
    flow.says("a", call("search", q=2))
    flow.gives("a", e.ToolResult("no", is_error=True))
    flow.go_on()
    assert (flow.state.outcome, flow.state.reason) == ("exhausted", "all 2 turns of the run are used")


def test_tokens_are_bounded_and_those_of_sub_agents_count() -> None:
    flow = Flow(worker(loop("a", tools=["search"]), limits={"tokens": 100}))
    flow.says("a", call("search", q=1), tokens=15)
    flow.gives("a", e.ToolResult("found", tokens=90))
    flow.go_on()
    assert (flow.state.tokens, flow.state.outcome) == (105, "exhausted")


def test_time_is_counted_while_something_is_done_and_not_while_a_person_is_asked() -> None:
    flow = Flow(worker(loop("a"), limits={"seconds": 10}))
    flow.now_ms += 4_000
    flow.sets("a", a=1)
    flow.judge("", ESCALATE, "unsure")
    asked(flow)
    assert [one for one in wanted(flow.state, flow.plan) if isinstance(one, e.WakeIn)] == []
    flow.now_ms += 60_000_000
    decided(flow, RETRY, "again")
    (time,) = [one for one in wanted(flow.state, flow.plan) if isinstance(one, e.WakeIn)]
    assert time.ms == 6_000
    flow.give(e.Done(time.id))
    assert flow.state.outcome == "exhausted"


def test_a_node_that_takes_too_long_has_failed() -> None:
    flow = Flow(worker(loop("a", timeoutS=2), loop("b"), edges=[("a", "b", "failure")]))
    (time,) = [one for one in wanted(flow.state, flow.plan) if isinstance(one, e.WakeIn) and one.place]
    assert time.ms == 2_000
    flow.give(e.Done(time.id))
    assert flow.nodes == ["b"]


def test_the_same_calls_with_the_same_results_are_told_once_and_then_a_person_decides() -> None:
    flow = Flow(worker(loop("a", tools=["search"])))
    for _ in range(2):
        for _ in range(3):
            flow.says("a", call("search", q="same"))
            flow.gives("a", e.ToolResult("nothing [Saved to 'search_1.txt']"))
        flow.go_on()
    warned = [step for step in flow.steps if isinstance(step, s.Warned)]
    assert len(warned) == 1
    assert flow.state.places["p1"].phase == "parked"


def test_the_same_calls_with_other_results_are_no_circle() -> None:
    flow = Flow(worker(loop("a", tools=["search"])))
    for number in range(6):
        flow.says("a", call("search", q="same"))
        flow.gives("a", e.ToolResult(f"result {number}"))
    assert not [step for step in flow.steps if isinstance(step, s.Warned)]


ONCE = e.ToolTraits(is_idempotent=False)


def test_what_must_not_happen_twice_is_announced_first_and_asked_about_after_a_crash() -> None:
    flow = Flow(worker(loop("a", tools=["pay"])), traits={"pay": ONCE})
    flow.says("a", call("pay", amount=1))
    assert isinstance(works(flow)[0], e.Proceed)
    flow.go_on()
    before = flow.one(e.CallTool)
    flow.keep([s.Resumed()])
    assert not [one for one in works(flow) if isinstance(one, e.CallTool)]
    assert asked(flow).title == "pay may have run: run it again?"
    decided(flow, ESCALATE, "it did run")
    assert flow.state.places["p1"].messages[-1].is_error
    assert before.call.id == "p1.1.0.0"


def test_a_person_who_allows_it_again_has_it_announced_again() -> None:
    flow = Flow(worker(loop("a", tools=["pay"])), traits={"pay": ONCE})
    flow.says("a", call("pay", amount=1))
    flow.go_on()
    flow.keep([s.Resumed()])
    asked(flow)
    decided(flow, ACCEPT)
    flow.go_on()
    flow.one(e.CallTool)
    flow.keep([s.Resumed()])
    second = flow.one(e.AskPerson)
    assert second.id == "p1.1.0.0.1.ask"


def test_a_judge_may_not_have_a_tool_called_again_that_must_not_happen_twice() -> None:
    node = {"id": "a", "kind": "tool", "tool": "pay", "outputs": ["a"]}
    flow = Flow(worker(node), traits={"pay": ONCE})
    flow.go_on()
    flow.gives("a", e.ToolResult("paid", "paid"))
    flow.judge("", RETRY, "not enough")
    assert flow.state.places["p1"].phase == "parked"


def test_a_tool_that_needs_approval_waits_for_it_and_one_that_is_refused_gives_an_error() -> None:
    for action, phase in ((ACCEPT, "act"), (ESCALATE, "think")):
        flow = Flow(worker(loop("a", tools=["send"])), traits={"send": e.ToolTraits(needs_approval=True)})
        flow.says("a", call("send", to="all"))
        assert asked(flow).shown == {"call": "send", "arguments": {"to": "all"}}
        decided(flow, action, "no mails on Sunday")
        assert flow.state.places["p1"].phase == phase


def test_results_stand_in_the_order_of_the_calls_whatever_ended_first() -> None:
    flow = Flow(worker(loop("a", tools=["search"])))
    flow.says("a", call("search", q=1), call("search", q=2))
    first, second = [one for one in works(flow) if isinstance(one, e.CallTool)]
    flow.give(e.ToolGave(second.id, e.ToolResult("two")))
    assert [type(effect) for effect in works(flow)] == [e.CallTool], "while a tool is at work nothing is judged"
    flow.give(e.ToolGave(first.id, e.ToolResult("one")))
    assert [message.text for message in flow.state.places["p1"].messages[-2:]] == ["one", "two"]
    assert (first.number, second.number) == (1, 2)


def test_a_question_to_a_person_is_answered_in_the_conversation() -> None:
    flow = Flow(worker(loop("a")))
    flow.says("a", call("ask_person", question="Which gate?"))
    assert asked(flow).title == "Which gate?"
    decided(flow, ACCEPT, edit="gate 2")
    assert flow.state.places["p1"].messages[-1].text == "[Person]: gate 2"


def test_pauses_come_before_a_node_and_approvals_behind_it() -> None:
    flow = Flow(worker(loop("a", requiresApproval=True), loop("b"), edges=[("a", "b")], pauseNodes=["b"]))
    flow.sets("a", a=1)
    flow.judge()
    assert asked(flow).title == "approve what a did"
    decided(flow, ACCEPT)
    assert (flow.nodes, asked(flow).title) == (["b"], "go on with b?")
    decided(flow, ESCALATE, "not today")
    assert flow.state.outcome == "rejected"


def test_a_model_chooses_among_edges_and_where_there_is_none_a_person_does() -> None:
    edges = [("a", "b", "model"), ("a", "c", "model")]
    flow = Flow(worker(loop("a"), loop("b"), loop("c"), edges=edges))
    flow.sets("a", a=1)
    flow.judge()
    flow.give(e.Chose(flow.one(e.Choose).id, "c"))
    assert flow.nodes == ["c"]
    flow = Flow(worker({"id": "a", "kind": "person", "outputs": ["a"]}, loop("b"), loop("c"), edges=edges), has_model=False)
    asked(flow)
    decided(flow, ACCEPT, edit="yes")
    flow.judge()
    assert "where to go on" in asked(flow).title
    decided(flow, ACCEPT, edit="b")
    assert flow.nodes == ["b"]


def test_a_node_that_faces_a_client_waits_for_the_next_word_and_hears_each_once() -> None:
    flow = Flow(worker(loop("a", clientFacing=True)))
    flow.says("a", text="Hello, what can I do?")
    assert flow.state.is_waiting
    assert len(flow.give(e.Word("look at gate 2", "w1"))) == 1
    flow.says("a", text="I did.")
    assert flow.give(e.Word("look at gate 2", "w1")) == ()
    assert len(flow.give(e.Word("thanks", "w2"))) == 1


def test_a_goal_judges_the_whole_and_what_is_not_good_enough_is_done_again_at_the_last_node() -> None:
    goal = {"id": "g", "successCriteria": [{"id": "c"}]}
    flow = Flow(worker(loop("a", visits=2), goal=goal))
    flow.sets("a", a=1)
    flow.judge()
    flow.judge("", RETRY, "too short")
    assert flow.nodes == ["a"]
    flow.sets("a", a=2)
    flow.judge()
    flow.judge("", RETRY, "too short")
    assert asked(flow).place == ""
    decided(flow, ACCEPT, "it will do")
    assert flow.state.outcome == "accepted"


def test_a_constraint_that_is_hurt_is_told_to_the_planner() -> None:
    flow = Flow(worker(loop("plan"), planner="plan", replans=1))
    flow.sets("plan", plan=1)
    flow.judge("", ESCALATE, "violates no-passwords", cause="constraint")
    assert flow.state.violated == ("violates no-passwords",)


def test_a_model_that_can_not_be_had_is_a_persons_business_and_the_run_goes_on_with_their_word() -> None:
    flow = Flow(worker(loop("a")))
    flow.give(e.Failed(flow.one(e.CallModel).id, "the model is away"))
    assert asked(flow).why == "the model is away"
    decided(flow, RETRY)
    assert flow.one(e.CallModel)


def test_late_and_repeated_events_mean_nothing() -> None:
    flow = Flow(worker(loop("a", tools=["search"])))
    first = flow.one(e.CallModel).id
    said = e.ModelSaid(first, e.Reply("", (s.ToolCall("x", "search", {}),)))
    assert flow.give(said)
    assert flow.give(said) == ()
    call = flow.one(e.CallTool).id
    gave = e.ToolGave(call, e.ToolResult("found"))
    assert flow.give(gave)
    assert flow.give(gave) == ()
    assert flow.give(e.Done("nothing.such")) == ()


def test_after_any_prefix_of_steps_the_same_is_wanted_again_but_for_uncertain_calls() -> None:
    flow = branched("all")
    flow.do("b", b=1)
    flow.do("c", c=1)
    flow.sets("d", d=1)
    flow.judge()
    flow.go_on()
    for count in range(2, len(flow.steps)):
        state = RunState()
        for step in flow.steps[:count]:
            state = fold(state, step, 1_000)
        again = fold(state, s.Resumed(), 2_000)
        if state.outcome is None:
            assert ids(again, flow.plan) == ids(state, flow.plan)


def ids(state: RunState, plan: e.WorkerPlan) -> list[str]:
    return [one.id for one in wanted(state, plan)]


def test_nothing_happens_to_a_run_that_never_began() -> None:
    plan = Flow(worker(loop("a"))).plan
    assert accepted(RunState(), plan, e.Word("hello")) == ()
