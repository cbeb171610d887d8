"""Batches: a long text cut into parts that fit one request, without overlap, where a reader would pause.

Overlap would let one statement be extracted twice in two wordings, which no identifier can tell apart.
"""

# In order of preference. Below three quarters of a full batch any end of a line or sentence beats a better one further ahead.
_PAUSES = ("\n\n", "\n", ". ", " ")
_FILLED_MIN = 0.75


def batches(text: str, chars_max: int) -> list[str]:
    """Parts of at most `chars_max` characters that together hold every word of the text in order; none is blank."""
    parts: list[str] = []
    start = 0
    while start < len(text):
        end = _end_of_batch(text, start, chars_max)
        part = text[start:end].strip()
        if part:
            parts.append(part)
        start = end
    return parts


def _end_of_batch(text: str, start: int, chars_max: int) -> int:
    end = start + chars_max
    if end >= len(text):
        return len(text)
    earliest = start + int(chars_max * _FILLED_MIN)
    for pause in _PAUSES:
        found = text.rfind(pause, earliest, end)
        if found > start:
            return found + len(pause)
    return end
