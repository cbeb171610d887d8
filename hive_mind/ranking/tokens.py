"""The one tokenizer: text to terms, the same for facts, documents and questions.

Terms are lower-cased, stripped of accents, freed of stop words and stemmed (Snowball English). A code such as "CVE-2024-1234" or
"75.1725" gives its parts and itself, so that a search for the whole code can tell it from its neighbours.
"""

import re
import threading
import unicodedata
from functools import lru_cache

import Stemmer

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

_RUN = re.compile(r"\w+(?:[.\-:/_@]\w+)*", re.UNICODE)
_PART = re.compile(r"[^\W_]+")
_POSSESSIVE = re.compile(r"['’]s\b|['’](?=t\b)", re.IGNORECASE)
_HAS_DIGIT = re.compile(r"\d")
# Scripts written without spaces: Thai, kana, Han, Hangul. Pairs of neighbouring characters stand in for words.
_UNSPACED = re.compile("[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+")
# A longer run is no word anybody types: base64, a hash dump, a broken file. It would only bloat the index.
_TERM_CHARACTERS_MAX = 64


def tokenize(text: str) -> list[str]:
    """Terms of `text` in order, repeats kept. Any string is fine; one without words gives an empty list."""
    return [term for run in _RUN.findall(_folded(text)) for term in _terms_of(run)]


def _folded(text: str) -> str:
    """Lower case, without accents and possessives. Plain ASCII, the common case, skips the Unicode work."""
    if not text.isascii():
        decomposed = unicodedata.normalize("NFKD", text)
        text = "".join(c for c in decomposed if not unicodedata.combining(c))
    return _POSSESSIVE.sub("", text.lower())


@lru_cache(maxsize=1 << 16)
def _terms_of(run: str) -> tuple[str, ...]:
    parts = [term for part in _PART.findall(run) for term in _words_of(part)]
    terms = [_stem(part) for part in parts if part not in STOP_WORDS and len(part) <= _TERM_CHARACTERS_MAX]
    if len(parts) > 1 and _HAS_DIGIT.search(run) and len(run) <= _TERM_CHARACTERS_MAX:
        terms.append(run)
    return tuple(terms)


def _words_of(part: str) -> list[str]:
    match = None if part.isascii() else _UNSPACED.search(part)
    if match is None:
        # A single letter says nothing; a single digit may be a day or a count.
        return [part] if len(part) > 1 or part.isdigit() else []
    run = match.group()
    pairs = [run[i : i + 2] for i in range(len(run) - 1)] or [run]
    return [*_words_of(part[: match.start()]), *pairs, *_words_of(part[match.end() :])]


def _stem(word: str) -> str:
    stemmer = getattr(_local, "stemmer", None)
    if stemmer is None:
        stemmer = _local.stemmer = Stemmer.Stemmer("english")
    return str(stemmer.stemWord(word))


# A Stemmer must not be used from two threads at once; each thread has its own.
_local = threading.local()
