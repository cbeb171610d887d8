"""The turns around it: a turn of a conversation gains by those of its session that match, and by the one that follows; and where
its speaker is named in the question: answers about Ana come from Ana, and the others only call her by her name.

People name a thing once and go on about it without its name, as long as there are two of them: in a room of many several
conversations go on at once, and there neighbours say nothing about each other. The place of a fact takes 24 bytes, which follow
from its other fields. So all members of a hive say the same, and candidates gain once the asker has all of them. A fact from
outside a dated conversation has no place, gains nothing and lends nothing.

In a chat with an assistant the person is called "user", and asks as "I": what is asked so is in the person's own messages rather
than in the answers, dated or not. An answer says at length what the message before it is about, which gains by it.
"""

from collections.abc import Sequence
from hashlib import blake2b
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hive_mind.model.gathered import NOWHERE, PLACE
from hive_mind.model.ids import DEFAULT_TENANT, fact_id, shown
from hive_mind.ornament import ornament
from hive_mind.regex import regex

Scores = NDArray[np.floating[Any]]

# Of the best of a session its mean is taken: one alone may have matched by chance, and a long session is not a better one.
# Measured in docs/adr/0003-ranking.md, as is that the turn before should lend nothing: its text is indexed with the fact already.
_BEST_OF_A_SESSION = 3
_SHARE_OF_THE_NEXT, _SHARE_OF_THE_ANSWER = 0.25, 0.75
_SHARE_OF_WHO_IS_NAMED = 0.2
_SHARE_OF_WHO_ASKS = 1.0
ROLES_OF_WHO_ASKS = frozenset(("user", "human"))
_FIRST_PERSON = frozenset("i me my mine myself".split())
_SPEAKERS_MAX, _SESSIONS_OF_TWO_MIN = 2, 0.8
_KEY_BYTES = 8
# Before a colon there is no name longer than this.
_NAME_CHARACTERS_MAX = 40
_NAME = regex(r"\b[A-Z][\w-]*")
_WORD = regex(r"[^\W\d_]+")
_DAY_CHARACTERS = len("2023-05-08")


class Spoken(Protocol):
    """The parts of a fact, or of a statement in a hive, that tell where it was said."""

    @property
    def said_at(self) -> str:
        """When, ISO 8601 or ""."""

    @property
    def speaker(self) -> str:
        """Its speaker, or ""."""

    @property
    def before(self) -> str:
        """The text just before, or ""."""


def has_place(spoken: Spoken) -> bool:
    """Whether it was said in a dated conversation, by a person to an assistant, or as the answer."""
    return _is_dated(spoken) or spoken.speaker in ROLES_OF_WHO_ASKS or _name_before(spoken) in ROLES_OF_WHO_ASKS


