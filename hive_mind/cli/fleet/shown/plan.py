"""How a plan looks: what is done to what and why, field by field, and what each step does to memory."""

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from hive_mind.cli.fleet.fleets import FleetFormat, show_as
from hive_mind.cli.output import printable, show, show_indented
from hive_mind.counted import counted

if TYPE_CHECKING:
    from hive_mind.control.planning.plan import Action, Plan, Whole
    from hive_mind.hive.topology.holdings import Holding


class _Look(NamedTuple):
    """How a kind of step is marked, and in which colour on a terminal."""

    mark: str
    style: str


_LOOKS = {
    "create": _Look("+", "green"),
    "update": _Look("~", "yellow"),
    "restart": _Look("~", "yellow"),
    "learn": _Look("~", "green"),
    "move": _Look(">", "magenta"),
    "replace": _Look("±", "magenta"),
    "delete": _Look("-", "red"),
}
_OTHER = _Look("*", "")
_VALUE_CHARACTERS = 60
_NAMED_MAX = 8


def show_plan(plan: "Plan", fleet: str, output: FleetFormat) -> None:
    """The plan, in the form that was asked for."""
    names = [f"{action.kind}/{action.subject}" for action in plan.actions]
    show_as(output, plan.to_json(), names, lambda: _show(plan, fleet))


def _show(plan: "Plan", fleet: str) -> None:
    actions = plan.actions
    if not actions:
        show(f"fleet {fleet}: nothing to do, it is as the manifest says")
        _show_holdings(plan)
        return
    # Commands that plan nothing start sooner without it.
    from hive_mind.control.planning.plan import summary

    if (summary_of_agents := plan.whole) is None:
        show(f"fleet {fleet}: {summary(actions)}", style="bold")
    else:
        show(f"fleet {fleet}: {_agents(summary_of_agents)}", style="bold")
        show(f"processes: {summary(actions)}")
    # Steps alike for a hundred agents take one paragraph.
    for _, alike in groupby(actions, key=lambda action: replace(action, subject="")):
        _show_alike(list(alike))
    _show_holdings(plan)


def _show_holdings(plan: "Plan") -> None:
    """A line for all that keep as much as each other; none where each keeps the same and no death loses anything."""
    if len({holding.partitions for holding in plan.holdings}) < 2 and not any(holding.last for holding in plan.holdings):
        return
    for _, alike in groupby(sorted(plan.holdings, key=_kept), key=_kept):
        members = list(alike)
        show_indented(f"{_listed([member.node for member in members])}: {_holding(members[0])}", "dim", "  =")


def _kept(holding: "Holding") -> tuple[int, int, int]:
    return -holding.partitions, holding.last, holding.copies


def _holding(holding: "Holding") -> str:
    if not holding.partitions:
        return "no partition: a spare, which takes the place of a member that leaves; its death costs nothing"
    sentence = f"{counted(holding.partitions, 'partition')} each; the death of one"
    if holding.last:
        return f"{sentence} loses {holding.last} for good: nobody else has a copy"
    return f"{sentence} loses none: {counted(holding.copies, 'copy', 'copies')} of each are left"


def _agents(change: "Whole") -> str:
    """The agents in the fleet then, and the change of its topology: a person thinks of these before processes."""
    parts = [counted(change.agents, "agent")]
    parts += [f"new: {_listed(change.joining)}"] if change.joining else []
    parts += [f"no longer there: {_listed(change.leaving)}"] if change.leaving else []
    before, after = change.topologies
    parts += [f"topology {before} → {after}"] if before != after else []
    return "; ".join(parts) if len(parts) > 1 else f"{parts[0]}, the same as before"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_NAMED_MAX]) + (f" and {len(names) - _NAMED_MAX} more" if len(names) > _NAMED_MAX else "")


def _show_alike(alike: Sequence["Action"]) -> None:
    """Steps that differ in their agents, and in nothing else."""
    action, subjects = alike[0], ", ".join(step.subject for step in alike)
    look = _LOOKS.get(action.kind, _OTHER)
    why = _why(action)
    show_indented(f"{action.kind} {subjects}" + (f": {why}" if why else ""), look.style, f"  {look.mark}")
    for change in action.changes:
        show_indented(f"{change.path}: {_value(change.old)} → {_value(change.new)}", lead="    ")
    if action.memory:
        show_indented(f"memory: {action.memory}", "red" if action.loses else "dim")
    if action.loses:
        show_indented("this loses facts, and is done with --allow-data-loss only", "bold red")


def _why(action: "Action") -> str:
    """Why, without what only lists fields: the lines below tell them all."""
    reason, _, listed = action.why.partition(": ")
    is_list = any(change.path in listed for change in action.changes)
    return reason.removeprefix("other settings") if is_list else action.why


def _value(value: object) -> str:
    """A value in few characters; nothing is shown as such."""
    if value is None or value == "":
        return "(none)"
    text = printable(value if isinstance(value, str) else _spelled(value)).replace("\n", "⏎")
    return text if len(text) <= _VALUE_CHARACTERS else text[: _VALUE_CHARACTERS - 1] + "…"


def _spelled(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple | set | frozenset):
        return ", ".join(map(_spelled, value)) or "(none)"
    if isinstance(value, dict):
        return "; ".join(f"{key}: {_spelled(part)}" for key, part in value.items()) or "(none)"
    return str(value)
