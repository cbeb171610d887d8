"""What the entries of an item mean, when it expires, and what it shows."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.errors import InvalidInput, WireError
from hive_mind.judge.items import (
    BY_EXPIRY,
    COMMENTED,
    CONTEXT_MAX_BYTES,
    DECIDED,
    ITEM_MAX_BYTES,
    OPENED,
    REOPENED,
    Decision,
    Item,
    ItemView,
    Reopening,
    check,
    context_bytes,
    entry_of,
    expired,
    fitted,
    folded,
    grouped,
)
from hive_mind.judge.judgment import JudgmentAction, Signal
from hive_mind.model.entry import Entry
from hive_mind.model.ids import item_id


def item(name: str = "a", **fields: Any) -> Item:
    values = {"id": item_id("fact", name, ""), "kind": "fact", "agent": "ines", "subject": name, "title": f"Is {name} true?"}
    return Item(**{**values, "opened_ms": 1_000, **fields})


def said(by: str, action: JudgmentAction = JudgmentAction.ACCEPT, **fields: Any) -> Decision:
    return Decision(item=item().id, action=action, by=by, **fields)


def stream(*values: tuple[str, Item | Decision | Reopening]) -> list[Entry]:
    return [entry_of(value, 2_000 + seq, kind) for seq, (kind, value) in enumerate(values)]


def view_of(entries: Sequence[Entry]) -> ItemView:
    view = folded(entries)
    assert view is not None
    return view


def test_an_item_is_named_after_its_kind_its_subject_and_its_case():
    assert item_id("fact", "a", "b") == item_id("fact", "a", "b")
    assert len({item_id("fact", "a", "b"), item_id("audit", "a", "b"), item_id("fact", "ab", ""), item_id("fact", "a", "c")}) == 4


def test_nothing_was_asked_where_there_is_no_entry():
    assert folded([]) is None


def test_an_item_waits_until_somebody_decides():
    waiting = stream((OPENED, item()))
    decided = [*waiting, *stream((DECIDED, said("ines", edit={"answer": [1, None]}, wrong=("f1",))))]

    assert view_of(waiting) == ItemView(item())
    assert view_of(waiting).is_open
    assert view_of(decided).decision == said("ines", edit={"answer": [1, None]}, wrong=("f1",))
    assert not view_of(decided).is_open


def test_later_decisions_are_comments_and_after_reopening_all_that_was_said_is_kept():
    first, second, again = said("ines"), said("bo", JudgmentAction.ESCALATE, because="old"), Reopening(by="bo", because="look")
    entries = stream((OPENED, item()), (DECIDED, first), (COMMENTED, second), (REOPENED, again), (DECIDED, second))

    commented, reopened, decided = view_of(entries[:3]), view_of(entries[:4]), view_of(entries)
    assert (commented.decision, commented.later, commented.decided_ms) == (first, (second,), 2_001)
    assert reopened == ItemView(item(), former=(first, second, again))
    assert (decided.decision, decided.later, decided.former) == (second, (), (first, second, again))
    assert commented.knows(first)
    assert commented.knows(second)
    assert not reopened.knows(second)


@pytest.mark.parametrize(
    "entries",
    [
        stream((DECIDED, said("ines"))),
        stream((OPENED, item()), (COMMENTED, said("ines"))),
        stream((OPENED, item()), (REOPENED, Reopening(by="ines"))),
        stream((OPENED, item()), (DECIDED, said("ines")), (DECIDED, said("bo"))),
        stream((OPENED, item()), ("postponed", said("ines"))),
        [Entry(OPENED, b"{}", 0)],
        [Entry(OPENED, b"\xff", 0)],
        [*stream((OPENED, item())), Entry(DECIDED, b'{"item":"a","action":"maybe","by":"x"}', 0)],
    ],
)
def test_what_this_version_never_writes_is_an_error_that_says_so(entries: list[Entry]):
    with pytest.raises(WireError, match="upgrade hive-mind"):
        folded(entries)


@given(
    st.sampled_from(["wait", "reject", "retry"]),
    st.integers(0, 5),
    st.integers(0, 5),
    st.none() | st.builds(said, st.just("ines"), st.sampled_from(list(JudgmentAction))),
)
def test_time_alone_never_accepts_and_never_overrules_anybody(on_expiry: Any, expires: int, now: int, decision: Decision | None):
    view = ItemView(item(expires_ms=expires, on_expiry=on_expiry), decision)
    outcome = expired(view, now)

    assert (outcome is not None) == (decision is None and on_expiry != "wait" and 0 < expires <= now)
    if outcome is not None:
        assert outcome.action is (JudgmentAction.RETRY if on_expiry == "retry" else JudgmentAction.ESCALATE)
        assert (outcome.item, outcome.by) == (view.item.id, BY_EXPIRY)


def test_items_of_one_cause_are_one_line_with_examples_the_one_that_waits_longest_first():
    views = [
        ItemView(item("c", opened_ms=3, group="no-eval")),
        ItemView(item("b", opened_ms=2)),
        ItemView(item("a", opened_ms=1, group="no-eval")),
        ItemView(item("d", opened_ms=4, group="no-eval", agent="bo")),
        ItemView(item("e", opened_ms=5, group="no-eval", kind="audit")),
        ItemView(item("f", opened_ms=6)),
    ]

    lines = [[view.item.subject for view in line] for line in grouped(views)]

    assert lines == [["a", "c"], ["b"], ["d"], ["e"], ["f"]]


texts = st.text(max_size=30) | st.builds(
    lambda text, times: text * times, st.text(min_size=1, max_size=20), st.integers(1, 3_000)
)


@given(st.lists(st.tuples(texts, texts), max_size=30), texts)
def test_whatever_is_to_be_shown_fits_and_is_text(pairs: list[tuple[str, str]], where: str):
    shown = fitted(pairs, where)
    assert context_bytes(shown) <= CONTEXT_MAX_BYTES
    check(item(context=shown))
    if context_bytes(tuple(pairs)) <= CONTEXT_MAX_BYTES and len(pairs) <= 20 and all(len(n.encode()) <= 60 for n, _ in pairs):
        assert shown == tuple(pairs), "what fits is not touched"


def test_the_longest_is_cut_first_and_says_how_much_is_left_out_and_where_it_is():
    short, long = "s" * 3_000, "ü" * 100_000
    shown = dict(fitted([("rule", short), ("result", long)], "runs/7/web_search_1.txt"))

    assert shown["rule"] == short
    kept, _, told = shown["result"].partition("…")
    assert len(kept) > 6_000
    assert told == f" [{200_000 - 2 * len(kept):,} more bytes: runs/7/web_search_1.txt]"


def test_more_texts_than_anybody_reads_are_counted():
    shown = fitted([(str(n), "text") for n in range(100)], "report.txt")
    assert len(shown) == 21
    assert shown[-1] == ("…", "80 more texts: report.txt")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"context": (("a", "x" * CONTEXT_MAX_BYTES),)}, "16,001 bytes of context"),
        ({"signals": (Signal(name="m", origin="model", reasoning="x" * ITEM_MAX_BYTES),)}, "shorten what its signals say"),
        ({"title": "half \ud800"}, "unpaired surrogate"),
        ({"on_expiry": "retry"}, "never expires"),
    ],
)
def test_an_item_that_can_not_be_asked_is_refused_with_a_sentence(fields: dict[str, Any], message: str):
    with pytest.raises(InvalidInput, match=message):
        check(item(**fields))


def test_an_item_is_kept_by_the_names_of_its_fields_without_what_goes_without_saying():
    (opened,) = stream((OPENED, item(signals=(Signal(name="judge", origin="model", confidence=0.4),))))

    assert msgspec.json.decode(opened.body) == {
        "id": item().id,
        "kind": "fact",
        "agent": "ines",
        "subject": "a",
        "title": "Is a true?",
        "opened_ms": 1_000,
        "signals": [{"name": "judge", "origin": "model", "confidence": 0.4}],
    }
