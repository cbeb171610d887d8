"""What people decide while a run waits: approvals, pauses, answers, edits; and nothing is taken for a yes that was none."""

import msgspec
import pytest

from hive_mind.runs import effects as e
from hive_mind.runs.effects import ToolTraits
from hive_mind.runs.reports import consequences, told_to_person
from hive_mind.runs.spec import FEEDBACK, WorkerSpec
from hive_mind.runs.steps import Answered, Resumed, Returned
from tests.unit.runs.flow import ACCEPT, ESCALATE, REPLAN, RETRY, Flow, JudgmentAction, call, worker

TALK = {"id": "a", "outputs": ["x"]}
APPROVED = TALK | {"requires_approval": True}
PAY = {"id": "pay", "kind": "tool", "tool": "pay"}
ASKS = {"pay": ToolTraits(needs_approval=True)}
ONCE = {"pay": ToolTraits(is_idempotent=False)}


def test_a_node_that_needs_approval_goes_on_when_a_person_says_so() -> None:
    flow = Flow(worker(APPROVED, "b", edges=["a b"]))
    flow.do("a", x=1)
    assert flow.nodes == ["a"]
    assert flow.one(e.AskPerson, "a").shown == {"x": 1}
    flow.answer("a")
    flow.go_on()
    assert flow.nodes == ["b"]


@pytest.mark.parametrize(
    ("edit", "value"), [({"x": 2, "foreign": 3}, 2), *((value, value) for value in ("two", [2], {"of it": 2}, False, ""))]
)
def test_what_is_approved_with_another_value_has_that_value_and_what_names_no_output_is_the_only_one(edit: object, value: object):
    """It was said to be changed, and what the node had set went on."""
    flow = Flow(worker(APPROVED))
    flow.do("a", x=1)
    flow.answer("a", ACCEPT, edit=edit)
    flow.go_on()
    assert flow.state.buffer == {"x": value}


def test_what_is_not_approved_is_done_again_and_needs_approval_again() -> None:
    flow = Flow(worker(APPROVED))
    flow.do("a", x=1)
    flow.answer("a", RETRY, "more")
    assert flow.at("a").messages[-1].text == "[Person]: more"
    flow.do("a", x=2)
    assert flow.one(e.AskPerson, "a").shown == {"x": 2}


def test_what_was_done_again_is_named_anew_so_that_no_former_decision_is_taken_for_a_new_one() -> None:
    flow = Flow(worker(APPROVED | {"tools": ["pay"]}), traits=ASKS)
    asked, calls = [], []
    for number in range(3):
        flow.says("a", call("pay", sum=number))
        asked.append(flow.one(e.AskPerson, "a").id)
        flow.answer("a")
        calls.append(flow.one(e.CallTool, "a").call.id)
        flow.gives("a", e.ToolResult("paid"))
        flow.do("a", x=number)
        asked.append(flow.one(e.AskPerson, "a").id)
        flow.answer("a", RETRY)
    assert len(set(asked)) == 6
    assert len(set(calls)) == 3


def test_a_pause_asks_before_a_node_begins() -> None:
    flow = Flow(worker("a", "b", edges=["a b"], pause_nodes=["b"]))
    flow.do("a")
    assert flow.one(e.AskPerson, "b").title == "go on with b?"
    assert flow.all(e.CallModel) == []
    flow.answer("b", ACCEPT, "but quietly")
    assert flow.at("b").messages[-1].text == "[Person]: but quietly"
    assert flow.one(e.CallModel, "b")


ENDS = "the run ends as rejected, and what it set stays with it"
WORD = {"id": "q", "kind": "person", "outputs": ["word"]}
NOTHING = "nothing follows it: the run ends where no other branch goes on"


@pytest.mark.parametrize(
    ("spec", "yes", "no"),
    [
        (worker("a", "b", edges=["a b"], pause_nodes=["b"]), "b begins", ENDS),
        (worker(APPROVED, "b", edges=["a b", "a b always"]), "what a set counts, and the run goes on with b", ENDS),
        (
            worker(PAY, "ok", "no", edges=["pay ok", "pay no failure"]),
            "pay is called as shown",
            "pay is not called; pay has failed, and the run goes on with no",
        ),
        (worker(PAY), "pay is called as shown", f"pay is not called; {ENDS}"),
        (worker({"id": "a", "tools": ["pay"]}), "pay is called as shown", "pay is not called; a hears it and goes on"),
        (worker(WORD), f"the answer is the value of word, and {NOTHING}", f"the no is the value of word, and {NOTHING}"),
        (worker(WORD | {"outputs": []}, goal={"id": "g"}), "the answer is kept, and then the whole is judged by its goal", ENDS),
        (
            worker(WORD, "no", "ok", edges=["q ok", "q no failure"]),
            "the answer is kept, and the run goes on with ok",
            "q has failed, and the run goes on with no",
        ),
        (
            worker({"id": "a"}, goal={"id": "g"}),
            "the run ends as accepted; what it set is remembered, and shared where the worker says so",
            ENDS,
        ),
    ],
)
def test_a_person_is_told_what_follows_from_yes_and_from_no(spec: WorkerSpec, yes: str, no: str) -> None:
    flow = Flow(spec, traits=ASKS)
    flow.go_on()
    if (node := spec.by_id[spec.entry]).tools:
        flow.says("a", call("pay"))
    elif node.kind == "loop":
        flow.do("a", **({"x": 1} if node.outputs else {}))
        flow.go_on()
    if spec.goal and not flow.nodes:
        flow.whole(ESCALATE)
    (effect,) = [effect for effect in flow.wants if isinstance(effect, e.AskPerson)]
    assert consequences(flow.state, effect) == (yes, no)
    before = flow.state.asked
    flow.give(e.ItemOpened(effect.id, "i"))
    assert flow.state.asked == before + (not effect.place)


