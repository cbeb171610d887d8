"""The one tokenizer: text to terms, the same for facts, documents and questions.

Terms are lower-cased, stripped of accents, freed of stop words and stemmed (`languages`). A code such as "CVE-2024-1234" or
"75.1725" gives its parts and itself, so that a search for the whole code can tell it from its neighbours. Figures come in one
form, and a word that would be dropped stays where its capitals make a name of it (`names`).

`tokenize` gives words. An index holds `indexed_terms` and is asked for `question_terms`: these have grams beside the words,
except in English.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import cache

from hive_mind.model.figures import plain_figures
from hive_mind.model.normal_form import normal, with_hyphens
from hive_mind.ranking.words.languages import GRAM, STOP_WORDS, grams, is_latin, is_marked, leaning, says_nothing, stem
from hive_mind.ranking.words.names import MARK as NAMED
from hive_mind.ranking.words.names import with_names
from hive_mind.regex import regex
from hive_mind.remembered import remembered

# Ends with the signs of "C++" and "C#" where it has them.
_SIGNS_BEHIND = r"(?:(?<=[^\W\d_])(?:\+{1,2}|\#)(?![\w+\#]))?"
_RUN = regex(rf"\w+(?:[.\-:/_@]\w+)*{_SIGNS_BEHIND}", re.UNICODE)
_PART = regex(r"[^.\-:/_@+\#]+")
_POSSESSIVE = regex(r"['’]s\b|['’](?=t\b)", re.IGNORECASE)
_NOT_ASCII = regex("[^\x00-\x7f]+")
_HAS_DIGIT = regex(r"\d")
# Scripts whose vowel signs are marks, without which a word is another: from Devanagari to those of South East Asia.
_SIGNED = ((0x0900, 0x1CFF), (0xA800, 0xABFF), (0x11000, 0x11FFF))
_HAS_SIGNS = regex("[" + "".join(f"{chr(first)}-{chr(last)}" for first, last in _SIGNED) + "]")
# Scripts written without spaces, or with few: kana, Han, Hangul. Pairs of neighbouring characters stand in for words. In Thai,
# Lao, Burmese and Khmer, where a character is a letter, three do (docs/adr/0003-ranking.md).
_UNSPACED = regex("([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+)")
_LETTERS_END = "\u3040"
# Where one of them meets Latin letters or figures, which are words of their own.
_SEAM = regex(
    "(?<=[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff])(?=[0-9a-zA-Z])|(?<=[0-9a-zA-Z])(?=[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff])"
)
# "roll-back" is "rollback", "wi-fi" is "wifi"; nobody joins "two-dimensional"; with it Cranfield loses .4 points of nDCG@10.
_COMPOUND = regex(r"(?=[^-]{1,5}-[^-]{1,5}\Z)(?=.{3,9}\Z)[^\W\d_]+-[^\W\d_]+")
# The marks that make か into が and は into ぱ: another letter, not an accent.
_VOICED = "\u3099\u309a"
_NUKTA = 7
"""Combining class of the dot of India's scripts that many leave out."""
# Letters that no mark makes of others, though people type those in their place; and one that only stretches a word.
_TYPED_AS = str.maketrans(
    {
        **dict(zip("łŁđĐøØıħĦŧŦÐð", "lLdDoOihHtTDd", strict=True)),
        **dict(zip(("æ", "Æ", "œ", "Œ", "þ", "Þ"), ("ae", "AE", "oe", "OE", "th", "TH"), strict=True)),
        **dict(zip("کیـ", ("ك", "ي", ""), strict=True)),
    }
)
# Between texts: no part of a word, and as good as a line break where it stands in one.
MARK = "\x1e"
# A longer run is no word anybody types: base64, a hash dump, a broken file. It would only bloat the index.
_TERM_CHARACTERS_MAX = 64
# Texts remembered with what they become: judging the facts that a question found looks at each of them a dozen times.
_TEXTS_MAX = 512
# Words remembered with what they become: those of a language, some 300 bytes each. Numbers and names that come once pass through.
_KNOWN_MAX = 1 << 14


def tokenize(text: str) -> list[str]:
    """Words of `text` in order, repeats kept. Any string is fine; one without words gives an empty list."""
    terms: list[str] = []
    for run in _runs(_folded(text)):
        terms += _words_in(run)
    return terms


@remembered(_TEXTS_MAX)
def terms_in(text: str) -> frozenset[str]:
    """The words of `text`, each once."""
    return frozenset(tokenize(text))


def indexed_terms(text: str) -> list[str]:
    """Terms of a text by which an index finds it, repeats kept."""
    runs = _runs(_folded(text))
    leans = leaning(runs)
    is_english = leans > 0 or (leans == 0 and not is_marked(text))
    return [term for run in runs for term in terms_of(run, is_english)]


def is_english(text: str) -> bool:
    """Whether a text is plainly in no other language."""
    return not any(term.startswith(GRAM) for term in indexed_terms(text))


def question_terms(text: str) -> tuple[str, ...]:
    """Terms to ask an index for: the words with their repeats, then each gram once.

    A few words may be of any language, so only a question that is plainly English is not asked for its grams.
    """
    runs = _runs(_folded(text))
    leans = leaning(runs)
    words = [term for run in runs if not says_nothing(run, leans >= 0) for term in _words_in(run)]
    return (*words, *dict.fromkeys(gram for run in runs for gram in _grams_to_ask_for(run, leans > 0)))


