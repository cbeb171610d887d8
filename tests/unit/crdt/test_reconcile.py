from random import Random

import msgspec
import pytest

from hive_mind.crdt import reconcile as module
from hive_mind.crdt.context import pack
from hive_mind.crdt.reconcile import DotIndex, Round, listed, listing, reconcile, whole
from hive_mind.model.evidence import dot
from hive_mind.model.messages import Span

KEY = b"session."
ACTORS = [bytes([97 + n]) * 8 for n in range(5)]
A, B = ACTORS[:2]


def dots_of(actors, count, hole=7):
    return [dot(actor, n) for actor in actors for n in range(1, count + 1) if n % hole]


def exchanged(here, there, key=KEY):
    """Both sides in turn until nobody asks: what each lacks, how many messages, how many bytes."""
    sides = [DotIndex(here, key), DotIndex(there, key)]
    only = [set(), set()]
    spans, messages, size, turn = whole(sides[1]), 0, 0, 0
    while spans:
        messages += 1
        assert messages < 20
        size += len(msgspec.msgpack.encode(spans))
        found = reconcile(sides[turn], msgspec.msgpack.decode(msgspec.msgpack.encode(spans), type=tuple[Span, ...]))
        spans = found.spans
        only[turn].update(found.only_here)
        only[1 - turn].update(found.only_there)
        size += len(pack(found.only_here)) + len(pack(found.only_there))
        turn = 1 - turn
    return only[0], only[1], messages, size


@pytest.mark.parametrize("count", [0, 1, 5, module.SMALL - 1, module.SMALL, module.SMALL + 1, 2_000])
def test_few_and_many_dots_are_sorted_alike(count):
    dots = [dot(Random(n).randbytes(8), Random(n).randrange(1, 1 << 40)) for n in range(count)]
    assert DotIndex([*dots, *dots[:3]], KEY).dots() == tuple(sorted(dots))
    assert len(DotIndex(dots, KEY)) == count


def test_fingerprints_differ_with_the_dots_and_with_the_session_which_needs_no_other_index():
    dots = dots_of(ACTORS, 100)
    index, other = DotIndex(dots, KEY), DotIndex(dots, b"another.")
    assert index.fingerprint() not in (DotIndex(dots[1:], KEY).fingerprint(), other.fingerprint())
    assert index.keyed(b"another.").fingerprint() == other.fingerprint()


def test_sums_that_agree_do_not_make_sets_agree():
    """Counters of equal count, sum, squares and cubes: what an additive fingerprint may take for one another."""
    one, other = [1, 5, 8, 12], [2, 3, 10, 11]
    assert DotIndex([dot(A, n) for n in one], KEY).fingerprint() != DotIndex([dot(A, n) for n in other], KEY).fingerprint()


def test_a_range_has_its_lower_bound_and_not_its_upper():
    index = DotIndex([dot(A, n) for n in range(1, 6)], KEY)
    assert index.dots(dot(A, 2), dot(A, 4)) == (dot(A, 2), dot(A, 3))
    assert index.dots(dot(A, 4)) == (dot(A, 4), dot(A, 5))
    assert index.dots(B) == ()


def test_parts_of_a_range_follow_one_another_and_have_the_same_size():
    index = DotIndex(dots_of(ACTORS, 200), KEY)
    parts = index.split(b"", b"", 7)

    assert [low for low, _ in parts[1:]] == [high for _, high in parts[:-1]]
    assert sum((index.dots(*part) for part in parts), ()) == index.dots()
    sizes = [len(index.dots(*part)) for part in parts]
    assert max(sizes) - min(sizes) <= 1
    assert DotIndex([], KEY).split(A, B, 16) == [(A, B)], "where nothing is, there is one part"


def test_equal_sets_need_no_answer():
    dots = dots_of(ACTORS, 300)
    index = DotIndex(dots, KEY)
    assert reconcile(index, whole(index)) == Round()
    assert reconcile(index, [Span(b"", b"", DotIndex(dots, KEY).fingerprint())]) == Round()


def test_small_sets_are_told_at_once():
    here, there = [dot(A, 1), dot(A, 2)], [dot(A, 2), dot(B, 1)]
    assert exchanged(here, there)[:3] == ({dot(A, 1)}, {dot(B, 1)}, 1)


@pytest.mark.parametrize("lost", [0, 1, 40, 2_000])
def test_what_either_side_lacks_is_found(lost):
    chance = Random(lost)
    dots = dots_of(ACTORS, 3_000)
    here = set(dots) - set(chance.sample(dots, lost))
    there = set(dots) - set(chance.sample(dots, lost))
    assert exchanged(here, there)[:2] == (here - there, there - here)


@pytest.mark.parametrize(("here", "there"), [((), dots_of(ACTORS, 2_000)), (dots_of([A], 2_000), dots_of([B], 2_000))])
def test_sets_with_nothing_in_common_are_told_apart(here, there):
    assert exchanged(here, there)[:2] == (set(here), set(there))


def test_fresh_dots_of_many_actors_cost_few_messages_and_bytes():
    dots = dots_of(ACTORS, 20_000)
    fresh = [dot(actor, 30_000 + n) for actor in ACTORS for n in range(200)]

    lacks, _, messages, size = exchanged([*dots, *fresh], dots)

    assert lacks == set(fresh)
    assert messages <= 5
    assert size <= 6_000


@pytest.mark.parametrize(
    ("spans", "why"),
    [
        ([Span(B, A, b"\0" * 16)], "out of order"),
        ([Span(A, A, b"\0" * 16)], "out of order"),
        ([Span(b"", b"", b"\0" * 16), Span(b"", b"", b"\0" * 16)], "overlap"),
        ([Span(A, b"b", b"\0" * 16), Span(A, b"c", b"\0" * 16)], "overlap"),
        ([Span(b"", b"", b"\0" * 8)], "one fingerprint for each"),
        ([Span(b"", b"", b"")], "one fingerprint for each"),
        ([Span(b"", b"", b"\0" * 16, cuts=b"\x01")], "malformed bounds"),
        ([Span(b"", b"", b"\0" * 16, cuts=b"\x00")], "malformed bounds"),
        ([Span(b"", b"", b"\0" * 16, cuts=b"\x51x")], "malformed bounds"),
        ([Span(b"", b"", b"\0" * 24, cuts=b"\x01b\x01a")], "pieces out of order"),
        ([Span(b"", b"a", b"\0" * 16, cuts=b"\x01b")], "pieces out of order"),
        ([listing(B, b"", [dot(A, 1)])], "outside"),
        ([listing(b"", B, [dot(B, 1)])], "outside"),
        ([Span(b"", b"", dots=b"nonsense")], "cut off"),
    ],
)
def test_spans_that_nobody_can_have_meant_are_refused(spans, why):
    index = DotIndex(dots_of(ACTORS, 100), KEY)
    with pytest.raises(ValueError, match=why):
        reconcile(index, spans)


def test_a_few_spans_can_not_ask_for_endless_dots(monkeypatch):
    monkeypatch.setattr(module, "DOTS_MAX", 10)
    spans = [listing(A, B, [dot(A, n) for n in range(1, 8)]), listing(B, b"", [dot(B, n) for n in range(1, 8)])]
    with pytest.raises(ValueError, match="more than 3"):
        reconcile(DotIndex([], KEY), spans)


def test_a_listing_is_read_as_it_was_written():
    assert listed(listing(b"", b"", [dot(B, 1), dot(A, 2)])) == (dot(A, 2), dot(B, 1))