def test_a_person_is_told_goal_cost_and_inputs_and_the_values_but_no_feedback() -> None:
    goal = {"id": "g", "description": "all sums"}
    flow = Flow(worker(APPROVED | {"inputs": ["n"], "description": "sums up"}, goal=goal), {"n": 5, "z": "far"})
    flow.says("a", call("set_output", key="x", value=1), tokens=1_200, usd=0.5, after_ms=2_600)
    flow.gives("a", e.ToolResult("is set", outputs={"x": 1}))
    flow.judge("a")
    effect = msgspec.structs.replace(flow.one(e.AskPerson, "a"), shown={"x": 1, "n": 7, FEEDBACK: "hidden"})

    assert told_to_person(flow.state, effect)[1:2] + told_to_person(flow.state, effect)[4:] == [
        ("goal", "all sums\na: sums up"),
        ("cost so far", "1 turn of a model, 1,200 tokens, 0.5000 US dollars, 3 s of work"),
        ("inputs", "n: 5\nz: far"),
        ("x", "1"),
    ]


def test_who_says_no_to_a_pause_ends_the_run_and_who_wants_another_plan_gets_one() -> None:
    flow = Flow(worker("a", pause_nodes=["a"]))
    flow.answer("a", ESCALATE, "not today")
    assert flow.ended == ("rejected", "ines: not today")

    flow = Flow(worker("a", pause_nodes=["a"]))
    flow.answer("a", REPLAN, "not like this")
    assert flow.ended == ("rejected", "ines: not like this")

    flow = Flow(worker("a", "plan", edges=["plan a"], pause_nodes=["a"], planner="plan"))
    flow.answer("a", REPLAN, "not like this")
    assert flow.nodes == ["plan"]


def test_a_tool_that_needs_approval_runs_only_after_a_yes() -> None:
    flow = Flow(worker(PAY), traits=ASKS)
    flow.go_on()
    assert flow.all(e.CallTool) == []
    assert flow.one(e.AskPerson, "pay").kind == "tool"
    flow.answer("pay")
    assert flow.one(e.CallTool, "pay")


@pytest.mark.parametrize("action", [ESCALATE, RETRY, REPLAN])
@pytest.mark.parametrize("outputs", [[], ["receipt"]])
def test_a_tool_node_that_a_person_declined_has_failed(action: JudgmentAction, outputs: list[str]) -> None:
    flow = Flow(worker(PAY | {"outputs": outputs}, "ok", "no", edges=["pay ok", "pay no failure"]), traits=ASKS)
    flow.go_on()
    flow.answer("pay", action, "too dear")
    assert flow.nodes == ["no"]
    assert flow.state.failed == (("pay", 1, ("a person decided that this must not run: too dear",)),)


def test_a_declined_tool_node_without_an_edge_for_it_waits_for_a_person_and_is_never_accepted_by_itself() -> None:
    flow = Flow(worker(PAY), traits=ASKS)
    flow.go_on()
    flow.answer("pay", ESCALATE)
    assert flow.all(e.AskJudge) == []
    assert flow.one(e.AskPerson, "pay").kind == "judgment"


def test_a_loop_whose_call_was_declined_is_told_and_goes_on() -> None:
    flow = Flow(worker(TALK), traits=ASKS)
    flow.says("a", call("pay", sum=1), call("look", q="1"))
    flow.gives("a", e.ToolResult("found"))
    flow.answer("a", ESCALATE, "too dear")
    told = flow.at("a").messages[-2:]
    assert [message.text for message in told] == ["a person decided that this must not run: too dear", "found"]
    assert told[0].is_error
    assert flow.one(e.CallModel, "a")


def test_what_must_not_happen_twice_is_announced_first_and_asked_about_after_a_crash() -> None:
    flow = Flow(worker(TALK), traits=ONCE)
    flow.says("a", call("pay", sum=1))
    assert (len(flow.all(e.Proceed, "a")), flow.all(e.CallTool)) == (1, [])
    flow.go_on()
    assert flow.one(e.CallTool, "a").call.id == "p1.1.0.0"
    flow.keep([Resumed()])
    assert flow.all(e.CallTool) == []
    assert flow.one(e.AskPerson, "a").title == "pay may have run: run it again?"
    flow.answer("a", ESCALATE, "it did run")
    assert flow.at("a").messages[-1].is_error


