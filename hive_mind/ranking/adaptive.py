"""What a query names exactly: codes, quoted strings, rare proper names.

Who asks for "D40" wants D40 and not its neighbours, so exact matches have an arm of their own (document 002). Identifiers are
found on the query's own text: letter–digit codes, dotted, dashed and slashed codes with digits, section references, addresses,
quotations.
"""

import re
from dataclasses import dataclass

from hive_mind.ranking.tokens import tokenize

_QUOTED = re.compile(r"[\"“]([^\"“”]{2,80})[\"”]")
# A run with a digit that is more than a plain number: D40, 75.1725, INC-2024-001, 192.168.1.45, CVE-2024-3094, PII-2024-0042.
_CODE = re.compile(r"\b(?=[\w.\-:/_]*\d)(?:[^\W\d_]+\d[\w]*|\d+[^\W\d_]+\w*|\w+(?:[.\-:/_]\w+)+)\b")
# "30 CFR 75.1725", "Section 4.2", "MSHA 30": a number beside capitals belongs to the reference.
_REFERENCE = re.compile(r"\b(?:\d+ [A-Z]{2,6}|[A-Z]{2,6} \d+)\b")
_NAME = re.compile(r"\b[A-Z][a-z'’-]{2,}\w*\b")
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th|s)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Anchors:
    """Each anchor is a tuple of terms that a fact must all have to match it."""

    required: tuple[tuple[str, ...], ...]
    is_pure: bool
    """Whether the query is nothing but names and codes, so that comparing meanings can't help."""


def anchors(query: str) -> Anchors:
    """Identifiers in a query; none is the usual case."""
    spans = [*_QUOTED.findall(query), *_codes(query), *_REFERENCE.findall(query)]
    names = _NAME.findall(query)
    covered = {term for span in [*spans, *names] for term in tokenize(span)}
    is_pure = bool(covered) and all(term in covered for term in tokenize(query))
    # In a sentence a name is one hint among others and BM25 weighs it by its rarity; alone ("Aboleth") it is what is asked for.
    named = [*spans, *names] if is_pure else spans
    required = tuple(dict.fromkeys(terms for span in named if (terms := _strictest(span))))
    return Anchors(required, is_pure)


def _codes(query: str) -> list[str]:
    return [code for code in _CODE.findall(query) if not _ORDINAL.fullmatch(code)]


def _strictest(span: str) -> tuple[str, ...]:
    """The terms that pin a span down: a compound code alone, without its parts, else every term of it."""
    terms = tokenize(span)
    compounds = tuple(term for term in terms if re.search(r"[.\-:/_@]", term))
    return compounds or tuple(terms)
