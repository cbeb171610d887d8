"""How `hive-mind inbox` shows what waits: a line for each cause, an item with all that speaks for and against it."""

from collections.abc import Sequence
from typing import Any

import msgspec

from hive_mind.cli.fleet.shown.sizes import ago
from hive_mind.cli.output import plain, say, short_id, show, show_indented, show_table
from hive_mind.counted import counted
from hive_mind.judge.items import BY_RUN, NOBODY, Decision, Item, ItemView, Line, Reopening
from hive_mind.judge.judgment import JudgmentAction, Signal

_DONE = {
    JudgmentAction.ACCEPT: "approved",
    JudgmentAction.ESCALATE: "rejected",
    JudgmentAction.RETRY: "sent back to be tried again",
    JudgmentAction.REPLAN: "sent back to be planned anew",
}


def outcome(item: Item, decision: Decision) -> str:
    if decision.by == BY_RUN:
        return "withdrawn"
    if decision.edit is None:
        return _DONE[decision.action]
    return "answered" if item.kind == "question" else "changed and approved"


def done(item: Item, decision: Decision) -> str:
    by = "" if decision.by in NOBODY else f" by {decision.by}"
    return f"{outcome(item, decision)}{by}" + (f" ({decision.because})" if decision.because else "")


def show_lines(lines: Sequence[Line]) -> None:
    """Show the waiting items, a line for each cause."""
    show_table(["id", "kind", "agent", "asked", "what"], [_row(line) for line in lines])


def show_views(views: Sequence[ItemView]) -> None:
    """Items one by one, decided or not."""
    rows = [
        (*_row(Line((view,)))[:-1], done(view.item, view.decision) if view.decision else "open", view.item.title)
        for view in views
    ]
    show_table(["id", "kind", "agent", "asked", "decided", "what"], rows)


def show_item(view: ItemView, alike: int) -> None:
    """All about one item. `alike` is how many more wait on its line."""
    item = view.item
    show(item.title, style="bold")
    show_table(["", ""], [(name, value) for name, value in _details(view, alike) if value])
    for name, text in item.context:
        show(f"\n{name}", style="bold")
        show_indented(text)
    if item.signals:
        show("\nSignals", style="bold")
        show_table(["from", "says", "sure", "why"], [_signal(signal) for signal in item.signals])
    said = [
        *(_former(view.item, one) for one in view.former),
        *(f"{done(view.item, decision)} – later, a comment" for decision in view.later),
    ]
    if said:
        show("\nAlso said", style="bold")
        show_indented("\n".join(said))
    if view.is_open:
        say(f"decide with: hive-mind inbox {'answer' if item.kind == 'question' else 'approve'} {short_id(item.id)}", style="dim")


def document_of(view: ItemView) -> dict[str, Any]:
    fields: dict[str, Any] = plain(view)
    return fields | {"is_open": view.is_open}


def _row(line: Line) -> tuple[str, ...]:
    item, more = line.item, len(line.views) - 1
    what = f"{item.title} ({more:,} more like it)" if more else item.title
    return short_id(item.id), item.kind, item.agent, ago(item.opened_ms), what


def _details(view: ItemView, alike: int) -> list[tuple[str, str]]:
    item = view.item
    return [
        ("id", item.id),
        ("kind", item.kind),
        ("agent", item.agent),
        ("about", item.subject),
        ("asked", f"{ago(item.opened_ms)} ago"),
        ("cause", f"{item.group}; {counted(alike, 'more item')} of it: --all decides them together" if alike else item.group),
        ("relies on", ", ".join(item.cites)),
        ("decided", f"{done(view.item, view.decision)}, {ago(view.decided_ms)} ago" if view.decision else "open"),
        ("instead", _edit(view.decision)),
        ("wrong", ", ".join(view.decision.wrong) if view.decision else ""),
    ]


def _edit(decision: Decision | None) -> str:
    if decision is None or decision.edit is None:
        return ""
    return decision.edit if isinstance(decision.edit, str) else msgspec.json.encode(decision.edit).decode()


def _signal(signal: Signal) -> tuple[str, ...]:
    says = signal.action.value if signal.action else ""
    sure = "" if signal.confidence is None else f"{signal.confidence:.2f}"
    return signal.name, says if signal.state == "given" else signal.state, sure, signal.reasoning


def _former(item: Item, one: Decision | Reopening) -> str:
    if isinstance(one, Decision):
        return f"{done(item, one)} – before it was opened again"
    return f"opened again by {one.by}" + (f" ({one.because})" if one.because else "")
