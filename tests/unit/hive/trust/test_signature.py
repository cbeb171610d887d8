"""A signature may let a pair through that is no contradiction, and never stops one that is."""

import json
from hashlib import sha256
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.hive.trust.contradiction import (
    FORM,
    Worded,
    excluding,
    first_of_each,
    may_exclude,
    newest_first,
    row,
    signed,
    topic,
)
from hive_mind.model.evidence import Stamp, Statement
from hive_mind.model.ids import fact_id

FILES = sorted((Path(__file__).parents[3] / "data/disputes").glob("*.jsonl"))
TEXTS = sorted(
    {pair[side] for file in FILES for pair in map(json.loads, file.read_text("utf-8").splitlines()) for side in ("one", "other")}
)

SUBJECTS = ("The gateway", "gateway 12", "Ferry A", "Ferry B", "I", "emptyDir: {}", "The dean of Corrin", "| pump |", "泵3")
VERBS = ("is", "is not", "listens on", "is the", "has never had", "are", "closes at", "", "won't be")
ENDS = (
    "port 8443",
    "port 9443",
    "open",
    "closed",
    "always warm",
    "never warm",
    "12:30",
    "the harbour of Corrin, since March",
    "1,000",
    "?",
)
WORDED = st.one_of(
    st.builds(" ".join, st.tuples(*map(st.sampled_from, (SUBJECTS, VERBS, ENDS)))),
    st.lists(
        st.sampled_from("red pump leaks not 7 2024-05-01 open off the hall is B i'm water door March".split()), max_size=9
    ).map(" ".join),
    st.sampled_from(TEXTS),
    st.text(max_size=40),
)
STATEMENTS = st.builds(
    Statement,
    WORDED,
    st.just("gateway"),
    st.sampled_from(("", "2024-05", "2024-05-01T12:30")),
    st.sampled_from(("", "Ann", "Bo")),
)


def lets_through(one: Statement, other: Statement) -> bool:
    signatures = [Worded("", 0, b"", signed(each.content, each.speaker)).signature for each in (one, other)]
    assert may_exclude(*signatures) == may_exclude(*reversed(signatures))
    return may_exclude(*signatures)


@given(STATEMENTS, STATEMENTS)
def test_what_excludes_each_other_is_let_through(one: Statement, other: Statement):
    if excluding(one, [("other", other)]):
        assert lets_through(one, other)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_labelled_contradiction_is_let_through(file: Path):
    pairs = [
        (Statement(pair["one"], "x"), Statement(pair["other"], "x")) for pair in map(json.loads, file.read_text().splitlines())
    ]
    named = [pair for pair in pairs if excluding(pair[0], [("other", pair[1])])]
    assert named
    assert all(lets_through(*pair) for pair in named)


def test_of_all_pairs_of_many_statements_none_that_excludes_is_stopped_and_most_others_are():
    statements = [Statement(text, "x") for text in TEXTS[::3]]
    excluded = passed = 0
    for one, other in combinations(statements, 2):
        is_named, is_through = bool(excluding(one, [("other", other)])), lets_through(one, other)
        assert is_through or not is_named, (one.content, other.content)
        excluded, passed = excluded + is_named, passed + is_through
    assert excluded <= passed < len(statements)


def test_the_form_is_a_new_one_when_what_is_told_of_a_wording_changes():
    """Rows of members of two versions are compared with each other: raise `FORM` with this digest."""
    digest = sha256(b"".join(signed(text, "") for text in TEXTS)).hexdigest()[:16]
    assert (FORM, digest) == (3, "9fb1ec22077e3f6d")


def test_a_fact_of_two_groups_is_as_old_as_its_first_row_and_the_newest_comes_first():
    old, new = fact_id("old"), fact_id("new")
    said = Statement("The gateway is open.", "The  Gateway")
    rows = [
        row(old, said, Stamp(5)),
        row(new, said, Stamp(7, 1, b"a" * 8)),
        row(old, said, Stamp(9)),
        row(new, said, Stamp(7, 2)),
    ]
    found = newest_first(first_of_each([rows[0] + rows[1], b"".join(rows[2:])]))
    assert [(fact.fact_id, fact.learned_at_us) for fact in found] == [(new, 7_001), (old, 5_000)]
    assert {fact.concept for fact in found} == {topic("the gateway")}
    assert first_of_each(rows) == (rows[0], rows[1])
