"""The gate: which facts leave home. Decides and says why, in words for a person; touches nothing.

A fact held back stays its agent's, found by it as before. A gate that is unsure keeps the fact home: once it has left, it can't
be called back from its readers. Facts the hive knows already pass like any other, because they confirm.
"""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from hive_mind.memory.gate.disguises import forms_of
from hive_mind.memory.gate.instructions import instruction_in
from hive_mind.memory.gate.promotion_settings import PromotionSettings
from hive_mind.memory.gate.sensitive import sensitive_in
from hive_mind.memory.gate.small_talk import is_small_talk
from hive_mind.model.evidence import TEXTS, names_of, texts_of
from hive_mind.model.fact import KEPT_HOME, Fact
from hive_mind.regex import regex

_TAG = regex(r"<[^<>]{1,500}>")
_WORD = regex(r"[^\W_]+")
# Scripts written without spaces: each character is about half a word.
_WITHOUT_SPACES = regex(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a fact is shared; if not, `reason` says why, as a clause: "its text holds an e-mail address"."""

    is_shared: bool
    reason: str = ""


SHARED = Decision(True)
_CALLED = {"content": "its text", "before": "the text before it", "concept": "its topic"}


def decide(fact: Fact, settings: PromotionSettings) -> Decision:
    """The gate's decision on a fact as it is now."""
    if fact.held_back == KEPT_HOME:
        return Decision(False, KEPT_HOME)
    if settings.is_open:
        return SHARED
    reason = (
        _too_private(fact, settings) or _too_bossy(fact, settings) or _too_doubtful(fact, settings) or _too_poor(fact, settings)
    )
    return Decision(False, reason) if reason else SHARED


def _too_doubtful(fact: Fact, settings: PromotionSettings) -> str:
    if fact.confidence >= settings.confidence_min:
        return ""
    return f"its confidence {fact.confidence:.2f} is below {settings.confidence_min:.2f}"


def _too_poor(fact: Fact, settings: PromotionSettings) -> str:
    said = _TAG.sub(" ", fact.content.removeprefix(f"{fact.speaker}: "))
    words = _WORD.findall(said)
    if not any(c.isalpha() for c in said):
        return "its text has no words"
    solid = sum(not c.isspace() for c in said)
    if sum(map(len, words)) + _marks(said) < settings.letters_share_min * solid or len(said) < len(fact.content) / 3:
        return "its text is mostly symbols or markup"
    # A word said three times says no more than once.
    if len({word.casefold() for word in words}) + len(_WITHOUT_SPACES.findall(said)) // 2 < settings.words_min:
        return "its text is too short to say something to others"
    if is_small_talk(words):
        return "its text is small talk"
    return ""


def _marks(text: str) -> int:
    """Vowel signs and accents that are characters of their own: they belong to words, though no pattern calls them so."""
    return 0 if text.isascii() else sum(unicodedata.category(c).startswith("M") for c in text)


def _too_private(fact: Fact, settings: PromotionSettings) -> str:
    for what, text in _travelling(fact):
        kind = sensitive_in(text, credentials=settings.hold_back_secrets, personal=settings.hold_back_personal)
        if kind:
            return f"{what} holds {kind}"
    return ""


def _too_bossy(fact: Fact, settings: PromotionSettings) -> str:
    """A model that is given it might do what it says."""
    if not settings.hold_back_instructions:
        return ""
    for what, text in _travelling(fact):
        said = text.removeprefix(f"{fact.speaker}: ") if fact.speaker else text
        if rule := next(filter(None, (instruction_in(form, settings.allowed_instructions) for form in forms_of(said))), ""):
            return f"{what} looks like an instruction (rule {rule})"
    return ""


def _travelling(fact: Fact) -> Iterable[tuple[str, str]]:
    """All that others would get to read, with what to call it."""
    yield from zip((_CALLED.get(name, f"its {name}") for name in TEXTS), texts_of(fact), strict=True)
    # Line by line, so that no two of them make a third.
    yield "a name it mentions", "\n".join(names_of(fact))
    yield "its source", "\n".join(fact.sources)
