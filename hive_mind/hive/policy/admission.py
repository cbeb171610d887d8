"""Conditions on an assertion to be let in: well formed, and its fact id and author match its content and seal.

Everything that comes from another node passes here once. A refusal is a reason, never an exception. Vectors and questions are
judged where they are compared: incomparable ones are left out, and the rest counts. Registry entries have writers of their own:

    agent/<name>                  an object: node, domain, voucher …      the agent itself, or a moderator
    trust/<name>                  a number, clamped to [0, 2]             moderators
    rating/<rater>/<subject>      {"good", "bad", "at_ms"}                the rater
    moderator/<name>              true or false                           founders: moderators the hive was set up with
    quarantine/<fact id>          true or why; false                      moderators
    retracted/<fact id>/<agent>   true or why: its own, until then        the agent, or a moderator
    retracted/<fact id>           true or why: everybody's, until then    moderators
    redacted/<fact id>            true or why: for ever                   moderators
    erasure/<kind>/<words>/<digest>  true or why: for ever                moderators
    erased/<node>/<kind>/<words>/<digest>  an object: its erased items      the node
    rule/<id>                     an object: how facts are judged         moderators
    state/<agent>/<key>           an object: shared by its runs           the agent

"Why" is a text or an object. Entries of retractions, redactions and erasures can't be deleted; a retracted fact may be asserted
again.
`model.erasure` defines erasures.

A name may hold any character; only in a rater and in the agent of a state, which stand before another name, "/" is written
%2F and "%" %25 (`rating_key`, `state_key`).
"""

from collections.abc import Collection
from dataclasses import replace
from math import isfinite
from typing import Any

import msgspec
import numpy as np
from msgspec import structs

from hive_mind.crdt import is_believable
from hive_mind.crdt.context import COUNTER_MAX, DOT_BYTES
from hive_mind.hive.policy import SEAL_BYTES_MAX, Seal, is_sealed
from hive_mind.model.bounds import DIMENSIONS_MAX
from hive_mind.model.erasure import Erasure, read_key
from hive_mind.model.evidence import (
    ACTOR_BYTES,
    LISTS,
    Assertion,
    Dot,
    Head,
    HiveFact,
    Removal,
    Sealed,
    Stamp,
    Statement,
    names_of,
    texts_of,
)
from hive_mind.model.fact import NAME_CHARACTERS_MAX
from hive_mind.model.gathered import Anchors, Probe, Vector
from hive_mind.model.ids import fact_id
from hive_mind.model.messages import Appointment, FactsReply, FactsRequest, ListReply, RegistryEntry, SearchReply, SearchRequest
from hive_mind.model.query import TermStatistics
from hive_mind.ranking.pipeline import TRUST_MAX

CONTENT_CHARACTERS_MAX = 64_000
NAMES_MAX = 1_000
VECTOR_BYTES_MAX = 2 * DIMENSIONS_MAX
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
    is_counted = all(term_statistics is None or are_counts(term_statistics) for term_statistics in (counts, statistics))
    return replace(
        probe,
        anchors=Anchors(tuple(name for name in probe.anchors.required if name), probe.anchors.is_pure),
        vector=vector if vector is not None and is_comparable(vector, dimension) else None,
        depth=min(max(probe.depth, 1), DEPTH_MAX),
        statistics=counts if is_counted else None,
        beside=statistics if is_counted else None,
    )


def are_counts(statistics: TermStatistics) -> bool:
    """Whether these can be counts. A sum of squares is no less than for equal lengths; members of old send none."""
    documents, length, squares = statistics.documents, statistics.total_length, statistics.total_squares
    figures = (documents, length, squares, *statistics.document_frequency.values())
    return all(map(isfinite, figures)) and min(figures) >= 0 and documents * squares >= length * length * _ROUNDED - _ROUNDING


KINDS = ("agent", "trust", "rating", "moderator", "quarantine", "retracted", "redacted", "erasure", "erased", "rule", "state")
OWN = {"rating": "ratings", "state": "values", "erased": "confirmations"}
"""Written by one agent alone, no moderator included."""
_FOR_GOOD = ("retracted", "redacted", "erasure", "erased")

# Far above any honest entry; a registry is held whole by every node.
KEY_CHARACTERS_MAX = 1_000
VALUE_CHARACTERS_MAX = 4_000
_NUMBER_MAX = 1 << 53
STAMP_ACTOR_BYTES_MAX = 64


def kind_of(key: str) -> str:
    """ "rating" of "rating/ann/bob"; whatever stands before the first "/"."""
    return key.partition("/")[0]


def subject_of(key: str) -> str:
    """The subject of an entry: the last name of its key."""
    kind, _, rest = key.partition("/")
    return rest.partition("/")[2] if kind == "rating" else rest


def rater_of(key: str) -> str:
    """The rater, of a rating's key; the owner, of a state's."""
    name = key.split("/", 2)[1]
    return name.replace("%2F", "/").replace("%25", "%") if "%" in name else name


def rating_key(rater: str, subject: str) -> str:
    return f"rating/{_escaped(rater)}/{subject}"


def state_key(agent: str, key: str) -> str:
    return f"state/{_escaped(agent)}/{key}"


def erased_key(node: str, erasure: Erasure) -> str:
    return f"erased/{_escaped(node)}/{erasure.key}"


