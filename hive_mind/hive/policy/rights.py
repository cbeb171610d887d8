"""Validity of registry entries, and the right to write them. Plain functions: any value gets a reason, never an error.

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
from math import isfinite
from typing import Any

import msgspec

from hive_mind.hive.policy.seal import SEAL_BYTES_MAX
from hive_mind.model.erasure import Erasure, read_key
from hive_mind.model.evidence import Stamp
from hive_mind.model.messages import Appointment, RegistryEntry
from hive_mind.ranking.pipeline import TRUST_MAX

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
    """The key of what one agent thinks of another."""
    return f"rating/{_escaped(rater)}/{subject}"


def state_key(agent: str, key: str) -> str:
    """The key of a value that an agent's runs share with all others."""
    return f"state/{_escaped(agent)}/{key}"


def erased_key(node: str, erasure: Erasure) -> str:
    """The key under which a node confirms that it let go of what is to be erased."""
    return f"erased/{_escaped(node)}/{erasure.key}"


def retracted_agent_of(key: str) -> str:
    """The agent named in a retraction's key: its assertions are taken back, "" for all agents'."""
    return subject_of(key).partition("/")[2]


def may_write(key: str, by: str, moderators: Collection[str], founders: Collection[str] = ()) -> str:
    """ "" if an entry of this writer counts, otherwise why not. Without `founders` any moderator may appoint."""
    kind = kind_of(key)
    if kind in OWN:
        return "" if rater_of(key) == by else f"only {rater_of(key)!r} may write its own {OWN[kind]}"
    if by and by == {"agent": subject_of(key), "retracted": retracted_agent_of(key)}.get(kind):
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
    """Why this is no key or no writer, or ""."""
    if not isinstance(key, str) or not isinstance(by, str) or not _is_text(key) or not _is_text(by):
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
    """Why this is no value for a key that is fine, or ""."""
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
    if not isinstance(appointment, Appointment) or not isinstance(appointment.by, str) or not _is_text(appointment.by):
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


def _is_text(text: str) -> bool:
    # Half a surrogate pair can be in a Python string, and in no message.
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _NUMBER_MAX and isfinite(value)


def _is_count(value: Any) -> bool:
    return _is_number(value) and value >= 0


def _clamped(value: float) -> float:
    return min(max(float(value), 0.0), TRUST_MAX)
