"""The second hop: what the best passage names and the question doesn't is asked for, too.

"Where was the author of X born?" is answered where his name stands, which only the passage about X says. So the names in the best
passage are a second question, and what it finds gains by it. Off in dialogue, where the best turn names who speaks and little
else. In a hive it costs one fetch and one more round of questions, so `RankingSettings.second_hop` has to allow it.
"""

from collections.abc import Collection
from dataclasses import replace
from typing import Protocol

import numpy as np

from hive_mind.model.probe import Anchors, Pool, Probe
from hive_mind.ranking.tokens import tokenize
from hive_mind.regex import regex

WEIGHT = 0.2
"""What the best match of the names gains. Raise it and they outrank what the question itself finds (docs/adr/0003-ranking.md)."""
# A passage names its subject and what matters about it first. More terms find more passages that share any of them.
_TERMS_MAX = 16
_WORD = regex(r"[^\W\d_][\w'’-]+")


class Passage(Protocol):
    """What was found."""

    @property
    def content(self) -> str:
        """What is said."""
        ...

    @property
    def speaker(self) -> str:
        """By whom, or ""."""
        ...


def may_hop(probe: Probe) -> bool:
    """Whether a question has words to go beyond; one of nothing but identifiers says all it wants."""
    return bool(probe.terms) and not probe.anchors.is_pure


def second_probe(probe: Probe, best: Passage) -> Probe | None:
    """The second question, None where the passage names nothing more. `best` is the first answer to `probe`."""
    names = names_beyond(best.content, frozenset(probe.terms)) if not best.speaker else ()
    return replace(probe, terms=names, anchors=Anchors(), statistics=None, beside=None) if names else None


def names_beyond(text: str, asked: Collection[str]) -> tuple[str, ...]:
    """Terms of the words with a capital that are not asked for, each once, in the order of the text."""
    terms = dict.fromkeys(term for word in _WORD.findall(text) if word[0].isupper() for term in tokenize(word))
    return tuple(term for term in terms if term not in asked)[:_TERMS_MAX]


def lent(second: Pool, best: str) -> dict[str, float]:
    """What each candidate gains, by id: `WEIGHT` for the one that matches the names best, and for the passage that has them.

    Without that the passage would fall behind what it led to.
    """
    others = np.array([0.0 if id == best else score for id, score in zip(second.ids, second.keyword.tolist(), strict=True)])
    highest = others.max(initial=0.0)
    shares = WEIGHT * others / highest if highest > 0 else others
    return {**dict(zip(second.ids, shares.tolist(), strict=True)), best: WEIGHT if highest > 0 else 0.0}


def unscored(second: Pool) -> Pool:
    """The candidates of the second question as the first scores them: those it did not find have less of its words than any."""
    none = np.zeros_like(second.keyword)
    return Pool(second.ids, none, second.semantic, none)
