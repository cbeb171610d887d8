from dataclasses import replace

import msgspec
import pytest

from hive_mind.crdt.context import COUNTER_MAX
from hive_mind.hive.policy import SEAL_BYTES_MAX, UNSEALED, admission
from hive_mind.hive.policy.admission import (
    CONTENT_CHARACTERS_MAX,
    NAMES_MAX,
    TIME_MS_MAX,
    TTL_MS_MAX,
    VECTOR_BYTES_MAX,
    malformed,
    refusal,
)
from hive_mind.model.evidence import LISTS, Head, HiveFact, Provenance, Removal, Sealed, Stamp, Statement, dot
from hive_mind.model.fact import NAME_CHARACTERS_MAX
from hive_mind.model.gathered import Anchors, Probe
from hive_mind.model.ids import fact_id
from hive_mind.model.messages import RegistryEntry
from tests.hives import PUMP, assertion

OWN = dot(b"8 bytes!", 1)
STAMP = Stamp(5)


def saying(**fields):
    statement = Statement(**({"content": PUMP} | fields))
    return assertion(statement.content, statement=statement)


def reason(given, own: bytes = OWN) -> str:
    return refusal(Sealed(own, given), "all", "default", UNSEALED)


def taken_back(count: int = 1, **fields) -> str:
    return admission.malformed_removal(
        Removal(**({"fact_id": "f", "dots": (OWN,) * count, "stamp": Stamp(5), "by": "ines", "why": "retracted"} | fields))
    )


def headed(**fields) -> str:
    return admission.malformed_head(Head(**({"node": "n0", "incarnation": b"", "counter": 1} | fields)))


def entered(key: str = "rule/r", value: str = "{}", by: str = "ines", stamp: Stamp = STAMP, seal: bytes = b"") -> str:
    return admission.problem_with(RegistryEntry(key, value, stamp, by, seal))


NAMES = "an agent and its source need names, of at most 2,000 characters"
TEXTS = "a fact, its concept and the text before it have at most 64,000 characters each"
SHORT = "a date, a speaker, a model, an entity or a label has at most 2,000 characters"
OUTSIDE, LIFETIME, TIMESTAMP = "a time outside the calendar", "the lifetime of a fact is at most a year", "timestamp out of range"


@pytest.mark.parametrize(
    ("reason_for", "most", "told"),
    [
        *((lambda n, name=name: reason(assertion(**{name: "x" * n})), NAME_CHARACTERS_MAX, NAMES) for name in ("agent", "root")),
        *(
            (lambda n, name=name: reason(saying(**{name: "x" * n})), CONTENT_CHARACTERS_MAX, TEXTS)
            for name in ("content", "concept", "before")
        ),
        *(
            (lambda n, name=name: reason(saying(**{name: "x" * n})), NAME_CHARACTERS_MAX, SHORT)
            for name in ("said_at", "speaker", "model")
        ),
        *((lambda n, name=name: reason(saying(**{name: ("x" * n,)})), NAME_CHARACTERS_MAX, SHORT) for name in LISTS),
        (
            lambda n: reason(saying(labels=("x",) * (n - 3), entities=("x",) * 3)),
            NAMES_MAX,
            "a fact has at most 1,000 entities and labels",
        ),
        (lambda n: reason(saying(vector=b"x" * n)), VECTOR_BYTES_MAX, "an embedding has at most 8,192 dimensions"),
        (lambda n: reason(assertion(ttl_ms=n)), TTL_MS_MAX, LIFETIME),
        *((lambda n, name=name: reason(assertion(**{name: n})), TIME_MS_MAX, OUTSIDE) for name in ("ms", "expires_ms")),
        (lambda n: reason(assertion(stamp=Stamp(5, 0, b"x" * n))), admission.STAMP_ACTOR_BYTES_MAX, TIMESTAMP),
        (lambda n: refusal(Sealed(OWN, assertion(), b"x" * n), "all", "default", UNSEALED), SEAL_BYTES_MAX, ""),
        (taken_back, admission.REMOVAL_DOTS_MAX, ""),
        *((lambda n, name=name: taken_back(**{name: "x" * n}), NAME_CHARACTERS_MAX, "") for name in ("fact_id", "by")),
        (lambda n: taken_back(seal=b"x" * n), SEAL_BYTES_MAX, ""),
        (lambda n: taken_back(stamp=Stamp(5, 0, b"x" * n)), admission.STAMP_ACTOR_BYTES_MAX, ""),
        (lambda n: headed(node="x" * n), NAME_CHARACTERS_MAX, ""),
        *((lambda n, name=name: headed(**{name: b"x" * n}), SEAL_BYTES_MAX, "") for name in ("incarnation", "seal")),
        (lambda n: headed(counter=n), COUNTER_MAX, ""),
        (lambda n: entered(key=f"rule/{'x' * (n - 5)}"), admission.KEY_CHARACTERS_MAX, ""),
        (lambda n: entered(by="x" * n), admission.KEY_CHARACTERS_MAX, ""),
        (lambda n: entered(value=f'{{"x": "{"x" * (n - 9)}"}}'), admission.VALUE_CHARACTERS_MAX, ""),
        (lambda n: entered(stamp=Stamp(n)), (1 << 53) - 1, ""),
        (lambda n: entered(stamp=Stamp(5, n)), (1 << 53) - 1, ""),
        (lambda n: entered(stamp=Stamp(5, 0, b"x" * n)), admission.STAMP_ACTOR_BYTES_MAX, ""),
        (lambda n: entered(seal=b"x" * n), SEAL_BYTES_MAX, ""),
    ],
)
def test_each_limit_is_the_most_that_is_let_in(reason_for, most: int, told: str):
    assert reason_for(most) == ""
    assert reason_for(most + 1) == told if told else reason_for(most + 1) != ""


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (assertion(ttl_ms=-1), LIFETIME),
        (assertion(ms=-1), OUTSIDE),
        (assertion(expires_ms=-1), OUTSIDE),
        (assertion(stamp=Stamp(5, -1)), TIMESTAMP),
        (assertion(stamp=Stamp(5, 1 << 63)), TIMESTAMP),
        (assertion(agent="", root="x"), NAMES),
    ],
)
def test_what_no_fact_has_is_refused_with_its_reason(given, told: str):
    assert reason(given) == told