def place_of(spoken: Spoken, source: str, tenant: str = DEFAULT_TENANT) -> bytes:
    """Where a source said it, as an entry of `PLACE`. A session is what one source said in one day."""
    if not has_place(spoken):
        return NOWHERE
    day, name = spoken.said_at[:_DAY_CHARACTERS], _name_before(spoken)
    session = _key(f"{day}\0{source}", _KEY_BYTES) if _is_dated(spoken) else bytes(_KEY_BYTES)
    # As that turn is kept, or curly quotes in it would hide that it is the one before.
    before = bytes.fromhex(fact_id(shown(spoken.before), tenant)[: 2 * _KEY_BYTES]) if spoken.before else bytes(_KEY_BYTES)
    other_key = _key(name, _KEY_BYTES // 2) if name else bytes(_KEY_BYTES // 2)
    return session + before + _key(spoken.speaker, _KEY_BYTES // 2) + other_key


def is_said(places: bytes, row: int) -> bool:
    """Whether somebody said it in a conversation, from which names never lead on."""
    place = places[row * PLACE.itemsize : (row + 1) * PLACE.itemsize]
    return place not in (b"", NOWHERE) and int(np.frombuffer(place, PLACE)["speaker"][0]) != _NOBODY


def _name_before(spoken: Spoken) -> str:
    name, colon, _ = spoken.before[: _NAME_CHARACTERS_MAX + 2].partition(": ")
    return name if colon else ""


def _is_dated(spoken: Spoken) -> bool:
    return bool(spoken.speaker) and len(spoken.said_at) >= _DAY_CHARACTERS


def _speaker_key(name: str) -> int:
    return int.from_bytes(_key(name, _KEY_BYTES // 2), "little")


def _key(text: str, size: int) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size).digest()


@ornament(lambda _: frozenset[int]())
def speakers_named(question: str) -> frozenset[int]:
    """Possible speakers among the names of a question, as in `PLACE`: each word with a capital, and each two in a row; and the
    person asking, if the question is about them."""
    words = _NAME.findall(question)
    pairs = [f"{first_word} {second_word}" for first_word, second_word in pairwise(words)]
    keys = frozenset(_speaker_key(name) for name in (*words, *pairs)) - _KEYS_OF_WHO_ASKS
    return keys if _FIRST_PERSON.isdisjoint(_WORD.findall(question.casefold())) else keys | _KEYS_OF_WHO_ASKS


def gained(
    ids: Sequence[str], relevance: Scores, places: bytes, weight: float, named_speakers: frozenset[int] = frozenset()
) -> Scores:
    """The gain of each candidate: `weight` times the mean of its session's best, a quarter of the next turn's relevance (three
    of an assistant's answer), a fifth where the question names its speaker, and all of it where it says "I" and a person said it
    to an assistant.

    `places` are those of the candidates, or empty where none has one. Shapes (candidates,).
    """
    if not places or not weight:
        return np.zeros_like(relevance)
    place_rows = np.frombuffer(places, dtype=PLACE)
    is_answer = np.isin(place_rows["other"], _ASKING) & ~np.isin(place_rows["speaker"], _ASKING)
    shares_lent = np.where(is_answer, _SHARE_OF_THE_ANSWER, 0.0)
    shares = np.zeros(len(relevance))
    if _are_of_two(place_rows):
        shares_lent[~is_answer & (place_rows["session"] != 0)] = _SHARE_OF_THE_NEXT
        shares += _of_the_session(relevance, place_rows["session"])
        if names := named_speakers - _KEYS_OF_WHO_ASKS:
            shares += _SHARE_OF_WHO_IS_NAMED * np.isin(place_rows["speaker"], list(names))
    shares += _of_the_next(ids, relevance * shares_lent, place_rows["before"])
    if asking := named_speakers & _KEYS_OF_WHO_ASKS:
        shares += _SHARE_OF_WHO_ASKS * np.isin(place_rows["speaker"], list(asking))
    return (weight * shares).astype(relevance.dtype)


def _are_of_two(places: NDArray[np.void]) -> bool:
    """Whether nearly all sessions are conversations of two, as far as the candidates and those they follow tell."""
    keys = np.concatenate([places["speaker"], places["other"]])
    rows = keys.nonzero()[0]
    keys, sessions = keys[rows], np.tile(places["session"], 2)[rows]
    order = np.lexsort((keys, sessions))
    begins = _changes(sessions[order])
    speakers = np.bincount(begins.cumsum()[begins | _changes(keys[order])])[1:]
    return len(speakers) > 0 and float(np.mean(speakers <= _SPEAKERS_MAX)) >= _SESSIONS_OF_TWO_MIN


def _changes(sorted_keys: NDArray[np.unsignedinteger[Any]]) -> NDArray[np.bool_]:
    """Where another key begins; of nothing nowhere."""
    return np.concatenate([[True], sorted_keys[1:] != sorted_keys[:-1]])[: len(sorted_keys)]


def _of_the_session(relevance: Scores, session: NDArray[np.uint64]) -> Scores:
    """The mean of the best others of each candidate's session; where there are fewer, missing ones count as 0."""
    order = np.lexsort((-relevance, session))
    sessions, best = session[order], relevance[order].astype(np.float64)
    starts = np.flatnonzero(_changes(sessions))
    sizes = np.diff(starts, append=len(order))
    rank = np.arange(len(order)) - starts.repeat(sizes)
    first = np.where(rank <= _BEST_OF_A_SESSION, best, 0.0)
    # Of those that are among the best themselves the next one counts in their place.
    among = np.add.reduceat(first, starts).repeat(sizes) - best
    sums = np.add.reduceat(np.where(rank < _BEST_OF_A_SESSION, best, 0.0), starts).repeat(sizes)
    shares = np.zeros(len(order))
    shares[order] = np.where(rank < _BEST_OF_A_SESSION, among, sums) / _BEST_OF_A_SESSION
    shares[session == 0] = 0.0
    return shares


def _of_the_next(ids: Sequence[str], lent: Scores, before: NDArray[np.uint64]) -> Scores:
    """The share that the candidate behind each lends it; of several, as where something was said twice, the highest."""
    shares = np.zeros(len(ids))
    rows = before.nonzero()[0]
    keys = before[rows].tobytes().hex()
    row_of = {id[: 2 * _KEY_BYTES]: row for row, id in enumerate(ids)}
    width = 2 * _KEY_BYTES
    for place, row in enumerate(rows.tolist()):
        former = row_of.get(keys[place * width : (place + 1) * width])
        if former is not None and former != row:
            shares[former] = max(shares[former], lent[row])
    return shares


_KEYS_OF_WHO_ASKS = frozenset(map(_speaker_key, ROLES_OF_WHO_ASKS))
_ASKING = sorted(_KEYS_OF_WHO_ASKS)
_NOBODY = _speaker_key("")
