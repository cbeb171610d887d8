import msgspec
import pytest

from hive_mind.hive.policy.admission import (
    CONTENT_CHARACTERS_MAX,
    NAMES_MAX,
    TIME_MS_MAX,
    TTL_MS_MAX,
    VECTOR_BYTES_MAX,
    malformed,
    refusal,
)
from hive_mind.hive.policy.seal import UNSEALED
from hive_mind.model.evidence import Sealed, Stamp, Statement, dot
from hive_mind.model.fact import NAME_CHARACTERS_MAX
from hive_mind.model.ids import fact_id
from tests.hives import PUMP, assertion

OWN = dot(b"8 bytes!", 1)
LONG_NAME = "x" * (NAME_CHARACTERS_MAX + 1)
LONG_TEXT = "x" * (CONTENT_CHARACTERS_MAX + 1)


def saying(**fields):
    statement = Statement(**({"content": PUMP} | fields))
    return assertion(statement.content, statement=statement)


def reason(given, own: bytes = OWN) -> str:
    return refusal(Sealed(own, given), "all", "default", UNSEALED)


@pytest.mark.parametrize("confidence", [0, 1, 0.0, 1.0, 0.5])
def test_what_is_well_formed_is_let_in(confidence):
    assert reason(assertion(confidence=confidence, ttl_ms=TTL_MS_MAX, expires_ms=TIME_MS_MAX)) == ""


@pytest.mark.parametrize("confidence", [8100.0, 1.0000001, -0.1, float("nan"), float("inf"), float("-inf")])
def test_a_confidence_outside_of_zero_to_one_is_refused(confidence):
    assert reason(assertion(confidence=confidence)) == "a confidence is a number from 0 to 1"


@pytest.mark.parametrize("ttl_ms", [-1, TTL_MS_MAX + 1, 1 << 62])
def test_nothing_lives_for_less_than_nothing_or_more_than_a_year(ttl_ms):
    assert reason(assertion(ttl_ms=ttl_ms)) == "the lifetime of a fact is at most a year"


@pytest.mark.parametrize(
    "fields", [{"ms": -1}, {"ms": TIME_MS_MAX + 1}, {"expires_ms": -1}, {"expires_ms": TIME_MS_MAX + 1}], ids=str
)
def test_a_time_outside_the_calendar_is_refused(fields):
    assert reason(assertion(**fields)) == "a time outside the calendar"


@pytest.mark.parametrize("stamp", [Stamp(5, -1), Stamp(5, 1 << 63), Stamp(5, 0, b"x" * 100)], ids=str)
def test_a_stamp_no_clock_gives_is_refused(stamp):
    """It would be compared with others for ever, and could not be written down again."""
    assert reason(assertion(stamp=stamp)) != ""


@pytest.mark.parametrize(
    "fields", [{"agent": "", "root": "x"}, {"agent": LONG_NAME}, {"root": LONG_NAME}], ids=lambda f: next(iter(f))
)
def test_an_agent_has_a_name_of_a_reasonable_length(fields):
    assert reason(assertion(**fields)) == "an agent and its source need names, of at most 2,000 characters"


@pytest.mark.parametrize("content", ["", "   ", "\n\t"])
def test_nothing_is_no_fact(content):
    assert reason(saying(content=content)) == "the text is empty"


@pytest.mark.parametrize(
    "fields",
    [
        {"content": LONG_TEXT},
        {"concept": LONG_TEXT},
        {"before": LONG_TEXT},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_what_is_too_long_is_refused_and_told_how_long_it_may_be(fields):
    assert reason(saying(**fields)) == "a fact, its concept and the text before it have at most 64,000 characters each"


def test_an_embedding_is_no_longer_than_any_model_makes_it():
    assert reason(saying(vector=b"x" * (VECTOR_BYTES_MAX + 2))) == "an embedding has at most 8,192 dimensions"


@pytest.mark.parametrize(
    "fields", [{"entities": ("x",) * (NAMES_MAX + 1)}, {"labels": ("x",) * (NAMES_MAX + 1)}], ids=lambda f: next(iter(f))
)
def test_too_many_names_are_refused(fields):
    assert reason(saying(**fields)) == "a fact has at most 1,000 entities and labels"


@pytest.mark.parametrize("field", ["said_at", "speaker", "model"])
def test_a_long_name_is_refused(field):
    told = "a date, a speaker, a model, an entity or a label has at most 2,000 characters"
    assert reason(saying(**{field: LONG_NAME})) == told
    assert reason(saying(entities=("x", LONG_NAME))) == reason(saying(labels=(LONG_NAME,))) == told


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
