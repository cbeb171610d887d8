"""What a hive holds as lines: everything comes back as it was, and nothing comes in that no node would take."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.errors import InvalidInput
from hive_mind.hive.replication.resettlement import JournalSnapshot, Vouched
from hive_mind.model.evidence import Assertion, Stamp, Statement
from hive_mind.model.ids import fact_id
from hive_mind.model.messages import Appointment, RegistryEntry
from hive_mind.runtime.members.generations import LINE_BYTES_MAX, lines_of, snapshot_in
from tests.hives import assertion

WORDS = st.text(st.characters(codec="utf-8"), max_size=20)
SAID = st.text(st.characters(codec="utf-8"), min_size=1, max_size=40).filter(str.strip)
NAMES = st.lists(WORDS, max_size=3).map(tuple)
STAMPS = st.builds(Stamp, st.integers(0, 253_402_300_799_999), st.integers(0, 0xFFFF), st.binary(max_size=64))
STATEMENTS = st.builds(Statement, SAID, WORDS, WORDS, WORDS, WORDS, NAMES, NAMES, WORDS, st.binary(max_size=40))


@st.composite
def assertions(draw: st.DrawFn) -> Assertion:
    statement, tenant = draw(STATEMENTS), draw(st.sampled_from(["default", "rivals"]))
    confidence, times = draw(st.floats(0, 1)), st.integers(0, 1_000_000)
    who = draw(SAID), draw(WORDS)
    return Assertion(
        fact_id(statement.content, tenant), *who, confidence, draw(STAMPS), statement, draw(times), draw(times), tenant
    )


ENTRIES = st.builds(
    RegistryEntry,
    st.builds("agent/{}".format, SAID),
    st.just('{"domain": "x"}') | st.just(""),
    STAMPS,
    WORDS,
    appointment=st.none() | st.builds(Appointment, STAMPS, WORDS),
)


@given(st.lists(assertions(), max_size=5), st.lists(ENTRIES, max_size=3), WORDS)
def test_everything_comes_back_as_it_was(said: list[Assertion], entries: list[RegistryEntry], node: str) -> None:
    once = {(one.fact_id, one.agent, one.root): Vouched(one, node) for one in said}
    snapshot = JournalSnapshot(tuple(sorted(once.values(), key=lambda one: one.assertion.stamp)), tuple(entries))

    back = snapshot_in(lines_of(snapshot))

    assert set(back.vouched) == set(snapshot.vouched)
    assert [one.assertion.stamp for one in back.vouched] == [one.assertion.stamp for one in snapshot.vouched]
    assert back.entries == snapshot.entries


def test_of_one_voice_only_the_last_word_is_taken() -> None:
    said = [assertion(ms=2, confidence=0.2), assertion(ms=3, confidence=0.3), assertion(ms=1, confidence=0.1)]
    (one,) = snapshot_in(lines_of(JournalSnapshot(tuple(map(Vouched, said))))).vouched
    assert one.assertion.confidence == 0.3


def test_only_the_first_bad_lines_are_named_and_a_line_has_an_end() -> None:
    with pytest.raises(InvalidInput) as failure:
        snapshot_in([b"nonsense"] * 1_000)
    assert str(failure.value).count("line ") == 10
    with pytest.raises(InvalidInput, match="at most"):
        snapshot_in([b'"' + b"x" * LINE_BYTES_MAX + b'"'])


@pytest.mark.parametrize(
    "fields",
    [
        {"vector": "no base64!"},
        {"stamp": [0, 0, "0g"]},
        {"stamp": [-1, 0, ""]},
        {"stamp": [0, 1 << 20, ""]},
        {"confidence": "1"},
        {"more": 1},
        {"content": " "},
        {"agent": ""},
        {"expires_ms": 1 << 52},
    ],
)
def test_what_no_node_would_take_is_refused(fields: dict[str, object]) -> None:
    (line,) = lines_of(JournalSnapshot((Vouched(assertion()),)))
    with pytest.raises(InvalidInput, match="line 1"):
        snapshot_in([msgspec.json.encode(msgspec.json.decode(line) | fields)])
