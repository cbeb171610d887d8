"""What a run wants and what events mean: attempts, edges, branches, limits, approvals, and that late events mean nothing."""

from typing import Any

from hive_mind.judge.judgment import JudgmentAction
from hive_mind.runs import effects as e
from hive_mind.runs import steps as s
from hive_mind.runs.accepted import accepted
from hive_mind.runs.effects import REPORTING_TOOLS, wanted
from hive_mind.runs.fold import fold
from hive_mind.runs.state import RunState
from tests.unit.runs.playing import AGAIN, NO, YES, Play, loop, worker


def test_a_node_is_left_when_its_outputs_are_accepted_and_the_run_ends_with_the_last() -> None:
    play = Play(worker(loop("a"), loop("b"), edges=[("a", "b")]))
    play.sets("a", 1)
    play.judged()
    assert play.at == ["b"]
    play.sets("b", 2)
    play.judged()
    play.proceeds()
    assert (play.state.outcome, dict(play.state.buffer)) == ("accepted", {"a": 1, "b": 2})
    assert play.wanted == ()


def test_outputs_reach_the_buffer_only_when_they_are_accepted() -> None:
    play = Play(worker(loop("a")))
    play.sets("a", "draft")
    assert play.state.buffer == {}
    play.judged(AGAIN, "thin", feedback="say more")
    assert play.state.buffer == {}
    assert play.state.places["p1"].messages[-1].text == "[Judge feedback]: say more"


def test_feedback_stays_in_the_conversation_and_errors_add_up_until_attempts_are_used() -> None:
    play = Play(worker(loop("a", attempts=2), loop("b"), edges=[("a", "b", "failure")]))
    play.sets("a", 1)
    play.judged(AGAIN, "one")
    play.sets("a", 2)
    play.judged(AGAIN, "two")
    assert play.at == ["b"]
    assert play.state.failed == (("a", 2, ("one", "two")),)
    assert play.state.buffer == {}


def test_without_an_edge_for_it_a_failure_is_a_persons_business() -> None:
    play = Play(worker(loop("a", attempts=1)))
    play.sets("a", 1)
    play.judged(AGAIN, "bad")
    assert play.asked().kind == "judgment"
    play.decided(AGAIN, "use the other table")
    place = play.state.places["p1"]
    assert (place.phase, place.attempt, place.messages[-1].text) == ("think", 2, "[Person]: use the other table")
    play.sets("a", 2)
    play.judged(AGAIN, "bad")
    play.asked()
    play.decided(NO, "enough")
    assert (play.state.outcome, play.state.reason) == ("rejected", "ines: enough")


def test_a_person_may_accept_with_a_value_of_their_own_but_only_for_keys_of_the_node() -> None:
    play = Play(worker(loop("a")))
    play.sets("a", 1)
    play.judged(NO, "unsure")
    play.asked()
    play.decided(YES, edit={"a": 9, "other": 1})
    play.proceeds()
    assert (play.state.outcome, dict(play.state.buffer)) == ("accepted", {"a": 9})


def test_replanning_tells_the_planner_the_four_things_and_gives_up_the_rest() -> None:
    nodes = loop("plan", inputs=["feedback_context"]), loop("a", attempts=1)
    play = Play(worker(*nodes, edges=[("plan", "a")], planner="plan", replans=1))
    play.sets("plan", "p1")
    play.judged()
    play.sets("a", 1)
    play.judged(JudgmentAction.REPLAN, "the plan is wrong")
    assert play.at == ["plan"]
    told = play.state.buffer["feedback_context"]
    assert sorted(told) == ["accumulated_context", "completed_steps", "constraints_violated", "failed_steps"]
    assert told["completed_steps"] == ["plan"]
    assert told["accumulated_context"] == {"plan": "p1", "why": "the plan is wrong"}
    play.sets("plan", "p2")
    play.judged()
    play.sets("a", 2)
    play.judged(JudgmentAction.REPLAN, "again")
    assert play.asked().kind == "judgment"


def test_conditions_choose_edges_and_one_that_can_not_be_put_to_the_data_goes_to_a_person() -> None:
    edges = [("a", "b", "condition", "output.a > 5"), ("a", "c", "condition", "output.a <= 5")]
    play = Play(worker(loop("a"), loop("b"), loop("c"), edges=edges))
    play.sets("a", 7)
    play.judged()
    assert play.at == ["b"]
    play = Play(worker(loop("a"), loop("b"), loop("c"), edges=edges))
    play.sets("a", "seven")
    play.judged()
    assert (play.at, play.asked().kind) == (["a"], "judgment")
    assert "can't be decided" in play.state.places["p1"].why


