"""One question: its probe, candidates for it, those for it with words of its best, those that the best lead to, and one ranking.

It is the same over one memory, over a hive, over the replica that is nearest and over a folder that was indexed. They differ in
where candidates come from. These are handed in for each `Probe`, and passages for each `Reading`, at once, or when
others have answered. Where those are away meanwhile (`BackendError`), the ranking is the one so far.

The second hop: "Where was the author of X born?" is answered where his name stands, which only the passage about X says. So the
names in the best passage are a second question, and its results gain by it, less where the names are common. Names lead on from
documents only (in dialogue the best turn names its speaker and little else), and only where the best passage is not far ahead of
all others.

"What ended INC-9037?" is answered where "juniper-10" stands, which only a statement that names both says. So where those that
name the question's identifiers say with them another one, and one only, the question is asked with that in their place, in
dialogue, too. A statement that names several lists them, and a paragraph tells of much that is not the same.

In a hive a second hop costs one more round of questions, which `RankingSettings.second_hop` can spare.

Pseudo-relevance feedback (`expanded`) asks again with words of the passage that was found first. "What keeps the hall dry?" finds
"The pump keeps the hall dry", and asked again for the pump, too, it finds what else is said of it. No model is needed, but a
wrong first passage leads astray, so `RankingSettings.expansion` has to allow it.

A question about "D40" wants D40 and not its neighbours, so exact names (codes, quoted strings, rare proper names) have an arm of
their own (document 002). They are found on the query's own text: letter–digit codes, dotted, dashed and slashed codes with
digits, section references, addresses, quotations.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import sqrt
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np

from hive_mind.errors import BackendError
from hive_mind.model.gathered import Anchors, EvidenceColumns, Pool, Probe
from hive_mind.model.query import Method, Query
from hive_mind.ranking.merge import merge_replicas
from hive_mind.ranking.neighbours import is_said, speakers_named
from hive_mind.ranking.pipeline import Ranked, RankingSettings, Related, Rows, Support, rank
from hive_mind.ranking.tokens import is_english, question_terms, tokenize
from hive_mind.ranking.vector import Vector
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


# More than any index holds; a depth travels as a number.
_DEPTH_MAX = 1 << 31

NAMES_WEIGHT = 0.2
"""Gain of the best match of the names. Raise it and they outrank the question's own results (docs/adr/0003-ranking.md)."""
INSTEAD_WEIGHT = 0.5
"""Gain of the best match with another identifier in place of the question's. From 0.4 to 0.7 it finds the same
(docs/adr/0003-ranking.md)."""
LOOKED_AT = 10
"""Another identifier is looked for among this many of the best: a search shows them anyway."""
# A passage names its subject and what matters about it first. More terms find more passages that share any of them.
_TERMS_MAX = 16
# A statement is no longer than this; further names in paragraphs lead astray (docs/adr/0003-ranking.md).
_STATEMENT_WORDS_MAX = 48
# Of a passage that is so far ahead, the next has less than this share of its score.
_SURE_BELOW = 0.5
# The best of the names counts in full where it is worth this share of the best of the question, by BM25.
_AS_RARE = 0.3
# More of them, of more passages, or at more weight, lose on HotpotQA what they win on LoCoMo (docs/adr/0003-ranking.md).
_FREQUENT_MAX = 10
# A repeated word of a question counts by the square root of how often it is there: three times as much as one that was added.
_OWN_REPEATS = 9
# A question as long as this has words enough, and its repeats would travel to everybody.
_OWN_MAX = 64
# Words with a capital within a sentence, or before another one: one that only begins a sentence is no name.
_CAPITAL = r"[^\W\d_a-z]"
_NAME = regex(rf"(?<=[\w,;)&] ){_CAPITAL}[\w'’-]+|(?<![\w'’-]){_CAPITAL}[\w'’-]++(?= {_CAPITAL})")


class Passage(Protocol):
    """A passage found."""

    @property
    def content(self) -> str:
        """The text said."""

    @property
    def speaker(self) -> str:
        """Its speaker, or ""."""


