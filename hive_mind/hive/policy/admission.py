"""Conditions on an assertion to be let in: well formed, and its fact id and author match its content and seal.

Everything that comes from another node passes here once. A refusal is a reason, never an exception. Vectors and questions are
judged where they are compared: incomparable ones are left out, and the rest counts.
"""

from dataclasses import replace
from math import isfinite

import numpy as np
from msgspec import structs

from hive_mind.crdt.clock import is_believable
from hive_mind.crdt.context import COUNTER_MAX, DOT_BYTES
from hive_mind.hive.policy.rights import STAMP_ACTOR_BYTES_MAX
from hive_mind.hive.policy.seal import SEAL_BYTES_MAX, Seal, is_sealed
from hive_mind.model.evidence import (
    ACTOR_BYTES,
    LISTS,
    Assertion,
    Dot,
    Head,
    HiveFact,
    Removal,
    Sealed,
    Statement,
    names_of,
    texts_of,
)
from hive_mind.model.fact import NAME_CHARACTERS_MAX
from hive_mind.model.ids import fact_id
from hive_mind.model.messages import FactsReply, FactsRequest, ListReply, SearchReply, SearchRequest
from hive_mind.model.probe import Anchors, Probe, Vector
from hive_mind.model.query import TermStatistics
from hive_mind.ranking.pipeline import TRUST_MAX

CONTENT_CHARACTERS_MAX = 64_000
NAMES_MAX = 1_000
VECTOR_BYTES_MAX = 2 * 8_192
TTL_MS_MAX = 366 * 24 * 3_600_000
# Year 9999: a later time is no date, and milliseconds of it no longer fit where times are computed.
TIME_MS_MAX = 253_402_300_799_999
# A proof is kept whole with each dot that it names, so one of many dots would take the square of what it takes on the way.
REMOVAL_DOTS_MAX = 64
# Ten times what any of our searches asks for.
DEPTH_MAX = 10_000
# Ten times a long sentence with what is said of it. Longer ones are few, or somebody wants to fill memories within its quota.
CHARACTERS_OF_ONE = 4_000
# A reason names the limit and never the content: reasons are counted, and a sender of nonsense must not make many of them.
_SEAL_TOO_LONG = f"a seal or an incarnation has at most {SEAL_BYTES_MAX:,} bytes"
# Rounded to float16, a unit vector's square is 1 to three digits.
SQUARE_MAX = 1.02
# Sums of floats are as exact as this.
_ROUNDING = 1e-6
_ROUNDED = 1 - _ROUNDING


def refusal(given_assertion: Sealed, partition: str, tenant: str, seal: Seal) -> str:
    """Why an assertion of another node can't be taken, "" if it can."""
    assertion = given_assertion.assertion
    if not is_dot(given_assertion.dot):
        return "invalid dot"
    if len(given_assertion.seal) > SEAL_BYTES_MAX:
        return _SEAL_TOO_LONG
    if assertion.tenant != tenant:
        return "another tenant's"
    if problem := malformed(assertion):
        return problem
    if not has_its_id(assertion):
        return "the id does not match the content"
    return "" if is_sealed(seal, partition, given_assertion) else "not sealed by its agent"


def has_its_id(assertion: Assertion) -> bool:
    """Whether its id is that of its content: nobody can put other words under a fact that exists."""
    return fact_id(assertion.statement.content, assertion.tenant) == assertion.fact_id


def malformed_removal(removal: Removal) -> str:
    """Why a removal is malformed, or ""."""
    if not 0 < len(removal.dots) <= REMOVAL_DOTS_MAX:
        return f"a removal names between 1 and {REMOVAL_DOTS_MAX} dots"
    if not all(map(is_dot, removal.dots)):
        return "invalid dot"
    if max(len(removal.fact_id), len(removal.by)) > NAME_CHARACTERS_MAX:
        return f"a removal's fact and its author have names of at most {NAME_CHARACTERS_MAX:,} characters"
    if len(removal.seal) > SEAL_BYTES_MAX:
        return _SEAL_TOO_LONG
    is_stamp = is_believable(removal.stamp, None) and len(removal.stamp.actor) <= STAMP_ACTOR_BYTES_MAX
    return "" if is_stamp else "timestamp out of range"


def malformed_head(head: Head) -> str:
    """Why a head is malformed, or ""."""
    if len(head.node) > NAME_CHARACTERS_MAX:
        return f"a node has a name of at most {NAME_CHARACTERS_MAX:,} characters"
    if max(len(head.incarnation), len(head.seal)) > SEAL_BYTES_MAX:
        return _SEAL_TOO_LONG
    return "" if 0 < head.counter <= COUNTER_MAX else "a head counts writes, from 1 on"


def weight(assertion: Assertion) -> int:
    """For how many assertions of its agent's quota it counts: one, unless it is longer than sentences are."""
    statement = assertion.statement
    characters = sum(map(len, texts_of(statement))) + sum(map(len, names_of(statement))) + len(assertion.root)
    return 1 + characters // CHARACTERS_OF_ONE


def is_dot(dot: Dot) -> bool:
    """Whether it can name a write: counters start at 1."""
    return len(dot) == DOT_BYTES and any(dot[ACTOR_BYTES:])


