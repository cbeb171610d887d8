"""Items: what waits for a person's decision, and what the entries of an item's stream mean.

An item is named after its kind, its subject and the case it shows, so whatever asks twice asks once. Of the decisions the first
counts until somebody opens the item again; the later ones are kept beside it. Nothing is accepted because nobody looked.

The texts of an item: named, cut so that they fit, the longest first, saying how much is left out and where it is.

An item travels to the person who decides; so it is bounded, and shows the beginning of everything rather than all of one thing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import msgspec
from msgspec import Struct

from hive_mind.errors import InvalidInput, WireError
from hive_mind.judge.judgment import JudgmentAction, Signal
from hive_mind.model.decoding import json_decoder
from hive_mind.model.entry import Entry

PREFIX = "item/"
"""of the streams of items, followed by an item's id"""
OPENED, DECIDED, COMMENTED, REOPENED = "opened", "decided", "commented", "reopened"
BY_EXPIRY = "expiry"
"""who decided where nobody did in time"""
BY_RUN = "its run"
"""who took it back: the run that asked needs no answer any more"""
NOBODY = frozenset({BY_EXPIRY, BY_RUN})
"""those that decide and are no people: nothing is learned from them"""

REPLY_HOURS = 72.0
"""A link by which an item is decided outlives a weekend."""

# More than a person looks through in a day; what else an agent would ask waits until there is room.
OPEN_MAX = 100
# A message to another agent carries 64 kB: an item with its signals, and room for the envelope.
ITEM_MAX_BYTES = 48_000

ItemKind = Literal["judgment", "fact", "audit", "tool", "question", "ticket", "rule"]

CONTEXT_MAX_BYTES = 16_000
# Few and short enough that each text keeps room for its beginning.
_TEXTS_MAX, _NAME_MAX_BYTES, _WHERE_MAX_BYTES = 20, 60, 100

Context = tuple[tuple[str, str], ...]
"""Names and texts, in the order they are shown."""


