"""The one tokenizer: text to terms, the same for facts, documents and questions.

Terms are lower-cased, stripped of accents, freed of stop words and stemmed (Snowball English). A code such as "CVE-2024-1234" or
"75.1725" gives its parts and itself, so that a search for the whole code can tell it from its neighbours. Figures come in one
form, and a word that would be dropped stays where its capitals make a name of it (`names`).
"""

import re
import threading
import unicodedata
from collections.abc import Sequence

import Stemmer

from hive_mind.model.figures import plain_figures
from hive_mind.model.normal_form import normal, with_hyphens
from hive_mind.ranking.names import MARK, with_names
from hive_mind.regex import regex
from hive_mind.remembered import remembered

# Articles, prepositions, pronouns, auxiliaries and the words questions are made of. Question words matter most: "what", "did" and
# "does" are rare in statements, so BM25 takes them for precious. Measured in docs/adr/0003-ranking.md.
STOP_WORDS = frozenset(
    """
    a about am an and any are as at be been being but by can could did do does doing for from had has have having he
    her hers him his how i if in into is it its itself just me might mine must my myself of on onto or our ours shall
    she should so such than that the their theirs them then there these they this those to too us was we were what when
    where which while who whom whose why will with would you your yours
    """.split()
)

# Ends with the signs of "C++" and "C#" where it has them.
_RUN = regex(r"\w+(?:[.\-:/_@]\w+)*(?:(?<=[^\W\d_])(?:\+{1,2}|\#)(?![\w+\#]))?", re.UNICODE)
_PART = regex(r"[^\W_]+")
_POSSESSIVE = regex(r"['’]s\b|['’](?=t\b)", re.IGNORECASE)
_NOT_ASCII = regex("[^\x00-\x7f]+")
_HAS_DIGIT = regex(r"\d")
# Scripts written without spaces, or with few: Thai, kana, Han, Hangul. Pairs of neighbouring characters stand in for words.
_UNSPACED = regex("([\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+)")
# Where one of them meets Latin letters or figures, which are words of their own.
_SEAM = regex(
    "(?<=[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff])(?=[0-9a-zA-Z])|(?<=[0-9a-zA-Z])(?=[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff])"
)
# "roll-back" is "rollback", "wi-fi" is "wifi".
_COMPOUND = regex(r"[^\W\d_]{1,12}-[^\W\d_]{1,12}")
# The marks that make か into が and は into ぱ: another letter, not an accent.
_VOICED = "\u3099\u309a"
# Between texts: no part of a word, and as good as a line break where it stands in one.
_MARK = "\x1e"
# A longer run is no word anybody types: base64, a hash dump, a broken file. It would only bloat the index.
_TERM_CHARACTERS_MAX = 64
# Texts remembered with what they become: judging the facts that a question found looks at each of them a dozen times.
_TEXTS_MAX = 512
# Words remembered with what they become: those of a language, some 300 bytes each. Numbers and names that come once pass through.
_KNOWN_MAX = 1 << 14


def tokenize(text: str) -> list[str]:
    """Terms of `text` in order, repeats kept. Any string is fine; one without words gives an empty list."""
    terms: list[str] = []
    for run in _RUN.findall(_folded(text)):
        terms += _known_terms_of(run) if len(run) <= _TERM_CHARACTERS_MAX else _split(run)
    return terms


@remembered(_TEXTS_MAX)
def terms_in(text: str) -> frozenset[str]:
    """The terms of `text`, each once."""
    return frozenset(tokenize(text))


def runs_of_all(texts: Sequence[str]) -> tuple[list[str], list[int]]:
    """The runs of characters in many texts that `terms_of` makes terms of, and how many each text has."""
    marked = _MARK.join(texts)
    if marked.count(_MARK) >= len(texts):
        marked = _MARK.join(text.replace(_MARK, "\n") for text in texts)
    runs: list[str] = []
    counts = []
    for text in _folded(marked).split(_MARK) if texts else ():
        counts.append(len(found := _RUN.findall(text)))
        runs += found
    return runs, counts


def terms_of(run: str) -> tuple[str, ...]:
    # Long runs are rare and not repeated: remembering them would only hold memory.
    return _known_terms_of(run) if len(run) <= _TERM_CHARACTERS_MAX else _split(run)


def _folded(text: str) -> str:
    """Without case, accents and possessives, figures in one form. Plain ASCII, the common case, skips the Unicode work."""
    if not text.isascii():
        # ASCII between stays as it is in every step, so only the rest has to be looked at.
        text = _SEAM.sub(" ", _NOT_ASCII.sub(_bare, with_hyphens(text)))
    text = with_names(plain_figures(text), STOP_WORDS).casefold()
    return _POSSESSIVE.sub("", text) if "'" in text or "’" in text else text


def _bare(match: re.Match[str]) -> str:
    decomposed = unicodedata.normalize("NFKD", normal(match[0]))
    # Few characters make up a long text, so each is looked at once.
    marks = [c for c in set(decomposed) if c not in _VOICED and unicodedata.category(c).startswith("M")]
    bare = decomposed.translate(dict.fromkeys(map(ord, marks))) if marks else decomposed
    # Puts together again what is a letter of its own: syllables of Hangul, voiced kana.
    return unicodedata.normalize("NFC", bare)


def _split(run: str) -> tuple[str, ...]:
    if run.endswith(MARK) and (named := run.rstrip(MARK)).isalpha() and (len(named) == 1 or named in STOP_WORDS):
        return (named,)
    parts = _PART.findall(run)
    words = [word for part in parts for word in _words_of(part)]
    terms = [_stem(word) for word in words if word not in STOP_WORDS and len(word) <= _TERM_CHARACTERS_MAX]
    if len(run) <= _TERM_CHARACTERS_MAX and ((len(parts) > 1 and _HAS_DIGIT.search(run)) or run.endswith(("+", "#"))):
        terms.append(run)
    elif _COMPOUND.fullmatch(run) and len(words) + (len(parts[0]) == 1) == len(parts):
        terms.append(_stem("".join(parts)))
    return tuple(terms)


_known_terms_of = remembered(_KNOWN_MAX)(_split)


def _words_of(part: str) -> list[str]:
    if part.isascii():
        return _spaced(part)
    # Splitting by a group alternates: text between two runs, a run, text between, …
    pieces = _UNSPACED.split(part)
    return [word for number, piece in enumerate(pieces) for word in (_pairs(piece) if number % 2 else _spaced(piece))]


def _spaced(word: str) -> list[str]:
    # A single letter says nothing; a single digit may be a day or a count.
    return [word] if len(word) > 1 or word.isdigit() else []


def _pairs(run: str) -> list[str]:
    return [run[i : i + 2] for i in range(len(run) - 1)] or [run]


@remembered(_KNOWN_MAX)
def _stem(word: str) -> str:
    if word.isdigit():
        return word
    stemmer = getattr(_local, "stemmer", None)
    if stemmer is None:
        stemmer = _local.stemmer = Stemmer.Stemmer("english")
    return str(stemmer.stemWord(word))


# A Stemmer must not be used from two threads at once; each thread has its own.
_local = threading.local()
