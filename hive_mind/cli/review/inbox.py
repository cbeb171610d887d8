"""`hive-mind inbox`: what agents want a person to decide. The first decision counts, by any person; later ones are comments.

A decision is on an item, or on all of one cause: checked, kept, and answered with whether it counts.

How `hive-mind inbox` shows what waits: a line for each cause, an item with all that speaks for and against it.
"""

from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from hive_mind.cli import options
from hive_mind.cli.fleet import ago
from hive_mind.cli.learning import STDIN, stdin_text
from hive_mind.cli.options import Format, Group, examples
from hive_mind.cli.output import plain, say, say_cut, short_id, show, show_indented, show_json, show_result, show_table
from hive_mind.cli.review import AtDesk, desk_of, item_called, person, silences_at
from hive_mind.cli.running import CommandError
from hive_mind.counted import counted
from hive_mind.errors import DatabaseUnreadable, InvalidInput, WireError
from hive_mind.judge.items import BY_RUN, NOBODY, Decision, Item, ItemKind, ItemView, Reopening, cause, grouped
from hive_mind.judge.judgment import JudgmentAction, Signal
from hive_mind.runtime.texts import Unreadable

if TYPE_CHECKING:
    from hive_mind.agents.desk import LedgerDesk

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
    words_said = [
        *(_former(view.item, earlier) for earlier in view.former),
        *(f"{done(view.item, decision)} – later, a comment" for decision in view.later),
    ]
    if words_said:
        show("\nAlso said", style="bold")
        show_indented("\n".join(words_said))
    if view.is_open:
        say(f"decide with: hive-mind inbox {'answer' if item.kind == 'question' else 'approve'} {short_id(item.id)}", style="dim")


def _decided(view: ItemView) -> str:
    return done(view.item, view.decision) if view.decision else "open"


def document_of(view: ItemView) -> dict[str, Any]:
    fields: dict[str, Any] = plain(view)
    return fields | {"is_open": view.is_open}


def _row(line: Sequence[ItemView]) -> tuple[str, ...]:
    item, further = line[0].item, len(line) - 1
    title = f"{item.title} ({further:,} more like it)" if further else item.title
    return short_id(item.id), item.kind, item.agent, ago(item.opened_ms), title


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
        ("decided", _decided(view) + (f", {ago(view.decided_ms)} ago" if view.decision else "")),
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


def _former(item: Item, earlier: Decision | Reopening) -> str:
    if isinstance(earlier, Decision):
        return f"{done(item, earlier)} – before it was opened again"
    return f"opened again by {earlier.by}" + (f" ({earlier.because})" if earlier.because else "")


QUESTIONS: Sequence[ItemKind] = ("question",)
WITH_VALUE: Sequence[ItemKind] = ("judgment", "fact", "tool", "rule")
ALL_BUT_QUESTIONS: Sequence[ItemKind] = (*WITH_VALUE, "audit", "ticket")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """A decision that somebody wants on an item. `kinds`: those it makes sense for; empty: all."""

    action: JudgmentAction
    by: str
    because: str = ""
    edit: Any = None
    wrong: Sequence[str] = ()
    is_for_all: bool = False
    kinds: Sequence[ItemKind] = ()

    def decision_on(self, item: Item) -> Decision:
        """The decision it is. Raises `InvalidInput`."""
        if self.kinds and item.kind not in self.kinds:
            id_ = short_id(item.id)
            remedy = f'answer {id_} "TEXT"' if item.kind == "question" else f"approve {id_}"
            raise InvalidInput(f"{id_} is a {item.kind}, so this makes no sense for it; try: hive-mind inbox {remedy}")
        wrong = tuple(_cited(item, cited) for cited in self.wrong)
        return Decision(item=item.id, action=self.action, by=self.by, because=self.because, edit=self.edit, wrong=wrong)