DIAMOND = {
    "nodes": (loop("a"), loop("b"), loop("c"), loop("d")),
    "edges": [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")],
}


def branched(join: str) -> Play:
    nodes = [node | ({"join": join} if node["id"] == "d" else {}) for node in DIAMOND["nodes"]]
    play = Play(worker(*nodes, edges=DIAMOND["edges"]))
    play.sets("a", 1)
    play.judged()
    assert play.at == ["b", "c"]
    return play


def set_at(play: Play, node: str, value: Any) -> None:
    """The model of one of several places sets its output, and is accepted."""
    (place,) = [one for one in play.state.places.values() if one.node == node]
    (effect,) = [one for one in play.wanted if isinstance(one, e.CallModel) and one.place == place.id]
    call = s.ToolCall("x", "set_output", {"key": node, "value": value})
    play.happens(e.ModelSaid(effect.id, e.Reply("", (call,))))
    (effect,) = [one for one in play.wanted if isinstance(one, e.CallTool) and one.place == place.id]
    play.happens(e.ToolGave(effect.id, e.ToolResult("set", outputs={node: value})))
    (effect,) = [one for one in play.wanted if isinstance(one, e.AskJudge) and one.place == place.id]
    play.happens(e.JudgeSaid(effect.id, e.Judgment(action=YES, reasoning="fine")))


def test_branches_run_at_once_with_conversations_of_their_own_and_meet() -> None:
    play = branched("all")
    set_at(play, "c", 3)
    assert play.at == ["b"]
    set_at(play, "b", 2)
    assert play.at == ["d"]
    assert dict(play.state.buffer) == {"a": 1, "b": 2, "c": 3}
    assert play.state.frames == {}
    texts = [message.text for message in next(iter(play.state.places.values())).messages]
    assert not any("c is set" in text for text in texts)


def test_the_first_branch_is_enough_for_a_join_of_any_and_the_others_are_given_up() -> None:
    play = branched("any")
    set_at(play, "c", 3)
    assert play.at == ["d"]
    assert dict(play.state.buffer) == {"a": 1, "c": 3}


def test_a_branch_that_ends_elsewhere_keeps_nobody_waiting() -> None:
    nodes = (loop("a"), loop("b"), loop("c"), loop("d", join="all"))
    play = Play(worker(*nodes, edges=[("a", "b"), ("a", "c"), ("b", "d")]))
    play.sets("a", 1)
    play.judged()
    set_at(play, "b", 2)
    assert play.at == ["c"]
    set_at(play, "c", 3)
    assert play.at == ["d"]


def test_a_branch_may_branch_again_and_the_outer_join_waits_for_all_of_it() -> None:
    nodes = (loop("a"), loop("b"), loop("c"), loop("b1"), loop("b2"), loop("bj", join="all"), loop("d", join="all"))
    edges = [("a", "b"), ("a", "c"), ("b", "b1"), ("b", "b2"), ("b1", "bj"), ("b2", "bj"), ("bj", "d"), ("c", "d")]
    play = Play(worker(*nodes, edges=edges))
    play.sets("a", 1)
    play.judged()
    set_at(play, "c", 0)
    for node in ("b", "b1"):
        set_at(play, node, 0)
    assert play.at == ["b2"]
    set_at(play, "b2", 0)
    assert play.at == ["bj"]
    set_at(play, "bj", 0)
    assert play.at == ["d"]


def test_a_graph_that_goes_in_circles_ends_by_the_visits_of_its_nodes() -> None:
    play = Play(worker(loop("a", visits=2), loop("b"), edges=[("a", "b"), ("b", "a")]))
    for node in ("a", "b", "a", "b"):
        play.sets(node, 1)
        play.judged()
    assert (play.state.outcome, "node a was entered 2 times" in play.state.reason) == ("failed", True)


def test_the_last_turn_offers_only_reports_and_then_the_run_is_exhausted() -> None:
    play = Play(worker(loop("a", tools=["search"]), limits={"turns": 2}))
    play.says(search={"q": 1})
    play.gives("found")
    assert play.one(e.CallModel).is_last
    assert "search" not in REPORTING_TOOLS
    play.says(search={"q": 2})
    play.gives("no", is_error=True)
    play.proceeds()
    assert (play.state.outcome, play.state.reason) == ("exhausted", "all 2 turns of the run are used")


def test_tokens_are_bounded_and_those_of_sub_agents_count() -> None:
    play = Play(worker(loop("a", tools=["search"]), limits={"tokens": 100}))
    play.says(search={"q": 1})
    play.gives("found", tokens=90)
    play.proceeds()
    assert (play.state.tokens, play.state.outcome) == (105, "exhausted")


def test_time_is_counted_while_something_is_done_and_not_while_a_person_is_asked() -> None:
    play = Play(worker(loop("a"), limits={"seconds": 10}))
    play.ms += 4_000
    play.sets("a", 1)
    play.judged(NO, "unsure")
    play.asked()
    assert [one for one in wanted(play.state, play.plan) if isinstance(one, e.WakeIn)] == []
    play.ms += 60_000_000
    play.decided(AGAIN, "again")
    (time,) = [one for one in wanted(play.state, play.plan) if isinstance(one, e.WakeIn)]
    assert time.ms == 6_000
    play.happens(e.Done(time.id))
    assert play.state.outcome == "exhausted"


def test_a_node_that_takes_too_long_has_failed() -> None:
    play = Play(worker(loop("a", timeoutS=2), loop("b"), edges=[("a", "b", "failure")]))
    (time,) = [one for one in wanted(play.state, play.plan) if isinstance(one, e.WakeIn) and one.place]
    assert time.ms == 2_000
    play.happens(e.Done(time.id))
    assert play.at == ["b"]


def test_the_same_calls_with_the_same_results_are_told_once_and_then_a_person_decides() -> None:
    play = Play(worker(loop("a", tools=["search"])))
    for _ in range(2):
        for _ in range(3):
            play.says(search={"q": "same"})
            play.gives("nothing [Saved to 'search_1.txt']")
        play.proceeds()
    warned = [step for step in play.steps if isinstance(step, s.Warned)]
    assert len(warned) == 1
    assert play.state.places["p1"].phase == "parked"


def test_the_same_calls_with_other_results_are_no_circle() -> None:
    play = Play(worker(loop("a", tools=["search"])))
    for number in range(6):
        play.says(search={"q": "same"})
        play.gives(f"result {number}")
    assert not [step for step in play.steps if isinstance(step, s.Warned)]


ONCE = e.ToolTraits(is_idempotent=False)


def test_what_must_not_happen_twice_is_announced_first_and_asked_about_after_a_crash() -> None:
    play = Play(worker(loop("a", tools=["pay"])), pay=ONCE)
    play.says(pay={"amount": 1})
    assert isinstance(play.wanted[0], e.Proceed)
    play.proceeds()
    before = play.one(e.CallTool)
    play._keep([s.Resumed()])
    assert not [one for one in play.wanted if isinstance(one, e.CallTool)]
    assert play.asked().title == "pay may have run: run it again?"
    play.decided(NO, "it did run")
    assert play.state.places["p1"].messages[-1].is_error
    assert before.call.id == "p1.1.0.0"


def test_a_person_who_allows_it_again_has_it_announced_again() -> None:
    play = Play(worker(loop("a", tools=["pay"])), pay=ONCE)
    play.says(pay={"amount": 1})
    play.proceeds()
    play._keep([s.Resumed()])
    play.asked()
    play.decided(YES)
    play.proceeds()
    play.one(e.CallTool)
    play._keep([s.Resumed()])
    second = play.one(e.AskPerson)
    assert second.id == "p1.1.0.0.1.ask"


def test_a_judge_may_not_have_a_tool_called_again_that_must_not_happen_twice() -> None:
    node = {"id": "a", "kind": "tool", "tool": "pay", "outputs": ["a"]}
    play = Play(worker(node), pay=ONCE)
    play.gives("paid")
    play.judged(AGAIN, "not enough")
    assert play.state.places["p1"].phase == "parked"


def test_a_tool_that_needs_approval_waits_for_it_and_one_that_is_refused_gives_an_error() -> None:
    for action, phase in ((YES, "act"), (NO, "think")):
        play = Play(worker(loop("a", tools=["send"])), send=e.ToolTraits(needs_approval=True))
        play.says(send={"to": "all"})
        assert play.asked().shown == {"call": "send", "arguments": {"to": "all"}}
        play.decided(action, "no mails on Sunday")
        assert play.state.places["p1"].phase == phase


def test_results_stand_in_the_order_of_the_calls_whatever_ended_first() -> None:
    play = Play(worker(loop("a", tools=["search"])))
    play.says(search=[{"q": 1}, {"q": 2}])
    first, second = [one for one in play.wanted if isinstance(one, e.CallTool)]
    play.happens(e.ToolGave(second.id, e.ToolResult("two")))
    assert [type(effect) for effect in play.wanted] == [e.CallTool], "while a tool is at work nothing is judged"
    play.happens(e.ToolGave(first.id, e.ToolResult("one")))
    assert [message.text for message in play.state.places["p1"].messages[-2:]] == ["one", "two"]
    assert (first.number, second.number) == (1, 2)


def test_a_question_to_a_person_is_answered_in_the_conversation() -> None:
    play = Play(worker(loop("a")))
    play.says(ask_person={"question": "Which gate?"})
    assert play.asked().title == "Which gate?"
    play.decided(YES, edit="gate 2")
    assert play.state.places["p1"].messages[-1].text == "[Person]: gate 2"


def test_pauses_come_before_a_node_and_approvals_behind_it() -> None:
    play = Play(worker(loop("a", requiresApproval=True), loop("b"), edges=[("a", "b")], pauseNodes=["b"]))
    play.sets("a", 1)
    play.judged()
    assert play.asked().title == "approve what a did"
    play.decided(YES)
    assert (play.at, play.asked().title) == (["b"], "go on with b?")
    play.decided(NO, "not today")
    assert play.state.outcome == "rejected"


def test_a_model_chooses_among_edges_and_where_there_is_none_a_person_does() -> None:
    edges = [("a", "b", "model"), ("a", "c", "model")]
    play = Play(worker(loop("a"), loop("b"), loop("c"), edges=edges))
    play.sets("a", 1)
    play.judged()
    play.happens(e.Chose(play.one(e.Choose).id, "c"))
    assert play.at == ["c"]
    play = Play(worker({"id": "a", "kind": "person", "outputs": ["a"]}, loop("b"), loop("c"), edges=edges), model=False)
    play.asked()
    play.decided(YES, edit="yes")
    play.judged()
    assert "where to go on" in play.asked().title
    play.decided(YES, edit="b")
    assert play.at == ["b"]


def test_a_node_that_faces_a_client_waits_for_the_next_word_and_hears_each_once() -> None:
    play = Play(worker(loop("a", clientFacing=True)))
    play.says("Hello, what can I do?")
    assert play.state.is_waiting
    assert len(play.happens(e.Word("look at gate 2", "w1"))) == 1
    play.says("I did.")
    assert play.happens(e.Word("look at gate 2", "w1")) == ()
    assert len(play.happens(e.Word("thanks", "w2"))) == 1


def test_a_goal_judges_the_whole_and_what_is_not_good_enough_is_done_again_at_the_last_node() -> None:
    goal = {"id": "g", "successCriteria": [{"id": "c"}]}
    play = Play(worker(loop("a", visits=2), goal=goal))
    play.sets("a", 1)
    play.judged()
    play.judged(AGAIN, "too short")
    assert play.at == ["a"]
    play.sets("a", 2)
    play.judged()
    play.judged(AGAIN, "too short")
    assert play.asked().place == ""
    play.decided(YES, "it will do")
    assert play.state.outcome == "accepted"


def test_a_constraint_that_is_hurt_is_told_to_the_planner() -> None:
    play = Play(worker(loop("plan"), planner="plan", replans=1))
    play.sets("plan", 1)
    play.judged(NO, "violates no-passwords", cause="constraint")
    assert play.state.violated == ("violates no-passwords",)


def test_a_model_that_can_not_be_had_is_a_persons_business_and_the_run_goes_on_with_their_word() -> None:
    play = Play(worker(loop("a")))
    play.happens(e.Failed(play.one(e.CallModel).id, "the model is away"))
    assert play.asked().why == "the model is away"
    play.decided(AGAIN)
    assert play.one(e.CallModel)


def test_late_and_repeated_events_mean_nothing() -> None:
    play = Play(worker(loop("a", tools=["search"])))
    first = play.one(e.CallModel).id
    said = e.ModelSaid(first, e.Reply("", (s.ToolCall("x", "search", {}),)))
    assert play.happens(said)
    assert play.happens(said) == ()
    call = play.one(e.CallTool).id
    gave = e.ToolGave(call, e.ToolResult("found"))
    assert play.happens(gave)
    assert play.happens(gave) == ()
    assert play.happens(e.Done("nothing.such")) == ()


def test_after_any_prefix_of_steps_the_same_is_wanted_again_but_for_uncertain_calls() -> None:
    play = branched("all")
    set_at(play, "b", 1)
    set_at(play, "c", 1)
    play.sets("d", 1)
    play.judged()
    play.proceeds()
    for count in range(2, len(play.steps)):
        state = RunState()
        for step in play.steps[:count]:
            state = fold(state, step, 1_000)
        again = fold(state, s.Resumed(), 2_000)
        if state.outcome is None:
            assert ids(again, play.plan) == ids(state, play.plan)


def ids(state: RunState, plan: e.WorkerPlan) -> list[str]:
    return [one.id for one in wanted(state, plan)]


def test_nothing_happens_to_a_run_that_never_began() -> None:
    plan = Play(worker(loop("a"))).plan
    assert accepted(RunState(), plan, e.Word("hello")) == ()
