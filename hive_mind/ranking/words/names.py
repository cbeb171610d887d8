"""Names that are words of no weight otherwise: IT, US and WHO, Will, plan B, ward C, sensor γ; and words within getUserById.

Their capitals, and what stands beside them, tell; so they are found before a text loses its capitals.
"""

import re
from collections.abc import Collection

from hive_mind.regex import regex

MARK = "_"
"""Behind a word that is a name."""

# Each pattern begins with a capital, which is quickly looked for.
_CAPITALS = regex(r"[A-Z](?<![\w.:/@&'’-][A-Z])[A-Z]{0,6}(?![\w'’+#]|[.:/@&-]\w)(?:[ ,/&]{1,2}[A-Z]+(?!\w)){0,12}")
_CAPITAL = regex(r"[A-Z]+")
# More capitals side by side are a shout, and tell nothing.
_CAPITALS_MAX = 2
_TITLED = regex(r"[A-Z](?<=[a-z] [A-Z])[a-z]{1,6}(?= [a-z]|[.?!,;]|$)", re.MULTILINE)
_WILL = regex(
    r"Will(?<!\w....)(?= (?:[a-z]{2,20}ed|is|was|has|had|can|could|says|said|went|works|runs|owns|leads|likes|lives|and)\b)"
)
_OPENING_VOWELS = frozenset("AEIOUY")
# A letter of another alphabet: in capitals behind a word, or Greek behind a word that is not.
_LETTER = regex("[^\x00-\x7f](?<=[^\\W\\d_])(?<=\\w [^\x00-\x7f])(?![\\w'’]|[.:/@&-]\\w)")
_GREEK = regex("[α-ω](?<=[a-z] [α-ω])(?!\\w)")
_HUMP = regex(r"[A-Z](?<=[a-z][A-Z])[a-z]")
_HUMPS = regex(r"(?<=[a-z0-9])(?=[A-Z])")
_WORD_CHARACTERS_MAX = 64
# Of ASCII: capitals, small letters, spaces, and all else. Whether a text has anything to look for shows in it at once.
_SHAPES = bytes(
    ord("A" if chr(code).isupper() else "a" if chr(code).islower() else " " if code == 32 else ".") for code in range(128)
)
_SHAPES += bytes(128)
_SENTENCE_ENDS = frozenset('.!?:\n\x1e"“(')


def with_names(text: str, stop_words: Collection[str]) -> str:
    """The text with a mark behind each name that is written like one of `stop_words` or is a letter, and with what humps part."""
    is_ascii = text.isascii()
    shape = text.encode().translate(_SHAPES) if is_ascii else b""
    if not is_ascii or b"aAa" in shape:
        text = _parted(text)
        shape = text.encode().translate(_SHAPES) if is_ascii else b""
    if not is_ascii or b"A" in shape.replace(b"Aa", b""):
        text = _CAPITALS.sub(lambda match: _capitals(match, stop_words), text)
    if "Will" in text:
        text = _WILL.sub(_marked, text)
    if not is_ascii or b"a Aa" in shape:
        text = _TITLED.sub(lambda match: _marked(match) if match[0].lower() in stop_words else match[0], text)
    if is_ascii:
        return text
    return _GREEK.sub(_marked, _LETTER.sub(lambda match: _marked(match) if match[0].isupper() else match[0], text))


def _marked(match: re.Match[str]) -> str:
    return f"{match[0]}{MARK}"


def _capitals(match: re.Match[str], stop_words: Collection[str]) -> str:
    run = match[0]
    if len(run) > 1 and run.isalpha():
        return _marked(match) if run.lower() in stop_words else run
    if len(_CAPITAL.findall(run)) > _CAPITALS_MAX:
        return run
    opens = _opens(match.string, match.start())
    return _CAPITAL.sub(
        lambda word: _marked(word) if _is_named(word[0], stop_words, opens=opens and word.start() == 0) else word[0], run
    )


def _is_named(word: str, stop_words: Collection[str], *, opens: bool) -> bool:
    if len(word) > 1:
        return word.lower() in stop_words
    return word != "I" and not (opens and word in _OPENING_VOWELS)


def _opens(text: str, start: int) -> bool:
    """Whether a sentence begins here, as far as the signs before it tell."""
    before = text[max(0, start - 2) : start].rstrip(" ")
    return not before or before[-1] in _SENTENCE_ENDS


def _parted(text: str) -> str:
    """With the parts of each word in camel case behind it."""
    pieces: list[str] = []
    end = 0
    for hump in _HUMP.finditer(text):
        if hump.start() < end:
            continue
        first, last = _word_around(text, hump.start())
        word = text[first:last]
        if last - first <= _WORD_CHARACTERS_MAX and word[:2].islower():
            pieces += [text[end:last], " ", _HUMPS.sub(" ", word)]
            end = last
    return "".join([*pieces, text[end:]]) if pieces else text


def _word_around(text: str, place: int) -> tuple[int, int]:
    first = last = place
    while first > 0 and place - first <= _WORD_CHARACTERS_MAX and text[first - 1].isalnum():
        first -= 1
    while last < len(text) and last - place <= _WORD_CHARACTERS_MAX and text[last].isalnum():
        last += 1
    return first, last
