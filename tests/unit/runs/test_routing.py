"""Where a run goes on: edges that hold, branches that open and meet, and graphs that go in circles."""

from hive_mind.runs import effects as e
from hive_mind.runs.steps import Left
from tests.unit.runs.flow import ACCEPT, ESCALATE, RETRY, Flow, call, worker


def fork(join: str = "all", **fields: object) -> Flow:
    return Flow(worker("a", "b", "c", {"id": "d", "join": join}, "e", edges=("a b", "a c", "b d", "c d", "d e"), **fields))


def test_a_run_begins_at_its_entry_and_ends_when_no_edge_leads_on() -> None:
    flow = Flow(worker("a", "b", edges=["a b"]))
    assert flow.nodes == ["a"]
    flow.do("a")
    assert flow.nodes == ["b"]
    flow.do("b")
    flow.go_on()
    assert (flow.ended, flow.state.path) == (("accepted", "every node has done its part"), ("a", "b"))


def test_branches_run_at_once_and_a_join_of_all_waits_for_each() -> None:
    flow = fork()
    flow.do("a")
    assert flow.nodes == ["b", "c"]
    flow.do("c")
    assert flow.nodes == ["b"]
    flow.do("b")
    assert flow.nodes == ["d"]
    assert not flow.state.frames
    flow.do("d")
    assert flow.nodes == ["e"]


def test_a_join_of_any_goes_on_with_the_first_and_gives_the_others_up() -> None:
    flow = fork("any")
    flow.do("a")
    asked = flow.one(e.CallModel, "b")
    flow.do("c")
    assert flow.nodes == ["d"]
    assert [step.how for step in flow.steps if isinstance(step, Left)] == ["success", "success", "cancelled"]
    assert flow.give(e.ModelSaid(asked.id, None)) == ()  # type: ignore[arg-type] - late: nobody looks at it
    assert flow.state.done == ("a", "c")


def test_a_branch_that_leads_straight_to_a_join_of_any_ends_the_others_before_they_begin() -> None:
    flow = Flow(worker("a", "b", {"id": "d", "join": "any"}, edges=["a d", "a b", "b d"]))
    flow.do("a")
    assert flow.nodes == ["d"]
    flow.do("d")
    flow.go_on()
    assert (flow.ended[0], flow.state.visits) == ("accepted", {"a": 1, "d": 1})


def test_a_branch_that_leads_straight_to_a_join_of_all_waits_there_for_the_others() -> None:
    flow = Flow(worker("a", "b", {"id": "d", "join": "all"}, edges=["a d", "a b", "b d"]))
    flow.do("a")
    assert flow.nodes == ["b"]
    flow.do("b")
    assert flow.nodes == ["d"]


def test_branches_within_branches_meet_before_those_around_them() -> None:
    nodes = ("a", "b", "c", "d", "e", {"id": "in", "join": "all"}, {"id": "out", "join": "all"})
    flow = Flow(worker(*nodes, edges=["a b", "a c", "b d", "b e", "d in", "e in", "in out", "c out"]))
    flow.do("a")
    flow.do("b")
    assert (flow.nodes, len(flow.state.frames)) == (["c", "d", "e"], 2)
    flow.do("d")
    flow.do("c")
    assert flow.nodes == ["e"]
    flow.do("e")
    assert flow.nodes == ["in"]
    flow.do("in")
    assert flow.nodes == ["out"]
    assert not flow.state.frames
    assert flow.state.visits["out"] == 1


def test_a_join_of_any_gives_up_branches_within_branches_too() -> None:
    nodes = ("a", "b", "c", "d", "e", {"id": "out", "join": "any"})
    flow = Flow(worker(*nodes, edges=["a b", "a c", "b d", "b e", "c out"]))
    flow.do("a")
    flow.do("b")
    flow.do("c")
    assert flow.nodes == ["out"]
    flow.do("out")
    flow.go_on()
    assert flow.ended[0] == "accepted"


def test_a_branch_that_ends_is_not_waited_for() -> None:
    flow = Flow(worker("a", "b", "c", {"id": "d", "join": "all"}, edges=["a b", "a c", "c d"]))
    flow.do("a")
    flow.do("c")
    assert flow.nodes == ["b"]
    flow.do("b")
    assert flow.nodes == ["d"]


def test_where_all_branches_end_nothing_is_left_to_do() -> None:
    flow = Flow(worker("a", "b", "c", {"id": "d", "join": "all"}, "e", edges=["a b", "a c", {**COND, "source": "b"}, "d e"]))
    flow.do("a")
    flow.do("b")
    flow.do("c")
    assert flow.state.is_whole
    assert not flow.state.frames


COND = {"target": "d", "on": "condition", "when": "output.n == 1"}