async def decide(at: AtDesk, given: str, wish: Wish) -> None:
    """Decide, and show what came of it. Raises `CommandError` where somebody was first."""
    async with desk_of(at.home, at.agent) as desk:
        view = await item_called(desk, given)
        views = [view, *(await others_like(desk, view) if wish.is_for_all else ())]
        # All of them are looked at before the first is decided.
        decisions = [wish.decision_on(view.item) for view in views]
        counting = [await desk.decide(decision) for decision in decisions]
        after = [await desk.view(decision.item) or view for decision, view in zip(decisions, views, strict=True)]
    if at.output is Format.JSON:
        show_json([document_of(view) | {"counts": counts} for view, counts in zip(after, counting, strict=True)])
    else:
        for one, decision, counts in zip(after, decisions, counting, strict=True):
            if counts:
                show(f"{short_id(one.item.id)} is {outcome(one.item, decision)}: {one.item.title}")
    if late := [_first(view) for view, counts in zip(after, counting, strict=True) if not counts]:
        raise CommandError(f"{'; '.join(late)}. Your text is kept as a comment; to decide again: hive-mind inbox reopen ID")


async def others_like(desk: "LedgerDesk", view: ItemView) -> list[ItemView]:
    """The other items that wait for the same cause."""
    alike = await desk.open(view.item.kind, view.item.agent)
    return [item_view for item_view in alike if item_view.item.id != view.item.id and cause(item_view.item) == cause(view.item)]


def value_of(given: str, *, is_json: bool = False) -> Any:
    """The value on the line or, for -, on standard input. Raises `InvalidInput`. Not for a coroutine."""
    text = stdin_text() if given == STDIN else given
    if isinstance(text, Unreadable):
        raise InvalidInput(f"standard input {text.reason}")
    if not is_json:
        if not text.strip():
            raise InvalidInput("there is no text: give it, or - to read it from standard input")
        return text.strip()
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise InvalidInput(f"--json: this is no JSON ({error}); without --json it is taken as text") from error


def wish_of(action: JudgmentAction, name: str, **more: Any) -> Wish:
    """A wish of the person of this name, or of the one who is logged in."""
    return Wish(action=action, by=person(name), **more)


def _first(view: ItemView) -> str:
    assert view.decision is not None  # noqa: S101 - somebody was first
    return f"{short_id(view.item.id)} was {done(view.item, view.decision)} already"


def _cited(item: Item, given: str) -> str:
    facts = [fact for fact in item.cites if fact.startswith(given.strip().lower())]
    if len(facts) != 1 or not given.strip():
        cites = ", ".join(map(short_id, item.cites)) or "no facts"
        raise InvalidInput(f"--wrong {given}: {short_id(item.id)} relies on {cites}; give one of them")
    return facts[0]


ItemId = Annotated[str, typer.Argument(metavar="ID", help="An item's id, or its first characters (6 or more).")]
Because = Annotated[str, typer.Option("--because", help="Why; kept with the decision.")]
As = Annotated[str, typer.Option("--as", metavar="NAME", help="The name to decide under.", show_default="your login")]
Alike = Annotated[bool, typer.Option("--all", help="Decide all that wait for the same cause.")]

group = Group(
    name="inbox",
    help="See what agents ask people, and decide.",
    no_args_is_help=True,
    epilog=examples("hive-mind inbox list", 'hive-mind inbox reject 4f1a2b3c --because "seal was replaced"'),
)


@group.called_as("hive-mind inbox list", "hive-mind inbox list --all -n 50", name="list")
async def list_items(
    every: Annotated[
        bool, typer.Option("--all", help="Also decided items, each on a line, the most recently changed first.")
    ] = False,
    limit: options.Limit = 20,
    *,
    at: AtDesk,
) -> None:
    """List what waits for a decision.

    The one that waits longest comes first; items of one cause share a line.
    """
    async with desk_of(at.home, at.agent) as desk:
        views = await _latest(desk, at.agent, limit + 1) if every else await desk.open(agent=at.agent)
        silences = await silences_at(desk, at)
    count, noun = len(views), "item"
    if at.output is Format.JSON:
        show_json([document_of(view) for view in views[:limit]])
    elif not views:
        show("Nothing was ever asked here." if every else "Nothing waits for you.")
    elif every:
        rows = [(*_row([view])[:-1], _decided(view), view.item.title) for view in views[:limit]]
        show_table(["id", "kind", "agent", "asked", "decided", "what"], rows)
    else:
        lines = grouped(views)
        count, noun = len(lines), "line"
        show_table(["id", "kind", "agent", "asked", "what"], [_row(line) for line in lines[:limit]])
    if count > limit:
        say_cut(limit, noun, 0 if every else count)
    for agent, since_ms in silences:
        say(f"agent {agent} has not answered for {ago(since_ms)}: what it asks lies here when it does", style="yellow")