def may_write(key: str, by: str, moderators: Collection[str], founders: Collection[str] = ()) -> str:
    """ "" if an entry of this writer counts, otherwise why not. Without `founders` any moderator may appoint."""
    kind = kind_of(key)
    if kind in OWN:
        return "" if rater_of(key) == by else f"only {rater_of(key)!r} may write its own {OWN[kind]}"
    if by and by == {"agent": subject_of(key), "retracted": subject_of(key).partition("/")[2]}.get(kind):
        return ""
    if kind == "moderator":
        return "" if by in (founders or moderators) else "only the founders of the hive appoint moderators"
    return "" if by in moderators or by in founders else f"only moderators write {kind}/…, and {by!r} is not one"


def problem_with(entry: RegistryEntry) -> str:
    """Why an entry is invalid whatever the rights of its writer, or ""."""
    return (
        problem_with_name(entry.key, entry.by)
        or problem_with_value(entry.key, entry.value)
        or _problem_with_stamp(entry.stamp, entry.seal)
        or (_problem_with_appointment(entry.appointment) if entry.appointment is not None else "")
        or (may_write(entry.key, entry.by, ()) if kind_of(entry.key) in OWN else "")
    )


def problem_with_name(key: Any, by: Any) -> str:
    if not isinstance(key, str) or not isinstance(by, str) or not can_travel(key, by):
        return "key and writer must be text"
    if len(key) > KEY_CHARACTERS_MAX or len(by) > KEY_CHARACTERS_MAX:
        return f"key and writer have at most {KEY_CHARACTERS_MAX} characters"
    if kind_of(key) not in KINDS or not subject_of(key):
        return f"a key is one of {', '.join(KINDS)}, a slash and a name, not {key!r}"
    if kind_of(key) == "rating" and (not rater_of(key) or rater_of(key) == subject_of(key)):
        return "a rating is of one agent by another"
    if kind_of(key) == "erasure" and read_key(subject_of(key)) is None:
        return "an erasure is of a subject, a source, an agent or a fact, and names it by its digest"
    if kind_of(key) == "erased" and read_key(subject_of(key).partition("/")[2]) is None:
        return "a confirmation is of a node, and of an erasure"
    if kind_of(key) == "state" and not all(subject_of(key).partition("/")[::2]):
        return "a state is of an agent, under a name"
    return ""


def problem_with_value(key: str, value: Any) -> str:
    if not isinstance(value, str) or len(value) > VALUE_CHARACTERS_MAX:
        return f"a value is JSON of at most {VALUE_CHARACTERS_MAX} characters"
    if not value:
        return f"{kind_of(key)}/… can't be deleted" if kind_of(key) in _FOR_GOOD else ""
    try:
        return _problem_with(kind_of(key), msgspec.json.decode(value))
    # RecursionError: brackets in brackets in brackets.
    except (ValueError, RecursionError):
        return "the value is not JSON"


def clamped(key: str, value: str) -> str:
    """The value as it is written: trust within [0, 2], and one spelling of true and false for moderators."""
    if kind_of(key) == "moderator":
        return value.strip()
    if kind_of(key) != "trust" or not value:
        return value
    return msgspec.json.encode(_clamped(msgspec.json.decode(value))).decode()


def value_of(entry: RegistryEntry) -> Any:
    """An entry's value as it is read, None where it was deleted. For entries without a problem."""
    if not entry.value:
        return None
    value = msgspec.json.decode(entry.value)
    return _clamped(value) if kind_of(entry.key) == "trust" else value


def _problem_with(kind: str, value: Any) -> str:
    if kind == "trust":
        return "" if _is_number(value) else "trust is a number from 0 to 2"
    if kind == "rating":
        is_good = isinstance(value, dict) and all(_is_count(value.get(name)) for name in ("good", "bad", "at_ms"))
        return "" if is_good else "a rating is an object of good, bad and at_ms, numbers that are not negative"
    if kind == "moderator":
        return "" if isinstance(value, bool) else "a moderator is true or false"
    if kind in ("agent", "rule", "state", "erased"):
        return "" if isinstance(value, dict) else f"the value of {kind}/… must be an object"
    says_why = value is True or (isinstance(value, str | dict) and bool(value))
    is_flag = says_why or (kind == "quarantine" and value is False)
    return "" if is_flag else f"the value of {kind}/… must be true or a reason"


def _problem_with_appointment(appointment: Any) -> str:
    if not isinstance(appointment, Appointment) or not isinstance(appointment.by, str) or not can_travel(appointment.by):
        return "an appointment is by somebody, in text"
    return _problem_with_stamp(appointment.stamp, appointment.seal) or (
        f"names have at most {KEY_CHARACTERS_MAX} characters" if len(appointment.by) > KEY_CHARACTERS_MAX else ""
    )


def _problem_with_stamp(stamp: Any, seal: Any) -> str:
    is_good = (
        isinstance(stamp, Stamp)
        and all(type(part) is int and 0 <= part < _NUMBER_MAX for part in (stamp.ms, stamp.counter))
        and isinstance(stamp.actor, bytes)
        and len(stamp.actor) <= STAMP_ACTOR_BYTES_MAX
        and isinstance(seal, bytes)
        and len(seal) <= SEAL_BYTES_MAX
    )
    return "" if is_good else "this is not a valid stamp"


def _escaped(name: str) -> str:
    return name.replace("%", "%25").replace("/", "%2F")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _NUMBER_MAX and isfinite(value)


def _is_count(value: Any) -> bool:
    return _is_number(value) and value >= 0


def _clamped(value: float) -> float:
    return min(max(float(value), 0.0), TRUST_MAX)