def test_outputs_of_all_branches_are_known_behind_the_join() -> None:
    nodes = ("a", {"id": "b", "outputs": ["x"]}, {"id": "c", "outputs": ["y"]}, {"id": "d", "join": "all"})
    flow = Flow(worker(*nodes, edges=["a b", "a c", "b d", "c d"]))
    flow.do("a")
    flow.do("c", y=2)
    flow.do("b", x=1)
    assert flow.state.buffer == {"x": 1, "y": 2}
    assert "The branches before this are done" in flow.at("d").messages[-1].text


def test_a_node_behind_branches_has_the_conversation_before_them() -> None:
    flow = fork()
    flow.says("a", text="what a said")
    flow.judge("a")
    flow.says("b", text="what b said")
    flow.judge("b")
    flow.do("c")
    told = [message.text for message in flow.at("d").messages]
    assert "what a said" in told
    assert "what b said" not in told


def test_a_failure_edge_is_followed_after_the_last_attempt_and_nothing_of_it_counts() -> None:
    flow = Flow(worker({"id": "a", "attempts": 2, "writes": ["x"]}, "b", "c", edges=["a b", "a c failure"]))
    flow.turn("a", call("set_output", key="x", value=1))
    flow.says("a", text="well")
    flow.judge("a", RETRY, "bad")
    flow.says("a", text="well")
    flow.judge("a", RETRY, "worse")
    assert (flow.nodes, flow.state.buffer, flow.state.failed) == (["c"], {}, (("a", 2, ("bad", "worse")),))
    assert "[Phase a has failed: worse.]" in flow.at("c").messages[-1].text


def test_an_edge_that_is_always_followed_is_followed_after_a_failure() -> None:
    flow = Flow(worker({"id": "a", "attempts": 1}, "b", "c", edges=["a b always", "a c failure"]))
    flow.fail("a")
    assert flow.nodes == ["b", "c"]


def test_a_condition_sees_what_its_node_set_and_what_was_known_before() -> None:
    edges = [
        {"source": "a", "target": "b", "on": "condition", "when": "output.n > output.least"},
        {"source": "a", "target": "c", "on": "condition", "when": "output.n <= output.least"},
    ]
    for number, node in ((5, "b"), (1, "c")):
        flow = Flow(worker({"id": "a", "outputs": ["n"]}, "b", "c", edges=edges), {"least": 3})
        flow.do("a", n=number)
        assert flow.nodes == [node]


def test_a_condition_that_can_not_be_put_to_its_data_is_a_persons_business() -> None:
    edge = {"source": "a", "target": "b", "on": "condition", "when": "output.n > 1"}
    flow = Flow(worker({"id": "a", "outputs": ["n"]}, "b", edges=[edge]))
    flow.do("a", n="many")
    assert flow.nodes == ["a"]
    assert "an edge from a can't be decided" in flow.one(e.AskPerson, "a").why
    flow.answer("a", ACCEPT, edit={"n": 2})
    flow.go_on()
    assert flow.nodes == ["b"]


def test_a_node_that_is_entered_too_often_ends_the_run() -> None:
    flow = Flow(worker({"id": "a", "visits": 2}, "b", edges=["a b", "b a"]))
    for _ in range(2):
        flow.do("a")
        flow.do("b")
    assert flow.ended[0] == "failed"
    assert "node a was entered 2 times" in flow.ended[1]
    assert flow.wants == ()


def test_a_model_chooses_among_edges_and_only_among_those() -> None:
    edges = [{"source": "a", "target": one, "on": "model", "description": f"to {one}"} for one in "bc"]
    flow = Flow(worker("a", "b", "c", edges=edges))
    flow.do("a")
    assert flow.one(e.Choose, "a").among == [("b", "to b"), ("c", "to c")]
    flow.give(e.Chose(flow.one(e.Choose, "a").id, "c"))
    assert flow.nodes == ["c"]

    flow = Flow(worker("a", "b", "c", edges=edges))
    flow.do("a")
    flow.give(e.Chose(flow.one(e.Choose, "a").id, "z"))
    assert "'z' was chosen, which is no edge from a" in flow.one(e.AskPerson, "a").why


def test_without_a_model_a_person_chooses_and_has_to_name_an_edge() -> None:
    edges = [{"source": "a", "target": one, "on": "model"} for one in "bc"]
    flow = Flow(worker("a", "b", "c", edges=edges), has_model=False)
    flow.do("a")
    assert flow.one(e.AskPerson, "a").title == "where to go on after a: b, c"
    flow.answer("a", ACCEPT)
    assert flow.nodes == ["a"]
    assert flow.one(e.AskPerson, "a").kind == "judgment"
    flow.answer("a", ACCEPT)
    flow.answer("a", ACCEPT, edit="b")
    assert flow.nodes == ["b"]


def test_a_person_who_rejects_instead_of_choosing_ends_the_run() -> None:
    edges = [{"source": "a", "target": one, "on": "model"} for one in "bc"]
    flow = Flow(worker("a", "b", "c", edges=edges), has_model=False)
    flow.do("a")
    flow.answer("a", ESCALATE, "b looks wrong")
    assert flow.ended == ("rejected", "ines: b looks wrong")
