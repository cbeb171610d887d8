"""Exact names in a query: codes, quoted strings, rare proper names.

A question about "D40" wants D40 and not its neighbours, so exact matches have an arm of their own (document 002). Identifiers are
found on the query's own text: letter–digit codes, dotted, dashed and slashed codes with digits, section references, addresses,
quotations.
"""

import re

from hive_mind.model.gathered import Anchors
from hive_mind.ranking.tokens import tokenize
from hive_mind.ranking.words import STOP_WORDS
from hive_mind.regex import regex
from hive_mind.remembered import remembered

_QUOTED = regex(r"[\"“]([^\"“”]{2,80})[\"”]")
# As the tokenizer finds them. One with a digit that is more than a plain number is a code: D40, 75.1725, INC-2024-001,
# 192.168.1.45, CVE-2024-3094.
_RUN = regex(r"\w+(?:[.\-:/_@]\w+)*")
# "30 CFR 75.1725", "Section 4.2", "MSHA 30": a number beside capitals belongs to the reference.
_REFERENCE = regex(r"\b(?:\d+ [A-Z]{2,6}|[A-Z]{2,6} \d+)\b")
_DIGIT = regex(r"\d")
_WORD = regex(r"[^\W\d_][\w'’-]{2,}")
_ORDINAL = regex(r"\d+(?:st|nd|rd|th|s)", re.IGNORECASE)
# A term is no longer than this, so nothing could match a longer code.
_CODE_CHARACTERS_MAX = 64

# How requests begin. Such a word is neither a name, though it has a capital, nor part of what is asked for.
_ASKING = frozenset("define describe explain find give list please recall remember search show summarise summarize tell".split())
_ASKING_TERMS = frozenset(term for word in _ASKING for term in tokenize(word))
_TOLD_APART_BY = 3
_ASKING_STARTS = frozenset(term[:_TOLD_APART_BY] for term in _ASKING_TERMS)
_SIGNS = "?.,!;:"


# Asked for before a query's meaning is computed, and again when it is put to an index.
@remembered(16)
def anchors(query: str) -> Anchors:
    """Identifiers in a query; none is the usual case."""
    spans = _QUOTED.findall(query)
    if not query.isascii() or _DIGIT.search(query):
        spans += [*_codes(query), *_references(query)]
    capitalised = [word for word in _WORD.findall(query) if word[0].isupper() and word[1].islower()]
    names = [word for word in capitalised if word.lower() not in _ASKING]
    if not spans and _says_more(query, "".join(names)):
        return Anchors()
    covered = {term for span in [*spans, *names] for term in tokenize(span)}
    is_pure = bool(covered) and all(term in covered or term in _ASKING_TERMS for term in tokenize(query))
    # In a sentence or beside a code ("Room D40") a name is one hint among others and BM25 weighs it by its rarity; alone
    # ("Aboleth") it is what is asked for.
    spans_of_names = names if is_pure and not spans else spans
    required = tuple(dict.fromkeys(terms for span in spans_of_names if (terms := _strictest(span))))
    return Anchors(required, is_pure)


def _says_more(query: str, names: str) -> bool:
    """Whether plainly no name is all of the query: a word of it begins with a letter that no name has, as its stem does, too."""
    if not names or not names.isascii():
        return not names
    letters = names.lower()
    return any(
        word.isalpha()
        and word.isascii()
        and word.islower()
        and word[0] not in letters
        and word not in STOP_WORDS
        and word[:_TOLD_APART_BY] not in _ASKING_STARTS
        for word in (chunk.rstrip(_SIGNS) for chunk in query.split())
        if len(word) > 1
    )


def asked_terms(query: str) -> list[str]:
    """Terms of a query without those of asking for something ("explain", "tell")."""
    return [term for term in tokenize(query) if term not in _ASKING_TERMS]


def codes(text: str) -> list[tuple[str, ...]]:
    """The terms of each code in a text that begins with a letter, each once: the others are dates, times and quantities."""
    return list(dict.fromkeys(terms for run in _codes(text) if run[0].isalpha() and (terms := _strictest(run))))


def _codes(query: str) -> list[str]:
    return [run for run in _RUN.findall(query) if len(run) <= _CODE_CHARACTERS_MAX and _is_code(run)]


def _is_code(run: str) -> bool:
    # Most are words, and known as such at once.
    if run.isalpha() or run.isdigit():
        return False
    return any(c.isdigit() for c in run) and not _ORDINAL.fullmatch(run)


def _references(query: str) -> list[str]:
    """Without "10 AM" and "IN 2023": of these only the number would be left, which is no identifier."""
    return [
        span
        for span in _REFERENCE.findall(query)
        if any(word.isalpha() and word.lower() not in STOP_WORDS for word in span.split())
    ]


def _strictest(span: str) -> tuple[str, ...]:
    """The terms that pin a span down: a compound code alone, without its parts, else every term of it."""
    terms = tokenize(span)
    compounds = tuple(term for term in terms if re.search(r"[.\-:/_@]", term))
    return compounds or tuple(terms)