def runs_of_all(texts: Sequence[str]) -> tuple[list[str], list[int]]:
    """The runs of characters in many texts that `terms_of` makes terms of, and how many each text has."""
    marked = MARK.join(texts)
    if marked.count(MARK) >= len(texts):
        marked = MARK.join(text.replace(MARK, "\n") for text in texts)
    runs: list[str] = []
    counts = []
    for text in _folded(marked).split(MARK) if texts else ():
        counts.append(len(runs_found := _runs(text)))
        runs += runs_found
    return runs, counts


def terms_of(run: str, is_english: bool) -> tuple[str, ...]:
    """Words and grams of a run for an index."""
    # Long runs are rare and not repeated: remembering them would only hold memory.
    return _known_terms_of(run, is_english) if len(run) <= _TERM_CHARACTERS_MAX else _terms_of(run, is_english)


def _terms_of(run: str, is_english: bool) -> tuple[str, ...]:
    # The grams of function words stay: the same letters begin other words, and compounds.
    return (*(() if says_nothing(run, is_english) else _split(run)), *_grams_of(run, is_english))


_known_terms_of = remembered(_KNOWN_MAX)(_terms_of)


def _runs(text: str) -> list[str]:
    """Of a folded text."""
    if text.isascii() or _HAS_SIGNS.search(text) is None:
        return _RUN.findall(text)
    return _signed_run().findall(text)


@cache
def _signed_run() -> re.Pattern[str]:
    """As `_RUN`, with signs as parts of words; three times as slow."""
    codes = [code for first, last in _SIGNED for code in range(first, last + 1)]
    letter = rf"(?:\w|[{''.join(chr(code) for code in codes if unicodedata.category(chr(code))[0] == 'M')}])++"
    return re.compile(rf"{letter}(?:[.\-:/_@]{letter})*+{_SIGNS_BEHIND}")


def _folded(text: str) -> str:
    """Without case, accents and possessives, figures in one form. Plain ASCII, the common case, skips the Unicode work."""
    if not text.isascii():
        # ASCII between stays as it is in every step, so only the rest has to be looked at.
        text = _NOT_ASCII.sub(_bare, with_hyphens(text))
        text = _SEAM.sub(" ", text) if _UNSPACED.search(text) else text
    text = with_names(plain_figures(text), STOP_WORDS).casefold()
    return _POSSESSIVE.sub("", text) if "'" in text or "’" in text else text


def _bare(match: re.Match[str]) -> str:
    decomposed = unicodedata.normalize("NFKD", normal(match[0]).translate(_TYPED_AS))
    # Few characters make up a long text, so each is looked at once.
    accents = [character for character in set(decomposed) if _is_accent(character)]
    bare = decomposed.translate(dict.fromkeys(map(ord, accents))) if accents else decomposed
    # Puts together again what is a letter of its own: syllables of Hangul, voiced kana.
    return unicodedata.normalize("NFC", bare)


def _is_accent(character: str) -> bool:
    if character in _VOICED or not unicodedata.category(character).startswith("M"):
        return False
    return unicodedata.combining(character) == _NUKTA or _HAS_SIGNS.match(character) is None


def _split(run: str) -> tuple[str, ...]:
    if run.endswith(NAMED) and (bare := run.rstrip(NAMED)).isalpha() and (len(bare) == 1 or bare in STOP_WORDS):
        return (bare,)
    parts = _PART.findall(run)
    words = [word for part in parts for word in _words_of(part)]
    terms = [_stem(word) for word in words if word not in STOP_WORDS and len(word) <= _TERM_CHARACTERS_MAX]
    if len(run) <= _TERM_CHARACTERS_MAX and ((len(parts) > 1 and _HAS_DIGIT.search(run)) or run.endswith(("+", "#"))):
        terms.append(run)
    elif _COMPOUND.fullmatch(run) and len(words) + (len(parts[0]) == 1) == len(parts):
        terms.append(_stem("".join(parts)))
    return tuple(terms)


_known_words_of = remembered(_KNOWN_MAX)(_split)


def _words_in(run: str) -> tuple[str, ...]:
    return _known_words_of(run) if len(run) <= _TERM_CHARACTERS_MAX else _split(run)


def _grams_to_ask_for(run: str, is_english: bool) -> Sequence[str]:
    return _known_grams_of(run, is_english) if len(run) <= _TERM_CHARACTERS_MAX else _grams_of(run, is_english, step=1)


@remembered(_KNOWN_MAX)
def _known_grams_of(run: str, is_english: bool) -> Sequence[str]:
    return _grams_of(run, is_english, step=1)


def _grams_of(run: str, is_english: bool, **step: int) -> list[str]:
    """Of the words of a run, in Latin letters only where the text around is not English."""
    if is_english and run.isascii():
        return []
    words = [word for part in _PART.findall(run) for word in (_UNSPACED.sub(" ", part).split() if not part.isascii() else [part])]
    return [
        gram
        for word in words
        if word not in STOP_WORDS and len(word) <= _TERM_CHARACTERS_MAX and not (is_english and is_latin(word))
        for gram in grams(word, **step)
    ]


def _words_of(part: str) -> list[str]:
    if part.isascii():
        return _spaced(part)
    # Splitting by a group alternates: text between two runs, a run, text between, …
    pieces = _UNSPACED.split(part)
    return [word for number, piece in enumerate(pieces) for word in (_stretches(piece) if number % 2 else _spaced(piece))]


def _spaced(word: str) -> list[str]:
    # A single letter says nothing; a single digit may be a day or a count.
    return [word] if len(word) > 1 or word.isdigit() else []


def _stretches(run: str) -> list[str]:
    size = 3 if run[0] < _LETTERS_END else 2
    return [run[i : i + size] for i in range(len(run) - size + 1)] or [run]


@remembered(_KNOWN_MAX)
def _stem(word: str) -> str:
    return word if word.isdigit() else stem(word)
