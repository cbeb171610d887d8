"""What an assertion must be to be let in: well formed, about what it says it is, and by who it says it is.

Everything that comes from another node passes here once. A refusal is a reason, never an exception.
"""

from math import isfinite

from hive_mind.crdt.clock import is_believable
from hive_mind.hive.seal import Seal, is_sealed
from hive_mind.model.evidence import ACTOR_BYTES, COUNTER_BYTES, Assertion, Sealed, Statement
from hive_mind.model.ids import fact_id

CONTENT_CHARACTERS_MAX = 64_000
NAME_CHARACTERS_MAX = 2_000
NAMES_MAX = 1_000
VECTOR_BYTES_MAX = 2 * 8_192
TTL_MS_MAX = 366 * 24 * 3_600_000
# Year 9999: a later time is no date, and milliseconds of it no longer fit where times are computed.
TIME_MS_MAX = 253_402_300_799_999
STAMP_ACTOR_BYTES_MAX = 64


def refusal(given: Sealed, partition: str, tenant: str, seal: Seal) -> str:
    """Why an assertion of another node can't be taken, "" if it can."""
    assertion = given.assertion
    if len(given.dot) != ACTOR_BYTES + COUNTER_BYTES or not any(given.dot[ACTOR_BYTES:]):
        return "the dot is none"
    if assertion.tenant != tenant:
        return "another tenant's"
    return malformed(assertion) or ("" if is_sealed(seal, partition, given) else "not sealed by its agent")


def malformed(assertion: Assertion) -> str:
    """What is wrong with an assertion whoever makes it, "" if nothing is."""
    if not (isfinite(assertion.confidence) and 0.0 <= assertion.confidence <= 1.0):
        return "a confidence is a number from 0 to 1"
    if not 0 <= assertion.ttl_ms <= TTL_MS_MAX:
        return "a fact lives for at most a year"
    if not (0 <= assertion.expires_ms <= TIME_MS_MAX and 0 <= assertion.stamp.ms <= TIME_MS_MAX):
        return "a time outside the calendar"
    if not is_believable(assertion.stamp, None) or len(assertion.stamp.actor) > STAMP_ACTOR_BYTES_MAX:
        return "no clock gives such a stamp"
    if not (assertion.agent and len(assertion.agent) <= NAME_CHARACTERS_MAX and len(assertion.root) <= NAME_CHARACTERS_MAX):
        return "an agent and its source need names of a reasonable length"
    if problem := _malformed_statement(assertion.statement):
        return problem
    if not _can_travel(assertion.agent, assertion.root):
        return "half a character can't travel"
    # Content decides the id: nobody can put other words under a fact that exists.
    return (
        "" if fact_id(assertion.statement.content, assertion.tenant) == assertion.fact_id else "the id is not that of the content"
    )


def _malformed_statement(statement: Statement) -> str:
    texts = (statement.content, statement.before, statement.concept)
    if not statement.content.strip():
        return "there is nothing in it"
    if max(map(len, texts)) > CONTENT_CHARACTERS_MAX or len(statement.vector) > VECTOR_BYTES_MAX:
        return "too large"
    if len(statement.entities) + len(statement.labels) > NAMES_MAX:
        return "too many entities and labels"
    names = (statement.said_at, statement.speaker, statement.model, *statement.entities, *statement.labels)
    if max(map(len, names)) > NAME_CHARACTERS_MAX:
        return "a name is too long"
    return "" if _can_travel(*texts, *names) else "half a character can't travel"


def _can_travel(*texts: str) -> bool:
    """Half a surrogate pair can be in a Python string, and in no message and no journal."""
    return all(text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text) for text in texts)
