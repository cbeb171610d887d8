"""How well somebody fits a task, by the words of both. A queen and the routing of a federated hive ask the same."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from hive_mind.ranking.tokens import tokenize

CAN_FROM = 0.5
"""of the words of a domain that a task names: from here on it is one's own field"""


class CapabilityLevel(StrEnum):
    """From worst to best."""

    CANNOT_HANDLE = "cannot_handle"
    UNCERTAIN = "uncertain"
    CAN_HANDLE = "can_handle"
    BEST_FIT = "best_fit"


@dataclass(frozen=True, slots=True)
class Capability:
    """How well, how sure that is, from 0 to 1, and why, as a clause."""

    level: CapabilityLevel
    confidence: float
    why: str

    @property
    def may(self) -> bool:
        """Whether it comes into question at all."""
        return self.level is not CapabilityLevel.CANNOT_HANDLE


def terms_of(text: str) -> frozenset[str]:
    """The terms to compare: its words, letter case and endings aside, and itself: a domain called "IT" is no stop word."""
    return frozenset((*tokenize(text), text.strip().casefold()))


def can_handle(words: Iterable[str], domains: Iterable[str]) -> Capability:
    """How well who knows about `domains` fits a task of these words. No word in common: not at all.

    The confidence is the share of the words of its best domain that the task names.
    """
    task = frozenset(term for word in words for term in terms_of(word))
    best, name = max(((_share(task, name), name) for name in domains), default=(0.0, ""))
    if best <= 0.0:
        return Capability(CapabilityLevel.CANNOT_HANDLE, 0.0, "it shares no word with what it knows about")
    reason = f"the task names {best:.0%} of {name!r}"
    if best >= 1.0:
        return Capability(CapabilityLevel.BEST_FIT, 1.0, reason)
    level = CapabilityLevel.CAN_HANDLE if best >= CAN_FROM else CapabilityLevel.UNCERTAIN
    return Capability(level, best, reason)


def _share(task: frozenset[str], domain: str) -> float:
    terms = frozenset(tokenize(domain))
    return 1.0 if not task.isdisjoint((domain.strip().casefold(),)) else len(task & terms) / len(terms) if terms else 0.0


def chosen(words: Iterable[str], candidates: Iterable[tuple[str, Iterable[str]]]) -> str:
    """The name that fits best, of equals the first; "" where none comes into question."""
    task = tuple(words)
    capabilities = [(can_handle(task, domains), name) for name, domains in candidates]
    able = [(capability.confidence, name) for capability, name in capabilities if capability.may]
    return max(able, key=lambda pair: pair[0], default=(0.0, ""))[1]
