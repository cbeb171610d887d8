"""Indirect questions: "Can you tell me when the ferry leaves?" asks when it leaves, and not for yes or no."""

import re

from hive_mind.regex import regex

_ASKER = r"(?:we|you|anyone|anybody|someone|somebody)"
_POLITELY = (
    rf"(?:can|could|would|will) {_ASKER}(?: please)? (?:tell|remind|show) (?:me|us)|"
    rf"(?:do|does|did) {_ASKER}(?: happen to)? (?:know|remember|recall)|(?:please )?(?:tell|remind) (?:me|us)|"
    r"(?:I|we)(?: would|['’]d)? (?:want|like|need) to know|(?:weißt du|wisst ihr|wissen wir|kannst du (?:mir|uns) sagen),?"
)
_W_WORD = r"(?:who|whom|whose|what|when|where|which|why|how|wer|was|wann|wo|wie|welche[rsmn]?|warum)"
_INDIRECT = regex(
    rf"^\s*(?:{_POLITELY}) (?:(?P<asked>{_W_WORD}\b.+)|"
    r"(?P<thing>(?:the|our|my|your|its|their|his|her) (?!(?:whole|full|entire)\b).+))$",
    re.IGNORECASE | re.DOTALL,
)
_QUESTION_CHARS_MAX = 1000


def direct(question: str) -> str:
    """The question as it is asked directly."""
    found = _INDIRECT.match(question[:_QUESTION_CHARS_MAX])
    if found is None:
        return question
    return found["asked"] or f"What is {found['thing']}"