class Supported(Protocol):
    """Candidates for a probe, in any order, and what stands behind them."""

    @property
    def pool(self) -> Pool: ...

    @property
    def places(self) -> bytes:
        """Where each was said (`neighbours.place_of`); empty where none has a place."""

    def support(self, rows: Rows) -> Support: ...


class Candidates(Supported, Protocol):
    """Those that others may lead to."""

    def joined(self, second: Self) -> Self:
        """With those of a second probe, as the first one scores them (`unscored`)."""


_Supported = TypeVar("_Supported", bound=Supported, covariant=True)
_Found = TypeVar("_Found", bound=Candidates)


@dataclass(frozen=True, slots=True)
class Reading:
    """The passages a question goes on from; `beside` are those that it is going to show, and that may come along."""

    ids: Sequence[str]
    beside: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class InColumns:
    """Candidates that came with their evidence."""

    pool: Pool
    evidence: EvidenceColumns

    @property
    def places(self) -> bytes:
        return self.evidence.places

    def support(self, rows: Rows) -> Support:
        columns = (self.evidence.confirmations, self.evidence.trust, self.evidence.confidence)
        return Support(*(column[rows].astype(np.float64) for column in columns))

    def joined(self, second: Self) -> Self:
        pool, evidence = merge_replicas([self.pool, unscored(second.pool)], [self.evidence, second.evidence])
        return replace(self, pool=pool, evidence=evidence)


@dataclass(frozen=True, slots=True)
class Ranking(Generic[_Supported]):
    """Candidates, and how they are ordered."""

    question: str
    method: Method
    settings: RankingSettings
    candidates: _Supported
    lent: Mapping[str, float] = field(default_factory=dict)
    """Scores lent by a second hop, by id."""
    passed: tuple[_Supported, ...] = ()
    """Candidates gathered on the way besides."""
    first: tuple[Ranked, ...] = ()
    """The best of them, as far as they were ranked already."""
    cosine_least: float = 0.0
    """Cosines count from here on: a model may put any two texts near one another."""

    @property
    def is_named(self) -> bool:
        """Whether some candidate names every identifier of the question."""
        return bool(np.any(self.candidates.pool.exact >= 1.0))

    def best(self, count: int) -> list[Ranked]:
        if len(self.first) >= count:
            return list(self.first[:count])
        pool, places = self.candidates.pool, self.candidates.places
        if least := self.cosine_least:
            cosines = (pool.semantic - np.float32(least)) / np.float32(1.0 - least)
            pool = Pool(pool.ids, pool.keyword, cosines, pool.exact)
        related = Related(places, self.lent, speakers_named(self.question) if places else frozenset())
        return rank(pool, self.candidates.support, count, self.method, self.settings, related)


Steps = Generator[Probe | Reading, Any, Ranking[_Found]]
"""Takes the candidates for each probe, and for each reading passages by id."""


def ranking_of(
    query: Query, vector: Vector | None, count: int, settings: RankingSettings, cosine_least: float = 0.0
) -> Steps[_Found]:
    """The ranking for what somebody asks of a memory, to show `count` of it. Without a vector, by words.

    `cosine_least`: that of unrelated sentences.
    """
    method: Method = "keyword" if vector is None else query.method
    terms = () if method == "vector" else question_terms(query.text)
    terms = with_more(terms, tokenize(query.also)) if terms and query.also else terms
    depth = min(settings.depth_for(method, query.limit), _DEPTH_MAX)
    probe = Probe(terms, anchors(query.text), None if method == "keyword" else vector, depth)
    ranking = Ranking(query.text, method, settings, (yield probe), cosine_least=cosine_least)
    # One of nothing but identifiers says all it wants.
    says_more = bool(probe.terms) and not probe.anchors.is_pure
    ways = {_again: settings.expansion == "feedback", _second_hop: settings.second_hop}
    for go_on in (way for way, is_allowed in ways.items() if is_allowed and says_more):
        try:
            ranking = yield from go_on(ranking, probe, count)
        except BackendError:
            continue
    return ranking