class Item(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something a person is to decide. `id` is `ids.item_id` of its kind, its subject and the digest of the case.

    `subject` is what it is about (a run and a node, a fact's id), `cites` the facts it relies on. Items of one kind, agent and
    non-empty `group` (the cause, such as a rule) are shown as one. `expires_ms` is 0 for never.
    """

    id: str
    kind: ItemKind
    agent: str
    subject: str
    title: str
    opened_ms: int
    context: Context = ()
    signals: tuple[Signal, ...] = ()
    cites: tuple[str, ...] = ()
    group: str = ""
    judged: str = ""
    """The judgement it is about: the decision is compared with that."""
    goal_kind: str = ""
    shows: tuple[str, ...] = ()
    """The texts of `context` that are outputs of a run: a decision is one about these."""
    expires_ms: int = 0
    on_expiry: Literal["wait", "reject", "retry"] = "wait"


class Decision(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A person's decision. ACCEPT approves, ESCALATE rejects; `edit` is the answer to a question, or the value to use instead.

    `by` is claimed. `wrong` names facts among the cited ones that are false.
    """

    item: str
    action: JudgmentAction
    by: str
    because: str = ""
    edit: Any = None
    wrong: tuple[str, ...] = ()


class Reopening(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Somebody wants it decided again."""

    by: str
    because: str = ""


@dataclass(frozen=True, slots=True)
class ItemView:
    """An item as it is now. `later` came after the decision that counts; `former` is what was said before it was reopened."""

    item: Item
    decision: Decision | None = None
    decided_ms: int = 0
    later: tuple[Decision, ...] = ()
    former: tuple[Decision | Reopening, ...] = ()

    @property
    def is_open(self) -> bool:
        return self.decision is None

    def knows(self, decision: Decision) -> bool:
        """Whether this was said already, since it was opened the last time."""
        return decision == self.decision or decision in self.later


def stream_of(item_id: str) -> str:
    return PREFIX + item_id


def check(item: Item) -> None:
    """Raises `InvalidInput` for an item that no person can be asked."""
    if (size := context_bytes(item.context)) > CONTEXT_MAX_BYTES:
        raise InvalidInput(f"item {item.title!r} has {size:,} bytes of context: show at most {CONTEXT_MAX_BYTES:,} (`fitted`)")
    if (size := len(_encoded(item))) > ITEM_MAX_BYTES:
        raise InvalidInput(f"item {item.title!r} has {size:,} bytes: at most {ITEM_MAX_BYTES:,}; shorten what its signals say")
    if item.on_expiry != "wait" and not item.expires_ms:
        raise InvalidInput(f"item {item.title!r} says what happens on expiry and never expires: give it a time, or let it wait")


def entry_of(value: Item | Decision | Reopening, at_ms: int, kind: str) -> Entry:
    """As it is kept. Raises `InvalidInput` for text that can't be."""
    return Entry(kind, _encoded(value), at_ms)


def folded(entries: Iterable[Entry]) -> ItemView | None:
    """The item of a stream; None for an empty one. Raises `WireError` for entries that no version up to this one writes."""
    view: ItemView | None = None
    for entry in entries:
        view = _after(view, entry)
    return view


def value_of(entry: Entry) -> Item | Decision | Reopening:
    """The content of an entry of an item's stream. Raises `WireError` for one that no version up to this one writes."""
    if (form := _FORMS.get(entry.kind)) is None:
        raise _unknown(entry)
    try:
        return json_decoder(form)(entry.body)
    except msgspec.MsgspecError as error:
        problem = f"entry {entry.seq} of {entry.stream} is no {form.__name__.lower()} ({error}); upgrade hive-mind"
        raise WireError(problem) from error


def expired(view: ItemView, now_ms: int) -> Decision | None:
    """The decision that nobody's deciding is, once the time is over; None while it waits. Never to accept."""
    item = view.item
    if not view.is_open or not 0 < item.expires_ms <= now_ms or item.on_expiry == "wait":
        return None
    action = JudgmentAction.RETRY if item.on_expiry == "retry" else JudgmentAction.ESCALATE
    return Decision(item=item.id, action=action, by=BY_EXPIRY, because="nobody decided in time")


def cause(item: Item) -> tuple[str, ...]:
    """The same for items that are one line; of an item without a group, its own."""
    return (item.kind, item.agent, item.group) if item.group else (item.id,)


def grouped(views: Iterable[ItemView]) -> list[list[ItemView]]:
    """Those of one cause together, which are one line for a person; always the one that waits longest first."""
    lines: dict[tuple[str, ...], list[ItemView]] = {}
    for view in sorted(views, key=lambda view: (view.item.opened_ms, view.item.id)):
        lines.setdefault(cause(view.item), []).append(view)
    return list(lines.values())


def _after(view: ItemView | None, entry: Entry) -> ItemView:
    match view, entry.kind, value_of(entry):
        case None, "opened", Item() as item:
            return ItemView(item)
        case ItemView(decision=None), "decided", Decision() as decision:
            return replace(view, decision=decision, decided_ms=entry.at_ms)
        case ItemView(decision=Decision()), "commented", Decision() as comment:
            return replace(view, later=(*view.later, comment))
        case ItemView(decision=Decision() as decision), "reopened", Reopening() as reopening:
            return ItemView(view.item, former=(*view.former, decision, *view.later, reopening))
    raise _unknown(entry)


def _encoded(value: Item | Decision | Reopening) -> bytes:
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        raise InvalidInput("the text contains an unpaired surrogate: give it as UTF-8") from None


_FORMS: Mapping[str, type[Item | Decision | Reopening]] = {
    OPENED: Item,
    DECIDED: Decision,
    COMMENTED: Decision,
    REOPENED: Reopening,
}


def _unknown(entry: Entry) -> WireError:
    return WireError(f"entry {entry.seq} of {entry.stream} ({entry.kind!r}) is of a newer version; upgrade hive-mind")


def context_bytes(context: Context) -> int:
    """Its size in UTF-8."""
    return sum(len(part.encode(errors="replace")) for pair in context for part in pair)


def fitted(context: Iterable[tuple[str, str]], where: str = "") -> Context:
    """At most `CONTEXT_MAX_BYTES` of it. `where` says where the rest is: a file, a command."""
    pairs = [
        (_begun(name.encode(errors="replace"), _NAME_MAX_BYTES), text.encode(errors="replace").decode()) for name, text in context
    ]
    pairs, left_out = pairs[:_TEXTS_MAX], len(pairs[_TEXTS_MAX:])
    where = f": {_begun(where.encode(errors='replace'), _WHERE_MAX_BYTES)}" if where else ""
    if left_out:
        pairs.append(("…", f"{left_out:,} more texts{where}"))
    room = CONTEXT_MAX_BYTES - sum(len(name.encode()) for name, _ in pairs)
    most = _allowance([len(text.encode()) for _, text in pairs], room)
    return tuple((name, _cut(text, most, where)) for name, text in pairs)


def _allowance(sizes: list[int], room: int) -> int:
    """The largest size to which all can be cut so that together they fit."""
    for number, size in enumerate(sorted(sizes)):
        share = room // (len(sizes) - number)
        if size > share:
            return share
        room -= size
    return max(sizes, default=0)


def _cut(text: str, most: int, where: str) -> str:
    body = text.encode()
    if len(body) <= most:
        return text
    # The number in the final note has at most as many digits as this one.
    note = f"… [{len(body):,} more bytes{where}]".encode()
    beginning = _begun(body, most - len(note))
    return f"{beginning}… [{len(body) - len(beginning.encode()):,} more bytes{where}]"


def _begun(body: bytes, size: int) -> str:
    """The beginning, cut between two characters."""
    return body[:size].decode(errors="ignore")
