"""A run that is driven by hand: its effects are answered one by one, with no model, no ledger and no clock but its own."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from hive_mind.judge.judgment import Judgment, JudgmentAction
from hive_mind.model.content import Reply, ToolCall
from hive_mind.model.entry import Entry
from hive_mind.runs import effects as e
from hive_mind.runs.accepted import accepted, begun
from hive_mind.runs.effects import wanted
from hive_mind.runs.fold import fold
from hive_mind.runs.spec import WorkerSpec, kept
from hive_mind.runs.state import ActiveNode, RunState
from hive_mind.runs.steps import Answered, Started, Step, entry_of, step_of

ACCEPT, RETRY = JudgmentAction.ACCEPT, JudgmentAction.RETRY
REPLAN, ESCALATE = JudgmentAction.REPLAN, JudgmentAction.ESCALATE
E = TypeVar("E")


def worker(*nodes: str | dict[str, Any], edges: Sequence[Any] = (), **fields: Any) -> WorkerSpec:
    """Nodes by name or in full, the first is the entry. An edge is "a b" or "a b failure", such a tuple, or a mapping."""
    given = [{"id": one} if isinstance(one, str) else one for one in nodes]
    told = [_edge(one) for one in edges]
    return WorkerSpec.model_validate({"id": "w", "entry": given[0]["id"], "nodes": given, "edges": told, **fields})


def _edge(one: Any) -> dict[str, Any]:
    names = one.split() if isinstance(one, str) else one
    return one if isinstance(one, dict) else dict(zip(("source", "target", "on", "when"), names, strict=False))


def loop(id: str, **fields: Any) -> dict[str, Any]:
    """A node with one output of its name."""
    return {"id": id, "outputs": [id], **fields}


def call(name: str, /, **arguments: Any) -> ToolCall:
    return ToolCall("x", name, arguments)


class Flow:
    """`steps` are all that were kept; every state is what they come to when they are read again."""

    def __init__(
        self,
        spec: WorkerSpec,
        inputs: Mapping[str, Any] | None = None,
        traits: Mapping[str, e.ToolTraits] | None = None,
        *,
        has_model: bool = True,
    ) -> None:
        self.plan = e.WorkerPlan(traits or {}, has_model)
        self.state, self.entries, self.now_ms, self.items = RunState(), list[Entry](), 1_000, 0
        self.keep(begun(Started(kept(spec), dict(inputs or {}))))

    @property
    def steps(self) -> list[Step]:
        return [step_of(entry) for entry in self.entries]

    def keep(self, steps: Sequence[Step], after_ms: int = 0) -> None:
        self.now_ms += after_ms
        for step in steps:
            entry = entry_of(step, self.now_ms)
            self.entries.append(entry)
            self.state = fold(self.state, step_of(entry), self.now_ms)

    def give(self, event: e.Event, after_ms: int = 0) -> tuple[Step, ...]:
        steps = accepted(self.state, self.plan, event)
        self.keep(steps, after_ms)
        # What the agent remembers of a run that was accepted needs nobody.
        for one in [one for one in self.wants if isinstance(one, e.Share) and not one.left]:
            self.keep(accepted(self.state, self.plan, e.Done(one.id)))
        return steps

    @property
    def wants(self) -> tuple[e.Effect, ...]:
        return wanted(self.state, self.plan)

    def all(self, kind: type[E], node: str = "") -> list[E]:
        ids = {place.id for place in self.state.places.values() if node in ("", place.node)} | ({""} if not node else set())
        return [one for one in self.wants if isinstance(one, kind) and one.place in ids]

    def one(self, kind: type[E], node: str = "") -> E:
        found = self.all(kind, node)
        assert len(found) == 1, f"{kind.__name__} of {node!r}: {self.wants}"
        return found[0]

    def at(self, node: str) -> ActiveNode:
        (place,) = [place for place in self.state.places.values() if place.node == node]
        return place

    @property
    def nodes(self) -> list[str]:
        """Where the run is."""
        return sorted(place.node for place in self.state.places.values())

    def says(self, node: str, *calls: ToolCall, text: str = "", tokens: int = 0, usd: float = 0, after_ms: int = 0) -> None:
        """A model's turn."""
        self.give(e.ModelSaid(self.one(e.CallModel, node).id, Reply(text, calls, tokens, 0), usd), after_ms)

    def gives(self, node: str, *results: e.ToolResult, after_ms: int = 0) -> None:
        """What its calls gave, in the order of the calls."""
        for id, result in zip([one.id for one in self.all(e.CallTool, node)], results, strict=True):
            self.give(e.ToolGave(id, result), after_ms)

    def turn(self, node: str, *calls: ToolCall, results: Sequence[str] = ()) -> None:
        """A turn with calls and what they gave."""
        self.says(node, *calls)
        self.gives(node, *(e.ToolResult(text) for text in results or ["ok"] * len(calls)))

    def sets(self, node: str, **outputs: Any) -> None:
        """The model sets all its outputs in one turn."""
        self.says(node, *(call("set_output", key=key, value=value) for key, value in outputs.items()))
        self.gives(node, *(e.ToolResult("is set", outputs={key: value}) for key, value in outputs.items()))

    def judge(
        self, node: str = "", action: JudgmentAction = ACCEPT, reasoning: str = "so", feedback: str = "", cause: Any = "custom"
    ) -> None:
        said = Judgment(action=action, reasoning=reasoning, feedback=feedback, cause=cause)
        self.give(e.JudgeSaid(self.one(e.AskJudge, node).id, said))

    def do(self, node: str, **outputs: Any) -> None:
        """All of a node: its outputs are set, and accepted."""
        if outputs:
            self.sets(node, **outputs)
        else:
            self.says(node, text="done")
        self.judge(node)

    def fail(self, node: str) -> None:
        """All its attempts are judged to be bad."""
        for _ in range(self.state.spec.by_id[node].attempts):
            self.says(node, text="well")
            self.judge(node, RETRY, f"{node} is bad")

    def whole(self, action: JudgmentAction = ACCEPT, reasoning: str = "so", feedback: str = "") -> None:
        (asked,) = [one for one in self.all(e.AskJudge) if not one.place]
        self.give(e.JudgeSaid(asked.id, Judgment(action=action, reasoning=reasoning, feedback=feedback)))

    def ask(self, node: str = "") -> str:
        """The item that is wanted is laid down."""
        found = [one for one in self.all(e.AskPerson, node) if node or not one.place]
        assert len(found) == 1, self.wants
        self.items += 1
        self.give(e.ItemOpened(found[0].id, f"i{self.items}"))
        return f"i{self.items}"

    def decide(
        self, item: str, action: JudgmentAction = ACCEPT, because: str = "", edit: Any = None, after_ms: int = 0
    ) -> tuple[Step, ...]:
        return self.give(Answered(item, action, "ines", because, edit), after_ms)

    def answer(self, node: str, action: JudgmentAction = ACCEPT, because: str = "", edit: Any = None) -> None:
        """A person is asked, and decides."""
        self.decide(self.ask(node), action, because, edit)

    def go_on(self) -> None:
        """Whatever follows of itself."""
        for _ in range(20):
            found = self.all(e.Proceed)
            if not found:
                return
            self.give(e.Done(found[0].id))
        raise AssertionError("it never ends")

    @property
    def ended(self) -> tuple[str | None, str]:
        return self.state.outcome, self.state.reason