def at_once(
    steps: Steps[_Found], gather: Callable[[Probe], _Found], read: Callable[[Reading], Mapping[str, Passage]]
) -> Ranking[_Found]:
    """The ranking of candidates that nobody has to wait for."""
    try:
        wanted = next(steps)
        while True:
            wanted = steps.send(gather(wanted) if isinstance(wanted, Probe) else read(wanted))
    except StopIteration as end:
        ranking: Ranking[_Found] = end.value
        return ranking


def _again(ranking: Ranking[_Found], probe: Probe, _: int) -> Steps[_Found]:
    """Of the question with words of its best."""
    if not (best := ranking.best(1)):
        return ranking
    passages: Mapping[str, Passage] = yield Reading([best[0].id])
    further = expanded(probe, passages[best[0].id]) if passages else None
    return replace(ranking, candidates=(yield further), passed=(ranking.candidates,)) if further else ranking


def _second_hop(ranking: Ranking[_Found], probe: Probe, count: int) -> Steps[_Found]:
    """With what the best of them leads to."""
    ranked, candidates = ranking.best(max(count, LOOKED_AT)), ranking.candidates
    ids, ranking = [document.id for document in ranked], replace(ranking, first=tuple(ranked))
    is_sure = len(ranked) < 2 or ranked[1].score < _SURE_BELOW * ranked[0].score
    leads_on = not is_sure and not is_said(candidates.places, candidates.pool.ids.index(ids[0]))
    naming = naming_all(probe, candidates.pool, ids)
    if not (leads_on or naming):
        return ranking
    passages: Mapping[str, Passage] = yield Reading([*ids[:leads_on], *naming], ids[:count])
    best = passages.get(ids[0]) if leads_on else None
    further = second_probe(probe, best, [passages[id] for id in naming if id in passages])
    if further is None:
        return ranking
    second: _Found = yield further
    gains = lent(further, second.pool, candidates.pool, ids[0])
    return replace(ranking, candidates=candidates.joined(second), lent=gains, passed=(*ranking.passed, second), first=())


def said_by(passage: Passage) -> str:
    """The text of a passage, without its speaker."""
    return passage.content.removeprefix(f"{passage.speaker}: ") if passage.speaker else passage.content


def naming_all(probe: Probe, pool: Pool, first: Sequence[str]) -> list[str]:
    """Those of the first `LOOKED_AT`, best first, that name all identifiers of the question; none where it has none."""
    exact = dict(zip(pool.ids, pool.exact.tolist(), strict=True))
    # Shares of the weight are added up in floats.
    return [id for id in first[:LOOKED_AT] if exact[id] >= 0.999 * probe.anchors.weight] if probe.anchors.required else []


def second_probe(probe: Probe, best: Passage | None, naming: Iterable[Passage] = ()) -> Probe | None:
    """The second question, None where there is nothing more to ask for.

    `best` is the first answer to `probe`, None where its names are of no use; `naming` are those of its answers that name all its
    identifiers.
    """
    if probe.anchors.required and (other_name := _other_name(probe, naming)):
        own_parts = {part for terms in probe.anchors.required for term in terms for part in tokenize(term)}
        rest = tuple(term for term in probe.terms if term not in own_parts)
        terms = rest + tuple(dict.fromkeys(part for term in other_name for part in tokenize(term)))
        return replace(probe, terms=terms, anchors=Anchors((other_name,)), statistics=None, beside=None)
    names = names_beyond(best.content, frozenset(probe.terms)) if best and not best.speaker else ()
    return replace(probe, terms=names, anchors=Anchors(), statistics=None, beside=None) if names else None


