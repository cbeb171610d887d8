"""Text that is made to be obeyed: commands to a model, or words in the name of another agent or of an office.

Each rule has a name, which a reason gives and by which a person switches it off (`promotion.allowInstructions`). Rules look at
words alone, in English and, by `orders`, in German, French, Spanish, Italian and Portuguese, so they know the usual phrases and
miss others. The real protection: facts are data in every prompt, and agents speak for themselves. Every pattern is bounded.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from hive_mind.memory.gate.orders import ORDERS, is_elsewhere
from hive_mind.regex import regex

RuleName = Literal[
    "ignore-instructions",
    "role-marker",
    "new-role",
    "how-to-answer",
    "keep-from-people",
    "give-out",
    "use-tool",
    "to-models",
    "speaks-for-another",
]


@dataclass(frozen=True, slots=True)
class Rule:
    """A name, and what a text must have somewhere: in English, or in another language."""

    name: RuleName
    pattern: re.Pattern[str]
    elsewhere: re.Pattern[str]


def _rule(name: RuleName, pattern: str) -> Rule:
    return Rule(name, regex(pattern, re.IGNORECASE), regex(ORDERS[name], re.IGNORECASE))


_ORDERS = r"(?:instructions|rules|guidelines|orders|prompt|training)"
_TOLD = rf"(?:you(?:'ve| have)? (?:were|been|are) (?:told|given|taught)|your (?:\w+ ){{0,2}}{_ORDERS})"
_START = r"(?:^|[.!?:;,]\s{1,3}|\b(?:please|now|and|then|instead)\s)"
_SPEAKER = r"(?:the )?(?:moderator|administrator|admin|operator|system administrator|system|developer|agent \w{1,40})"

RULES = (
    _rule(
        "ignore-instructions",
        rf"{_START}(?:ignore|disregard|forget|discard|override|bypass|stop following)\b"
        rf"(?:[^.!?]{{0,40}}\b(?:previous|prior|earlier|above|everything)\b|[^.!?]{{0,30}}{_TOLD}"
        r"|[^.!?]{0,30}\b(?:you have been given|told you)\b)"
        rf"|{_START}(?:ignore|override|bypass|discard)\s(?:\w+\s){{0,3}}your (?:\w+ )?(?:rules|guidelines|instructions)"
        r"|\byou (?:are|were) no longer bound\b|\byour instructions have changed\b|\boverrides? the system prompt\b"
        r"|\b(?:must|may|shall) not follow the instructions of your\b",
    ),
    _rule(
        "role-marker",
        r"<\|?\s?/?(?:system|im_start|im_end|user|assistant)\b|\[/?INST\]|^[#\s]{0,8}(?:system|assistant|developer)\s?:"
        r"|^(?:assistant|model|ai),\s",
    ),
    _rule(
        "new-role",
        r"\byou are (?:now\b|an? (?:\w+ ){0,3}(?:assistant|model|ai)\b)|\byou will now (?:reply|act|answer|speak)\b"
        rf"|{_START}(?:act as|pretend (?:that you are|to be)|roleplay as)\b|\bas an ai\b[^.!?]{{0,20}}\byou\b"
        r"|\byou must (?:always|never|obey)\b|\bfrom now on,? (?:you|always|never|answer|reply)\b",
    ),
    _rule(
        "how-to-answer",
        rf"(?:^(?:when(?:ever)?|if)\b[^.!?]{{0,80}},\s?|{_START}(?:always |only )?)(?:always |only )?(?:reply|respond|answer)\b"
        r"[^.!?]{0,40}\b(?:with|that|only|as if|yes|no)\b"
        r"|^(?:when(?:ever)?|if)\b[^.!?]{0,40}\b(?:asked?|asks)\b[^.!?]{0,60},\s?(?:always |only )?"
        r"(?:say|answer|reply|respond|tell)\b"
        r"|\bin(?:to)? your (?:next )?(?:answer|reply|response)s?\b|\binto every (?:answer|reply)\b",
    ),
    _rule(
        "keep-from-people",
        r"\b(?:do not|don't|never)\b[^.!?]{0,15}\b(?:tell|mention|reveal|show)\b[^.!?]{0,40}"
        r"\b(?:user|your operator|the operator)\b"
        r"|\bunder no circumstances (?:tell|mention|reveal)\b",
    ),
    _rule(
        "give-out",
        rf"{_START}(?:reveal|print|show|output|repeat|list|send|post|copy|transfer|upload)\b[^.!?]{{0,50}}"
        r"(?:\bsystem prompt\b|\bhidden prompt\b|\byour (?:memory|instructions|prompt)\b|\byou (?:know|remember|give)\b"
        r"|\ball secrets\b)"
        r"|\bdelete (?:it|this|the facts of the other agents)\b",
    ),
    _rule(
        "use-tool",
        rf"{_START}(?:call the tool|use your tools?|run the following|execute (?:this|the following)"
        r"|store this (?:sentence|text|fact) in)\b",
    ),
    _rule(
        "to-models",
        r"\b(?:note|instructions?|message|order) (?:to|for) (?:the |all |every ){0,3}"
        r"(?:ai|assistants?|language models?|models?|agents|llms?)\b"
        r"|\bto the (?:assistant|model|ai) reading this\b|\b(?:ai )?(?:agents|models) (?:that|who) read this\b"
        rf"|{_START}(?:repeat|copy|store|send) this (?:message|text|sentence)?\s?(?:to|in|into) (?:every|all|each)\b"
        r"|\byour new task\b|\byou must obey\b|\bcomply with this text\b",
    ),
    _rule(
        "speaks-for-another",
        rf"\b(?:this is|i am|speaking as|as|on behalf of|in the name of|message from) {_SPEAKER}\b[^.!?]{{0,20}}"
        r"(?:speaking|[:,]\s?(?:i|all|trust|raise|give|print|ignore|the)\b|\bi (?:order|declare|retract|withdraw|take)\b"
        r"|\band i (?:retract|take|withdraw)\b)"
        r"|^i,? the (?:moderator|administrator|operator),|\bin the name of agent \w{1,40}\s?:|^agent \w{1,40} speaking\b"
        rf"|^{_SPEAKER} (?:says|hereby (?:orders?|instructs?))\s?:?\s?(?:you|all agents|every agent)\b"
        r"|\bi am your (?:developer|operator|owner)\b|\bi am the system administrator\b",
    ),
)


def instruction_in(text: str, allowed: Collection[str] = ()) -> str:
    """The name of the first rule that a text breaks, but those that are `allowed`; "" for none."""
    is_foreign = is_elsewhere(text)
    return next((rule.name for rule in RULES if rule.name not in allowed and _breaks(text, rule, is_foreign)), "")


def _breaks(text: str, rule: Rule, is_foreign: bool) -> bool:
    return bool(rule.pattern.search(text) or (is_foreign and rule.elsewhere.search(text)))