@group.called_as("hive-mind inbox show 4f1a2b3c", name="show")
async def show_one(id_: ItemId, at: AtDesk) -> None:
    """Show an item: what it is about, what each signal says, what was decided."""
    async with desk_of(at.home, at.agent) as desk:
        view = await item_called(desk, id_)
        alike = len(await others_like(desk, view))
    show_result(at.output, document_of(view), lambda: show_item(view, alike))


@group.called_as("hive-mind inbox approve 4f1a2b3c", "hive-mind inbox approve 4f1a2b3c --all --as on-call")
async def approve(id_: ItemId, because: Because = "", alike: Alike = False, name: As = "", *, at: AtDesk) -> None:
    """Let it pass as it is."""
    wish = wish_of(JudgmentAction.ACCEPT, name, because=because, is_for_all=alike, kinds=ALL_BUT_QUESTIONS)
    await decide(at, id_, wish)


@group.called_as('hive-mind inbox reject 4f1a2b3c --because "seal was replaced" --wrong 9c0d1e2f')
async def reject(
    id_: ItemId,
    because: Because = "",
    wrong: Annotated[list[str] | None, typer.Option("--wrong", metavar="FACT", help="A fact it relies on that is false.")] = None,
    alike: Alike = False,
    name: As = "",
    *,
    at: AtDesk,
) -> None:
    """Do not let it pass."""
    wish = wish_of(JudgmentAction.ESCALATE, name, because=because, is_for_all=alike, wrong=wrong or ())
    await decide(at, id_, wish)


@group.called_as('hive-mind inbox answer 4f1a2b3c "Since 2019."', "hive-mind inbox answer 4f1a2b3c - < answer.txt")
def answer(
    id_: ItemId,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The answer; - reads standard input.")],
    because: Because = "",
    name: As = "",
    *,
    at: AtDesk,
) -> Coroutine[Any, Any, None]:
    """Answer a question."""
    wish = wish_of(JudgmentAction.ACCEPT, name, because=because, edit=value_of(text), kinds=QUESTIONS)
    return decide(at, id_, wish)


@group.called_as('hive-mind inbox edit 4f1a2b3c "It leaves at ten."', "hive-mind inbox edit 4f1a2b3c - --json < value.json")
def edit(
    id_: ItemId,
    value: Annotated[str, typer.Argument(metavar="VALUE", help="The value to use instead; - reads standard input.")],
    is_json: Annotated[bool, typer.Option("--json", help="VALUE is JSON, not text.")] = False,
    because: Because = "",
    name: As = "",
    *,
    at: AtDesk,
) -> Coroutine[Any, Any, None]:
    """Let it pass with another value."""
    instead = value_of(value, is_json=is_json)
    wish = wish_of(JudgmentAction.ACCEPT, name, because=because, edit=instead, kinds=WITH_VALUE)
    return decide(at, id_, wish)


@group.called_as('hive-mind inbox reopen 4f1a2b3c --because "there is a new report"')
async def reopen(id_: ItemId, because: Because = "", name: As = "", *, at: AtDesk) -> None:
    """Let it be decided again.

    Effects of the first decision are not undone: a run that has gone on or ended since is not asked again.
    """
    async with desk_of(at.home, at.agent) as desk:
        view = await item_called(desk, id_)
        is_new = await desk.reopen(view.item.id, person(name), because)
        view = await desk.view(view.item.id) or view
    sentence = f"{short_id(view.item.id)} {'waits again' if is_new else 'is open already'}: {view.item.title}"
    show_result(at.output, document_of(view), sentence)
    if is_new and view.item.kind not in ("fact", "rule"):
        say("its first decision stays in effect: a run that went on or ended since is not asked again", style="dim")


async def _latest(desk: "LedgerDesk", agent: str, limit: int) -> list[ItemView]:
    views: list[ItemView] = []
    for item_id in await desk.ids():
        if len(views) == limit:
            break
        try:
            view = await desk.view(item_id)
        except (DatabaseUnreadable, WireError) as error:
            say(f"left out: {error}", style="yellow")
        else:
            views += [view] if view and agent in ("", view.item.agent) else []
    return views