def _other_name(probe: Probe, naming: Iterable[Passage]) -> tuple[str, ...]:
    """The identifier that is said most often with those of the question; of several the first."""
    terms_asked, name_counts = frozenset(probe.terms), Counter[tuple[str, ...]]()
    for text in map(said_by, naming):
        if len(text.split(maxsplit=_STATEMENT_WORDS_MAX)) <= _STATEMENT_WORDS_MAX:
            codes_beyond = [code for code in codes(text) if not terms_asked.issuperset(code)]
            name_counts.update(codes_beyond if len(codes_beyond) == 1 else ())
    return max(name_counts, key=name_counts.__getitem__, default=())


def names_beyond(text: str, terms_asked: Collection[str]) -> tuple[str, ...]:
    """Terms of the names that are not asked for, each once, in the order of the text."""
    words = dict.fromkeys([word for word in _NAME.findall(text) if word[0].isupper()])
    # Each on a line of its own, as names beside one another would be taken for a shout.
    terms = dict.fromkeys(tokenize("\n".join(words)))
    return tuple([term for term in terms if term not in terms_asked][:_TERMS_MAX])


def lent(further: Probe, second: Pool, first: Pool, best: str) -> dict[str, float]:
    """Gains of the candidates from the second question's results, by id."""
    return _instead(second, first) if further.anchors.required else _by_names(second, first, best)


def _instead(second: Pool, first: Pool) -> dict[str, float]:
    """Only for those that name the other identifier and none of the question's: the rest have their points for it."""
    own_ids = {id for id, exact in zip(first.ids, first.exact.tolist(), strict=True) if exact > 0}
    highest = float(second.keyword.max(initial=0.0)) or 1.0
    rows = zip(second.ids, second.keyword.tolist(), second.exact.tolist(), strict=True)
    return {id: INSTEAD_WEIGHT * score / highest for id, score, exact in rows if exact > 0 and id not in own_ids}


def _by_names(second: Pool, first: Pool, best: str) -> dict[str, float]:
    """`NAMES_WEIGHT` for the best match of the names, less where these are common, and as much for the passage that has them.

    Without that the passage would fall behind what it led to.
    """
    scores_beside = np.array(
        [0.0 if id == best else score for id, score in zip(second.ids, second.keyword.tolist(), strict=True)]
    )
    highest = max(float(scores_beside.max(initial=0.0)), _AS_RARE * float(first.keyword.max(initial=0.0)))
    shares = NAMES_WEIGHT * scores_beside / (highest or 1.0)
    return {**dict(zip(second.ids, shares.tolist(), strict=True)), best: float(shares.max(initial=0.0))}


def unscored(second: Pool) -> Pool:
    """The candidates of the second question as the first scores them: those it did not find have less of its words than any."""
    none = np.zeros_like(second.keyword)
    return Pool(second.ids, none, second.semantic, none)


def expanded(probe: Probe, best: Passage) -> Probe | None:
    """The question with the most frequent words of its first answer, the first of them first; None where that has no others.

    None where the answer is not in English either: there the most frequent words lead astray.
    """
    message = said_by(best)
    if not is_english(message):
        return None
    frequent = [term for term, _ in Counter(tokenize(message)).most_common()]
    terms = with_more(probe.terms, frequent)
    return replace(probe, terms=terms, statistics=None, beside=None) if terms != probe.terms else None


def with_more(terms: tuple[str, ...], further_terms: Iterable[str]) -> tuple[str, ...]:
    """The terms of a question with the first of others, each at a third of the weight; as they are where none are needed."""
    if len(terms) > _OWN_MAX:
        return terms
    new_terms = tuple(dict.fromkeys(term for term in further_terms if term not in terms))[:_FREQUENT_MAX]
    return terms * _OWN_REPEATS + new_terms if new_terms else terms


def as_asked_once(pool: Pool, terms: Sequence[str]) -> Pool:
    """A question's pool in the scale of its own words: where they are repeated for others, every score is higher."""
    if not terms or terms.count(terms[0]) < _OWN_REPEATS:
        return pool
    return Pool(pool.ids, pool.keyword / np.float32(sqrt(_OWN_REPEATS)), pool.semantic, pool.exact)