def test_a_call_that_may_have_run_is_not_repeated_without_a_word_for_each_time() -> None:
    flow = Flow(worker(PAY), traits=ONCE)
    flow.go_on()
    asked = []
    for _ in range(2):
        assert flow.one(e.CallTool, "pay")
        flow.keep([Resumed()])
        assert flow.all(e.CallTool) == []
        asked.append(flow.one(e.AskPerson, "pay").id)
        flow.answer("pay")
        flow.go_on()
    assert len(set(asked)) == 2


def test_a_person_may_say_what_a_call_that_may_have_run_gave() -> None:
    flow = Flow(worker(PAY | {"outputs": ["receipt"]}), traits=ONCE)
    flow.go_on()
    flow.keep([Resumed()])
    flow.answer("pay", ACCEPT, edit={"number": 7})
    flow.judge("pay")
    flow.go_on()
    assert flow.state.buffer == {"receipt": {"number": 7}}


@pytest.mark.parametrize(
    ("action", "because", "edit", "told"),
    [
        (ACCEPT, "", "the red one", "the red one"),
        (ACCEPT, "the red one", None, "the red one"),
        (ACCEPT, "", None, "approved"),
        (ACCEPT, "", 0, "0"),
        (ACCEPT, "", False, "false"),
        (ACCEPT, "", ["a"], '[\n  "a"\n]'),
        (ESCALATE, "", None, "no answer: a person declined"),
        (ESCALATE, "none of your business", None, "none of your business"),
    ],
)
def test_what_a_person_answers_is_what_the_agent_is_told(action: JudgmentAction, because: str, edit: object, told: str) -> None:
    flow = Flow(worker(TALK))
    flow.says("a", call("ask_person", question="which?"))
    assert flow.one(e.AskPerson, "a").title == "which?"
    flow.answer("a", action, because, edit)
    assert flow.at("a").messages[-1].text == f"[Person]: {told}"


def test_the_answer_is_the_output_of_a_node_of_kind_person() -> None:
    ask = {"id": "q", "kind": "person", "prompt": "Which?", "inputs": ["about"], "outputs": ["word"]}
    flow = Flow(worker(ask), {"about": "gates", "other": 1})
    wanted = flow.one(e.AskPerson, "q")
    assert (wanted.title, wanted.shown) == ("Which?", {"about": "gates"})
    flow.answer("q", ACCEPT, edit="notes")
    flow.judge("q")
    flow.go_on()
    assert flow.state.buffer["word"] == "notes"


def test_a_no_is_an_output_like_any_other_where_the_graph_can_look_at_it() -> None:
    flow = Flow(worker({"id": "q", "kind": "person", "outputs": ["word"]}))
    flow.answer("q", ESCALATE, "never")
    assert flow.at("q").outputs == {"word": {"decision": "escalate", "because": "never"}}


def test_a_no_goes_the_way_of_a_failure_where_there_is_one() -> None:
    flow = Flow(worker({"id": "q", "kind": "person", "outputs": ["word"]}, "b", "c", edges=["q b", "q c failure"]))
    flow.answer("q", ESCALATE)
    assert flow.nodes == ["c"]


@pytest.mark.parametrize("action", [ESCALATE, RETRY, REPLAN])
def test_a_no_that_nobody_could_see_ends_the_run(action: JudgmentAction) -> None:
    flow = Flow(worker({"id": "q", "kind": "person"}, "b", edges=["q b"]))
    flow.answer("q", action, "never")
    assert flow.ended == ("rejected", "ines: never")


def test_an_item_is_decided_once() -> None:
    flow = Flow(worker(TALK))
    flow.says("a", call("ask_person", question="which?"), call("look", q="1"))
    item = flow.ask("a")
    assert flow.decide(item, edit="one")
    assert flow.decide(item, edit="two") == ()
    assert sum(isinstance(step, Answered) for step in flow.steps) == 1
    assert [step.text for step in flow.steps if isinstance(step, Returned)] == ["[Person]: one"]


def test_a_client_is_heard_in_turn_and_the_same_word_once() -> None:
    flow = Flow(worker(TALK | {"client_facing": True}))
    assert flow.give(e.Word("too early", "w0")) == ()
    flow.says("a", text="Hello. What is it about?")
    assert flow.state.is_waiting
    assert flow.give(e.Word("gates", "w1"))
    assert flow.at("a").messages[-1].text == "gates"
    flow.says("a", text="Which?")
    assert flow.give(e.Word("gates", "w1")) == ()
    assert flow.give(e.Word("the red one", "w2"))
    flow.sets("a", x="red")
    assert flow.one(e.AskJudge, "a")