def test_a_removal_names_a_dot_and_a_head_counts_from_one():
    assert all((taken_back(0), taken_back(dots=(OWN, b"short")), headed(counter=0)))
    assert all((entered(stamp=Stamp(-1)), entered(stamp=Stamp(5, -1))))


@pytest.mark.parametrize("characters", [10, 3_999, 4_000, 7_999, 8_000, 64_000])
def test_every_four_thousand_characters_of_a_fact_count_as_one_more(characters: int):
    named = saying(content="x" * (characters - 10), labels=("abc", "d"), speaker="e", said_at="f")
    assert admission.weight(msgspec.structs.replace(named, agent="nobody", root="root")) == 1 + characters // 4_000


def test_a_fact_has_figures_that_there_are():
    provenance = Provenance("ines", "root", 1.0, Stamp(TIME_MS_MAX))
    most = HiveFact(fact_id(PUMP), Statement(PUMP), (provenance,), 1.0, 0, 2.0)
    changed = msgspec.structs.replace
    least = changed(most, confidence=0.0, trust=0.0, provenance=(changed(provenance, confidence=0.0, stamp=Stamp(0)),))
    for fact in (most, least, changed(least, provenance=(*least.provenance, provenance))):
        assert admission.is_fact(fact, "default")
    for fields in (
        {"confidence": 1.01},
        {"confidence": -0.01},
        {"trust": 2.01},
        {"trust": -0.01},
        {"provenance": ()},
        {"id": "f"},
    ):
        assert not admission.is_fact(changed(most, **fields), "default")
    for fields in ({"confidence": 1.01}, {"confidence": -0.01}, {"stamp": Stamp(-1)}, {"stamp": Stamp(TIME_MS_MAX + 1)}):
        assert not admission.is_fact(changed(most, provenance=(provenance, changed(provenance, **fields))), "default")


@pytest.mark.parametrize(("depth", "searched"), [(-1, 1), (0, 1), (1, 1), (7, 7), (10_000, 10_000), (10_001, 10_000)])
def test_a_question_is_as_deep_as_anybody_asks_at_most(depth: int, searched: int):
    asked = Probe(("pump",), Anchors((("d40",),), True), None, depth)
    assert admission.answerable(asked, 4) == replace(asked, depth=searched)
    assert admission.answerable(replace(asked, anchors=Anchors(((), ("d40",)), True)), 4) == replace(asked, depth=searched)


@pytest.mark.parametrize("confidence", [0, 1, 0.0, 1.0, 0.5])
def test_what_is_well_formed_is_let_in(confidence):
    assert reason(assertion(confidence=confidence, ttl_ms=TTL_MS_MAX, expires_ms=TIME_MS_MAX)) == ""


@pytest.mark.parametrize("confidence", [8100.0, 1.0000001, -0.1, float("nan"), float("inf"), float("-inf")])
def test_a_confidence_outside_of_zero_to_one_is_refused(confidence):
    assert reason(assertion(confidence=confidence)) == "a confidence is a number from 0 to 1"


@pytest.mark.parametrize("content", ["", "   ", "\n\t"])
def test_nothing_is_no_fact(content):
    assert reason(saying(content=content)) == "the text is empty"


def test_nobody_puts_other_words_under_the_id_of_a_fact():
    forged = msgspec.structs.replace(assertion(), statement=Statement("The pump is blue."))
    assert reason(forged) == "the id does not match the content"


def test_the_same_words_of_another_tenant_are_another_fact():
    foreign = assertion(tenant="other", fact_id=fact_id(PUMP, "other"))
    assert reason(foreign) == "another tenant's"
    assert malformed(foreign) == ""


@pytest.mark.parametrize("own", [b"", b"short", OWN + b"x", b"8 bytes!" + bytes(5)])
def test_a_dot_is_an_actor_and_a_count_from_one(own):
    assert reason(assertion(), own) == "invalid dot"


def test_half_a_character_can_not_travel_and_is_refused_where_it_is_said():
    for given in (
        saying(content="broken \ud800"),
        saying(concept="\udfff"),
        saying(labels=("\ud800",)),
        assertion(agent="\ud800"),
    ):
        assert malformed(given) != ""
