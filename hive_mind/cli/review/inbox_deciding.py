"""A person's decision on an item, or on all of one cause: checked, kept, and answered with whether it counts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from hive_mind.agents.desk import LedgerDesk
from hive_mind.cli.learning.files import STDIN, stdin_text
from hive_mind.cli.options import Format
from hive_mind.cli.output import short_id, show, show_json
from hive_mind.cli.review.inbox_desk import AtDesk, desk_of, item_called, person
from hive_mind.cli.review.inbox_shown import document_of, done, outcome
from hive_mind.cli.running import CommandError
from hive_mind.errors import InvalidInput
from hive_mind.judge.items import Decision, Item, ItemKind, ItemView, cause
from hive_mind.judge.judgment import JudgmentAction
from hive_mind.runtime.texts.document import Unreadable

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
            how = f'answer {id_} "TEXT"' if item.kind == "question" else f"approve {id_}"
            raise InvalidInput(f"{id_} is a {item.kind}, so this makes no sense for it; try: hive-mind inbox {how}")
        wrong = tuple(_cited(item, given) for given in self.wrong)
        return Decision(item=item.id, action=self.action, by=self.by, because=self.because, edit=self.edit, wrong=wrong)


async def decide(at: AtDesk, given: str, wish: Wish) -> None:
    """Decide, and show what came of it. Raises `CommandError` where somebody was first."""
    async with desk_of(at.home, at.agent) as desk:
        view = await item_called(desk, given)
        views = [view, *(await others_like(desk, view) if wish.is_for_all else ())]
        # All of them are looked at before the first is decided.
        decisions = [wish.decision_on(one.item) for one in views]
        counting = [await desk.decide(decision) for decision in decisions]
        after = [await desk.view(decision.item) or one for decision, one in zip(decisions, views, strict=True)]
    if at.output is Format.JSON:
        show_json([document_of(one) | {"counts": counts} for one, counts in zip(after, counting, strict=True)])
    else:
        for one, decision, counts in zip(after, decisions, counting, strict=True):
            if counts:
                show(f"{short_id(one.item.id)} is {outcome(one.item, decision)}: {one.item.title}")
    if late := [_first(one) for one, counts in zip(after, counting, strict=True) if not counts]:
        raise CommandError(f"{'; '.join(late)}. Your text is kept as a comment; to decide again: hive-mind inbox reopen ID")


async def others_like(desk: LedgerDesk, view: ItemView) -> list[ItemView]:
    """The other items that wait for the same cause."""
    alike = await desk.open(view.item.kind, view.item.agent)
    return [one for one in alike if one.item.id != view.item.id and cause(one.item) == cause(view.item)]


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
    found = [fact for fact in item.cites if fact.startswith(given.strip().lower())]
    if len(found) != 1 or not given.strip():
        cites = ", ".join(map(short_id, item.cites)) or "no facts"
        raise InvalidInput(f"--wrong {given}: {short_id(item.id)} relies on {cites}; give one of them")
    return found[0]
