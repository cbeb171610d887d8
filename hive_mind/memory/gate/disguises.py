"""A text as a reader sees it whom no markup, alphabet or spelling misleads: what the gate looks at besides the plain text.

Numbers in words become digits, letters of two alphabets in one word those of one, and marks that only lay out a text go. Each
form is looked at for itself, so what is found in the text as it stands is found still.
"""

import re
import unicodedata
from collections.abc import Iterator

from hive_mind.memory.gate.number_words import CONNECTIVES, LANGUAGES, NUMBERS
from hive_mind.memory.gate.secret_words import DIRECTIONS
from hive_mind.model.normal_form import normal, without_comments, without_tags
from hive_mind.regex import regex

# Letters of the Greek and the Cyrillic alphabet that look like Latin ones.
_ALIKE = str.maketrans("АВЕЅІЈКМНОРСТХУасеіјорхуѕһԁΑΒΕΖΗΙΚΜΝΟΡΤΥΧαονι", "ABESIJKMHOPCTXYaceijopxyshdABEZHIKMNOPTYXaovi")
_FOREIGN = regex(r"[\u0370-\u03ff\u0400-\u052f]")
_LATIN = regex(r"[A-Za-z]")
# "**4711**", "~~old~~", "`key`"; one star or line only at the edge of a word, or between digits.
_EMPHASIS = regex(r"\*{2,3}|_{2,3}|~~|`{1,3}|(?<!\w)[*_]|[*_](?!\w)|(?<=\d)[*_~](?=\d)")
_ESCAPED = regex(r"\\([-!#&()*+.<>@\[\]_`{|}~])")
_PERCENT = regex(r"%(?:20|2[dDeE]|40)")
_PERCENT_FOR = {"%20": " ", "%2d": "-", "%2e": ".", "%40": "@"}
_MAY_BE_MARKED = regex(r"[<&*_`~\\%]")
_WORD = regex(r"[^\W\d_]+")
_GAP = regex(r"[ ,\-\u00a0]{1,3}|\s")
_DIRECTION = regex(DIRECTIONS)
# Fewer number words in a row are part of a sentence.
_NUMBER_WORDS_MIN = 3
_TURNS_MIN = 2
_HAN = "〇一二三四五六七八九"
_HAN_DIGITS = regex(rf"(?:[{_HAN}零幺][ -]?){{4,40}}+")
_HAN_FOR = str.maketrans({"零": "0", "幺": "1"} | {character: str(digit) for digit, character in enumerate(_HAN)})


def forms_of(text: str) -> Iterator[str]:
    """The text and what is under its disguises, each once."""
    plain = bare = _plain(text)
    yield plain
    if _MAY_BE_MARKED.search(plain) and (bare := _bare(plain)) != plain:
        yield bare
    if (spelled := in_digits(bare)) != bare:
        yield spelled


def _plain(text: str) -> str:
    """One kind of dash, of letters and of digits."""
    if text.isascii():
        return text
    plain = "".join(_shown(c) for c in normal(text))
    return _WORD.sub(_in_one_alphabet, plain) if _FOREIGN.search(plain) else plain


def _in_one_alphabet(word: re.Match[str]) -> str:
    is_mixed = _FOREIGN.search(word[0]) and _LATIN.search(word[0])
    return word[0].translate(_ALIKE) if is_mixed else word[0]


def _shown(character: str) -> str:
    category = unicodedata.category(character)
    if category == "Pd":
        return "-"
    # ① and ² are digits to a reader of numbers.
    return str(digit) if category == "No" and (digit := unicodedata.digit(character, None)) is not None else character


def _bare(text: str) -> str:
    """Without tags, references, comments, emphasis and escapes. Twice, for what is escaped in an escape."""
    for _ in range(2):
        text = without_tags(without_comments(text)[0])
    text = _PERCENT.sub(lambda found: _PERCENT_FOR[found[0].lower()], _plain(text))
    return _EMPHASIS.sub("", _ESCAPED.sub(r"\1", text))


def in_digits(text: str) -> str:
    """Three number words and more in a row as digits: "four seven one one" as 4711, "thirty-four, twelve, two" as 34 12 2."""
    if not text.isascii():
        text = _HAN_DIGITS.sub(lambda found: found[0].translate(_HAN_FOR), text)
    if sum(map(NUMBERS.__contains__, _WORD.findall(text.lower()))) < _NUMBER_WORDS_MIN:
        return text
    pieces, at = [], 0
    for run in _runs(text):
        if len(run) >= _NUMBER_WORDS_MIN:
            pieces += [text[at : run[0].start()], _digits(run, text)]
            at = run[-1].end()
    return "".join((*pieces, text[at:])) if pieces else text


def _runs(text: str) -> Iterator[list[re.Match[str]]]:
    """Number words of one language with nothing but a comma, a hyphen or an "and" between them."""
    run: list[re.Match[str]] = []
    between, common = 0, frozenset[str]()
    for word in _WORD.finditer(text):
        lower = word[0].lower()
        is_near = bool(run) and bool(_GAP.fullmatch(text, between, word.start()))
        between = word.end()
        if is_near and (lower in CONNECTIVES or _DIRECTION.fullmatch(lower)):
            continue
        spoken = LANGUAGES.get(lower, frozenset())
        # German "um" is no Portuguese number.
        if is_near and (shared := common & spoken):
            run, common = [*run, word], shared
            continue
        if run:
            yield run
        run, common = ([word] if spoken else []), spoken
    if run:
        yield run


def _digits(run: list[re.Match[str]], text: str) -> str:
    """Single digits as one number, as they are dictated; others apart. "thirty" and "four" without a comma are 34."""
    values: list[int] = []
    between: list[str] = []
    end = run[0].start()
    for word in run:
        value, gap = NUMBERS[word[0].lower()], text[end : word.start()]
        if values and 0 < value < 10 and values[-1] in range(20, 100, 10) and "," not in gap:
            values[-1] += value
        else:
            values.append(value)
            between.append(gap)
        end = word.end()
    # One alone is beside a number; two say how to turn a dial.
    if sum(bool(_DIRECTION.search(gap.lower())) for gap in between) >= _TURNS_MIN:
        return "".join(f"{gap}{value}" for gap, value in zip(between, values, strict=True))
    return ("" if max(values) < 10 else " ").join(map(str, values))
