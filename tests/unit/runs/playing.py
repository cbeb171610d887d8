"""A run played by hand: the test is the world, and says what comes of each effect."""

from typing import Any

from hive_mind.judge.judgment import Judgment, JudgmentAction
from hive_mind.model.dialogue import Reply, ToolCall
from hive_mind.runs import effects as e
from hive_mind.runs import steps as s
from hive_mind.runs.accepted import accepted, begun
from hive_mind.runs.effects import ToolResult, ToolTraits, WorkerPlan, wanted
from hive_mind.runs.fold import fold
from hive_mind.runs.graphs.spec import WorkerSpec, kept
from hive_mind.runs.state import RunState

YES, NO, AGAIN = JudgmentAction.ACCEPT, JudgmentAction.ESCALATE, JudgmentAction.RETRY


class Play:
    """`ms` is the time; each event takes none unless it is moved."""

    def __init__(
        self, worker: dict[str, Any], inputs: dict[str, Any] | None = None, *, model: bool = True, **traits: ToolTraits
    ) -> None:
        spec = WorkerSpec.model_validate(worker)
        self.plan, self.ms = WorkerPlan(traits, model), 1_000
        self.steps: list[s.Step] = []
        self.state = RunState()
        self._keep(begun(s.Started(kept(spec), inputs or {})))

    def _keep(self, steps: Any) -> None:
        for step in steps:
            self.state = fold(self.state, step, self.ms)
            self.steps.append(step)

    @property
    def wanted(self) -> tuple[e.Effect, ...]:
        """All that should be under way but for time limits."""
        return tuple(one for one in wanted(self.state, self.plan) if not isinstance(one, e.WakeIn))

    def one(self, kind: type) -> Any:
        """The one effect of a kind."""
        (found,) = [one for one in wanted(self.state, self.plan) if isinstance(one, kind) and not _is_time(one, kind)]
        return found

    def happens(self, event: e.Event) -> tuple[s.Step, ...]:
        """What it means, kept."""
        steps = accepted(self.state, self.plan, event)
        self._keep(steps)
        # What the agent remembers of a run that was accepted needs nobody.
        for one in [one for one in self.wanted if isinstance(one, e.Share) and not one.left]:
            self._keep(accepted(self.state, self.plan, e.Done(one.id)))
        return steps

    def proceeds(self) -> None:
        """Whatever follows of itself."""
        while found := [one for one in self.wanted if isinstance(one, e.Proceed)]:
            self.happens(e.Done(found[0].id))

    def says(self, text: str = "", **calls: Any) -> None:
        """The model of the one place that thinks."""
        made = tuple(
            ToolCall("x", name, one) for name, given in calls.items() for one in (given if isinstance(given, list) else [given])
        )
        self.happens(e.ModelSaid(self.one(e.CallModel).id, Reply(text, made, 10, 5)))

    def gives(self, text: str = "ok", **more: Any) -> None:
        """The first tool that is called."""
        self.proceeds()
        found = next(one for one in self.wanted if isinstance(one, e.CallTool))
        self.happens(e.ToolGave(found.id, ToolResult(text, more.pop("value", text), **more)))

    def sets(self, key: str, value: Any) -> None:
        """The model sets an output."""
        self.says(set_output={"key": key, "value": value})
        self.gives(f"{key} is set", outputs={key: value})

    def judged(self, action: JudgmentAction = YES, why: str = "so", **more: Any) -> None:
        """The judge of the one place, or of the whole."""
        self.proceeds()
        self.happens(e.JudgeSaid(self.one(e.AskJudge).id, Judgment(action=action, reasoning=why, **more)))

    def asked(self) -> e.AskPerson:
        """Somebody is asked; the item is there."""
        self.proceeds()
        effect: e.AskPerson = self.one(e.AskPerson)
        self.happens(e.ItemOpened(effect.id, f"item-{effect.id}"))
        return effect

    def decided(self, action: JudgmentAction = YES, because: str = "", edit: Any = None) -> None:
        """The first item that waits."""
        self.happens(s.Answered(next(iter(self.state.waiting)), action, "ines", because, edit))

    @property
    def at(self) -> list[str]:
        """The nodes where it is."""
        return sorted(place.node for place in self.state.places.values())


def _is_time(effect: e.Effect, kind: type) -> bool:
    return isinstance(effect, e.WakeIn) and kind is not e.WakeIn


def loop(id: str, **fields: Any) -> dict[str, Any]:
    """A node with one output of its name."""
    return {"id": id, "outputs": [id], **fields}


def worker(*nodes: dict[str, Any], edges: list[tuple[str, ...]] = [], **fields: Any) -> dict[str, Any]:  # noqa: B006
    """Edges are (source, target) or (source, target, on) or (source, target, "condition", when)."""
    drawn = [dict(zip(("source", "target", "on", "when"), one, strict=False)) for one in edges]
    return {"id": "w", "entry": nodes[0]["id"], "nodes": list(nodes), "edges": drawn, **fields}