def bounded(request: SearchRequest) -> SearchRequest:
    """A question that names no fact twice, and no more of them than anybody shows: each is answered with all it says."""
    if not isinstance(request, FactsRequest):
        return request
    ids = tuple(dict.fromkeys(request.fact_ids))[:DEPTH_MAX]
    return request if len(ids) == len(request.fact_ids) else structs.replace(request, fact_ids=ids)


def believable(reply: SearchReply, tenant: str) -> SearchReply:
    """Another node's reply without impossible facts: a node that relays assertions can't put other words under their ids."""
    if not isinstance(reply, FactsReply | ListReply):
        return reply
    facts = tuple(fact for fact in reply.facts if is_fact(fact, tenant))
    return reply if len(facts) == len(reply.facts) else structs.replace(reply, facts=facts)


def is_fact(fact: HiveFact, tenant: str) -> bool:
    """Whether there can be such a fact: its content decides its id, somebody vouches for it, and its numbers are possible."""
    claims = [(provenance.confidence, provenance.stamp) for provenance in fact.provenance]
    is_vouched_for = bool(claims) and all(0.0 <= sure <= 1.0 and 0 <= stamp.ms <= TIME_MS_MAX for sure, stamp in claims)
    is_measured = 0.0 <= fact.confidence <= 1.0 and 0.0 <= fact.trust <= TRUST_MAX
    return is_vouched_for and is_measured and fact_id(fact.statement.content, tenant) == fact.id


def malformed(assertion: Assertion) -> str:
    """Why an assertion is malformed, or ""."""
    if not (isfinite(assertion.confidence) and 0.0 <= assertion.confidence <= 1.0):
        return "a confidence is a number from 0 to 1"
    if not 0 <= assertion.ttl_ms <= TTL_MS_MAX:
        return "the lifetime of a fact is at most a year"
    if not (0 <= assertion.expires_ms <= TIME_MS_MAX and 0 <= assertion.stamp.ms <= TIME_MS_MAX):
        return "a time outside the calendar"
    if not is_believable(assertion.stamp, None) or len(assertion.stamp.actor) > STAMP_ACTOR_BYTES_MAX:
        return "timestamp out of range"
    if not (assertion.agent and len(assertion.agent) <= NAME_CHARACTERS_MAX and len(assertion.root) <= NAME_CHARACTERS_MAX):
        return f"an agent and its source need names, of at most {NAME_CHARACTERS_MAX:,} characters"
    if problem := _malformed_statement(assertion.statement):
        return problem
    return "" if can_travel(assertion.agent, assertion.root) else "text contains an unpaired surrogate"


def _malformed_statement(statement: Statement) -> str:
    texts = texts_of(statement)
    if not statement.content.strip():
        return "the text is empty"
    if max(map(len, texts)) > CONTENT_CHARACTERS_MAX:
        return f"a fact, its concept and the text before it have at most {CONTENT_CHARACTERS_MAX:,} characters each"
    if len(statement.vector) > VECTOR_BYTES_MAX:
        return f"an embedding has at most {VECTOR_BYTES_MAX // 2:,} dimensions"
    if sum(len(getattr(statement, name)) for name in LISTS) > NAMES_MAX:
        return f"a fact has at most {NAMES_MAX:,} {' and '.join(LISTS)}"
    names = (statement.model, *names_of(statement))
    if max(map(len, names)) > NAME_CHARACTERS_MAX:
        return f"a date, a speaker, a model, an entity or a label has at most {NAME_CHARACTERS_MAX:,} characters"
    return "" if can_travel(*texts, *names) else "text contains an unpaired surrogate"


def can_travel(*texts: str) -> bool:
    """Half a surrogate pair can be in a Python string, and in no message and no journal."""
    return "".join(texts).isascii() or not any("\ud800" <= character <= "\udfff" for text in texts for character in text)


def is_comparable(vector: Vector, dimension: int) -> bool:
    """Whether a vector is one of ours, and no longer than 1: a longer one would be nearer to every question than honest ones."""
    return vector.shape == (dimension,) and bool(
        np.abs(vector).max(initial=0.0) <= SQUARE_MAX and vector.dot(vector) <= SQUARE_MAX
    )


def answerable(probe: Probe, dimension: int) -> Probe:
    """A peer's question without what no index can be asked."""
    vector, counts, statistics = probe.vector, probe.statistics, probe.beside
    is_comparable_or_none = vector is None or is_comparable(vector, dimension)
    is_counted = all(term_statistics is None or are_counts(term_statistics) for term_statistics in (counts, statistics))
    if is_comparable_or_none and is_counted and 1 <= probe.depth <= DEPTH_MAX and all(probe.anchors.required):
        return probe
    return replace(
        probe,
        anchors=Anchors(tuple(name for name in probe.anchors.required if name), probe.anchors.is_pure),
        vector=vector if is_comparable_or_none else None,
        depth=min(max(probe.depth, 1), DEPTH_MAX),
        statistics=counts if is_counted else None,
        beside=statistics if is_counted else None,
    )


def are_counts(statistics: TermStatistics) -> bool:
    """Whether these can be counts. A sum of squares is no less than for equal lengths; members of old send none."""
    documents, length, squares = statistics.documents, statistics.total_length, statistics.total_squares
    figures = (documents, length, squares, *statistics.document_frequency.values())
    return all(map(isfinite, figures)) and min(figures) >= 0 and documents * squares >= length * length * _ROUNDED - _ROUNDING
