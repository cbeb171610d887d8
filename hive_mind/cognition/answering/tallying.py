"""Tallies: questions that no fact answers and all of them together do: how many, of each kind, by month, which has most.

Units are the rows of one table, where a question names it, or facts. A unit counts when it has every term of the question besides
the name of the table and of its columns; where no unit has one of them, nothing is counted, for then something else is meant.

Collections: how many facts there are about something, which, and which is the latest. Their words alone tell, and only where
facts are counted: "How many notes are there on D4?", and not "How many pumps are there?", which some fact answers.

Deeds of somebody count as well: "How many trees did Mira plant?", where two facts or more say that she planted something.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from hive_mind.cognition.answering.answer_forms import lacks_form
from hive_mind.cognition.answering.headings import title_of
from hive_mind.cognition.answering.quoting import quotation
from hive_mind.cognition.answering.wordings import met_in
from hive_mind.cognition.extraction.separated import fields_of, is_table_row
from hive_mind.cognition.temporal import moments
from hive_mind.counted import IN_A_LINE, counted
from hive_mind.model.aggregation import Aggregated, Aggregation, moment_ms
from hive_mind.model.aggregation import Kind as AggregationKind
from hive_mind.model.fact import Fact
from hive_mind.model.figures import figures_alike
from hive_mind.model.gathered import Answer
from hive_mind.model.query import ComponentScores, Hit
from hive_mind.ranking.tokens import terms_in, tokenize
from hive_mind.regex import regex

LISTED_MAX = 30
WORDING_CHARS_MAX = 300

_FACTS = r"(?:facts|notes|entries|things|statements|messages|records|reports|mentions|news)"
_FACT = r"(?:fact|note|entry|thing|statement|message|record|report|mention)"
_KNOWN = (
    r"(?:\s+(?:are there|there are|do (?:we|you) (?:know|have|remember)|(?:we|you) (?:know|have)|are known|is known|known|said))?"
)
_ABOUT = r"\s+(?:about|on|of|regarding|concerning|for|(?:that |which )?(?:mention(?:s|ing)?|name(?:s)?))\s+(?P<about>.{1,120})"
_ASKED: tuple[tuple[AggregationKind, str], ...] = (
    ("count", rf"how many {_FACTS}{_KNOWN}{_ABOUT}"),
    ("count", r"how often (?:is|was) (?P<about>.{1,120}?) mentioned"),
    ("list", rf"(?:list|show|name|enumerate|tell)(?: me)? (?:all|every|everything)(?: the)?(?: {_FACTS})?{_KNOWN}{_ABOUT}"),
    ("list", r"(?:list|show|enumerate)(?: me)? all(?: the)? (?P<about>[\w-]+(?: [\w-]+)?)"),
    ("latest", rf"what(?: is|'s|’s| was| are| were) the (?:latest|newest|most recent)(?: (?:{_FACTS}|{_FACT}))?{_KNOWN}{_ABOUT}"),
    ("earliest", rf"what(?: is|'s|’s| was| are| were) the (?:earliest|first|oldest) (?:{_FACTS}|{_FACT}){_KNOWN}{_ABOUT}"),
)
_COMPILED = tuple((kind, regex(pattern, re.IGNORECASE)) for kind, pattern in _ASKED)
_ARTICLE = regex(r"^(?:the|a|an|our|my|your)\s+", re.IGNORECASE)


def aggregations_of(question: str) -> Iterator[Aggregation]:
    """Aggregations that a question wants, in the order in which to try: its subject as it is written, then in the singular."""
    one_line = " ".join(question[:WORDING_CHARS_MAX].split()).strip(_MARKS)
    for kind, pattern in _COMPILED:
        if match := pattern.fullmatch(one_line):
            about = _ARTICLE.sub("", match["about"].strip(_MARKS))
            limit = LISTED_MAX if kind == "list" else 1
            for name in dict.fromkeys((about, about.removesuffix("s"))):
                yield Aggregation(kind, name, limit)
            return


def collected_answer(collected: Aggregated) -> Answer:
    """A number, or facts word for word, with how much of the hive was asked."""
    hits = [Hit(fact, 1.0, ComponentScores(0.0, None, 0.0, 0.0, 0.0)) for fact in collected.facts]
    text = "\n".join([_summary(collected), *map(quotation, hits)])
    return Answer(text, tuple(hits), "collected", round(collected.completeness, 2), completeness=collected.completeness)


def _summary(collected: Aggregated) -> str:
    aggregation, count, shown_count = collected.wanted, collected.count, len(collected.facts)
    facts = counted(count, "fact") + (f" about {aggregation.about}" if aggregation.about else "")
    heading = {
        "count": facts,
        "list": f"All of {facts}, the latest first" if shown_count == count else f"The latest {shown_count} of {facts}",
        "latest": f"The latest of {facts}",
        "earliest": f"The earliest of {facts}",
    }[aggregation.kind]
    return f"{heading}{missing_members(collected)}{':' if collected.facts else '.'}"


def missing_members(collected: Aggregated) -> str:
    """The share of the hive that was asked and who was silent; "" for all of it."""
    if collected.completeness >= 1:
        return ""
    names = ", ".join(collected.silent[:IN_A_LINE]) + (", …" if len(collected.silent) > IN_A_LINE else "")
    silent_members = (
        f"{counted(len(collected.silent), 'member')} did not answer ({names})" if names else "the hive did not answer"
    )
    return f" in {collected.completeness:.0%} of the hive; {silent_members}"


FACTS_MAX = 20_000
"""Facts that are looked at for one question: a listing of more takes seconds."""

Kind = Literal["count", "each", "most", "list", "first", "last"]
_MONTH, _NO_MONTH = "month", "without a month"
_MARKS = "?!. \"'“”„‘’"
# Of facts, one that has all terms may say something else of them.
_FACTS_MIN = 2

_EACH = regex(r"\b(?:per|by|in each|for each|of each|in every|pro|je) (?P<by>[^\W\d_][\w-]*)", re.IGNORECASE)
_MOST = regex(
    r"^(?:(?:in |on |at )?(?:which|what)|(?:in )?welche[rsmn]?) (?P<by>[^\W\d_][\w-]*) "
    r"(?=.*\b(?:most|highest|largest|meisten|(?P<least>fewest|least|lowest|smallest|wenigsten))\b(?: (?P<of>[^\W\d_]+))?)",
    re.IGNORECASE,
)
_DEED = regex(
    r"^(?:how many|which|what) (?P<of>[^\W\d_]+) (?:did|has|have) (?=[A-Z])(?P<end>.* (?:(?P<first>first)|last)$)?|"
    r"^(?:[Ww]hat|[Ww]hich) was the (?:(?:very )?first|last) (?P<thing>[^\W\d_]+) (?:that )?(?=[A-Z])",
)
_FIGURE = regex(r"(?<![\w.,])-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?![.,]?\d)")
_COUNT = regex(r"^(?:in total,? )?(?:how many|wie ?viele)\b|\b(?:number|count) of\b", re.IGNORECASE)
_LIST = regex(r"^(?:list|show|name|enumerate|give|nenne|zeige|liste)(?: me| mir)? (?:all|every|alle)\b", re.IGNORECASE)
_END = regex(
    r"^(?:what|which)(?:['’]s| is| are| was| were)? the (?:very )?"
    r"(?:(?P<first>first|earliest|oldest)|last|latest|newest|most recent)\b",
    re.IGNORECASE,
)
_ISO = regex(r"(?<!\d)(?:19|20)\d\d-(?:0[1-9]|1[0-2])(?:-[0-3]\d)?(?!\d)")
_MONTHS = tuple("january february march april may june july august september october november december".split())
_MONTH_ASKED = regex(
    rf"\b(?P<name>{'|'.join(_MONTHS)})(?: (?P<year>(?:19|20)\d\d))?\b|\b(?P<only>(?:19|20)\d\d)\b", re.IGNORECASE
)
_LIGHT = frozenset(
    tokenize(
        "many most all number count total each every month there have has had were was happen happened occur occurred exist say "
        "said mention mentioned know known list show name enumerate give first last latest earliest oldest newest recent very "
        "which what row rows line lines entry entries record records fact facts note notes viele alle gibt es nenne "
        "zeige liste meisten"
    )
)
_LEAST = frozenset(tokenize("fewest least lowest smallest highest largest wenigsten"))
_FACT_NOUNS = frozenset(tokenize("fact facts note notes entry entries record records message messages statement statements"))
_PEOPLE = frozenset(tokenize("people persons person friends relatives colleagues neighbours neighbors cousins members"))


@dataclass(frozen=True, slots=True)
class Tally:
    """The terms that a unit must have, and what is done with those that have them; `by`: the column that groups them."""

    kind: Kind
    terms: frozenset[str]
    by: str = ""
    period: str = ""
    of: frozenset[str] = frozenset()
    """The thing of which there is most or least, or the kind that somebody did something to, which facts need not name."""
    is_least: bool = False


@dataclass(frozen=True, slots=True)
class _Unit:
    """A row or a fact. `fields` by the title of their column, in lower case."""

    fact: Fact
    terms: frozenset[str]
    fields: dict[str, str]

    @property
    def month(self) -> str:
        return self.moment[:7]

    @property
    def moment(self) -> str:
        """The first date in it, or else when it was said; "" for none."""
        if match := _ISO.search(self.fact.content):
            return match.group()
        named = next(iter(moments(self.fact.content, self.fact.said_at)), None) if not self.fields else None
        return named.iso if named else self.fact.said_at


def tally_of(question: str) -> Tally | None:
    """The tally that a question wants by its words; None for any other question."""
    text = " ".join(question[:WORDING_CHARS_MAX].split()).strip(_MARKS)
    kind: Kind | None = None
    by, rest = "", text
    if match := _MOST.search(text):
        kind, by, rest = "most", match["by"].casefold(), text[match.start("by") :]
    elif _COUNT.search(text):
        kind = "count"
        if grouping := _EACH.search(text):
            kind, by, rest = "each", grouping["by"].casefold(), text[: grouping.start()] + text[grouping.end() :]
    elif _LIST.search(text):
        kind = "list"
    elif end := _END.search(text):
        kind = "first" if end["first"] else "last"
    deed = _DEED.match(text[:1].lower() + text[1:])
    if deed and deed["end"]:
        kind = "first" if deed["first"] else "last"
    if kind is None:
        return None
    period = _MONTH_ASKED.search(rest)
    if period is not None:
        rest = rest[: period.start()] + rest[period.end() :]
    terms = frozenset(tokenize(rest)) - _LIGHT | frozenset(tokenize(rest)) & _FACT_NOUNS
    of = match["of"] if match else deed and (deed["of"] or deed["thing"])
    return Tally(kind, terms - _LEAST, by, _period(period), frozenset(tokenize(of or "")), bool(match and match["least"]))


def needs_tally(question: str, tally: Tally, answer: Answer) -> bool:
    """Whether an answer from the best facts leaves open what a tally tells: it is none, or rows, or holds no such number."""
    if not answer.is_known or tally.kind in ("list", "each", "most"):
        return True
    facts = [hit.fact for hit in answer.sources]
    if tally.kind == "count" and (nouns := tally.terms & _PEOPLE):
        return not any(nouns & terms_in(fact.content) for fact in facts)
    return all(fields_of(fact) or lacks_form(question, fact) for fact in facts)


def _period(match: re.Match[str] | None) -> str:
    """A year, a month of one, or of any: "2025", "2025-01", "-01"."""
    if match is None or match["only"]:
        return match["only"] if match else ""
    return f"{match['year'] or ''}-{_MONTHS.index(match['name'].casefold()) + 1:02}"


def tallied_answer(tally: Tally, facts: Sequence[Fact], whole: Aggregated) -> Answer | None:
    """A number, a table of numbers or facts word for word, with what did not answer; None where nothing can be counted.

    `whole` says how much of the hive `facts` are.
    """
    in_order = sorted(facts, key=lambda fact: fact.learned_at_us)
    units = _of_table(tally, in_order) or _of_facts(tally, in_order)
    over = f"counted over {counted(len(facts), 'fact')}{missing_members(whole)}"
    if tally.kind == "most" and (figures := _figures(tally, units)):
        best = (min if tally.is_least else max)(figures)
        shown = [unit for unit, figure in zip(units, figures, strict=True) if figure == best][:LISTED_MAX]
        head = f"The {'least' if tally.is_least else 'most'} of {len(units)} ({over}):"
        return _answer([head, *(quotation(_hit(unit.fact)) for unit in shown)], shown, whole)
    if (
        not units
        or tally.is_least
        or (tally.by not in ("", _MONTH, "monat") and not all(tally.by in unit.fields for unit in units))
    ):
        return None
    shown = units[:LISTED_MAX]
    if tally.kind in ("each", "most"):
        groups = _grouped(tally, units)
        if not groups:
            return None
        best = max(count for _, count in groups)
        named = [(name, count) for name, count in groups if tally.kind == "each" or count == best]
        lines = [f"{name}: {count}" for name, count in named[:LISTED_MAX]]
        lines += [f"… and {len(named) - LISTED_MAX} more"] if len(named) > LISTED_MAX else []
        return _answer([*lines, f"({len(units)} in all, {over})"], shown, whole)
    if tally.kind in ("first", "last"):
        dated = [unit for unit in units if unit.moment]
        if len(dated) < len(units):
            return None
        shown = [(min if tally.kind == "first" else max)(dated, key=lambda unit: (moment_ms(unit.moment, 0), unit.fact.id))]
    head = {"count": f"{len(units)}", "list": f"All {len(units)}", "first": "The first", "last": "The last"}[tally.kind]
    if len(shown) < len(units) and tally.kind in ("count", "list"):
        over += f"; the first {len(shown)} are shown"
    of = f" of {len(units)}" if tally.kind in ("first", "last") else ""
    return _answer([f"{head}{of} ({over}):", *(quotation(_hit(unit.fact)) for unit in shown)], shown, whole)


def _figures(tally: Tally, units: Sequence[_Unit]) -> list[float]:
    """The figure of each unit, of the column or before the noun that is asked for; none where one has none, or several."""
    figures: list[float] = []
    for unit in units:
        # The contents of the first column are counted by the rows.
        texts = [value for title, value in list(unit.fields.items())[1:] if tally.of & terms_in(title)]
        if not unit.fields:
            text = figures_alike(unit.fact.content)
            texts = [
                match[0] for match in _FIGURE.finditer(text) if tally.of & terms_in(" ".join(text[match.end() :].split()[:2]))
            ]
        found = [figure for text in texts for figure in _FIGURE.findall(figures_alike(text))]
        if len(found) != 1:
            return []
        figures.append(float(found[0].replace(",", "")))
    return figures


def _answer(lines: Sequence[str], units: Sequence[_Unit], whole: Aggregated) -> Answer:
    hits = tuple(_hit(unit.fact) for unit in units)
    return Answer("\n".join(lines), hits, "collected", round(whole.completeness, 2), completeness=whole.completeness)


def _hit(fact: Fact) -> Hit:
    return Hit(fact, 1.0, ComponentScores(0.0, None, 0.0, 0.0, 0.0))


def _grouped(tally: Tally, units: Sequence[_Unit]) -> list[tuple[str, int]]:
    """Each group with how many are of it: months in their order, others with the largest first."""
    if tally.by in (_MONTH, "monat"):
        months = Counter(unit.month if len(unit.month) == len("2025-01") else _NO_MONTH for unit in units)
        return sorted(months.items())
    return sorted(Counter(unit.fields[tally.by] for unit in units).items(), key=lambda pair: (-pair[1], pair[0]))


def _of_table(tally: Tally, facts: Sequence[Fact]) -> list[_Unit]:
    """The rows that count, of the one table whose name the question has."""
    tables: dict[tuple[str, frozenset[str], frozenset[str]], list[_Unit]] = {}
    for fact in facts:
        if fields := fields_of(fact):
            # Of several tables in one file each has its heading.
            is_headed = is_table_row(fact) and fact.concept not in fact.content
            names = terms_in(fact.concept if is_headed else " ".join(map(title_of, fact.sources)))
            first_column = terms_in(next(iter(fields)))
            unit = _Unit(fact, terms_in(" ".join(fields.values())) | _speaker(fact), fields)
            tables.setdefault(("|".join(fields), names, first_column), []).append(unit)
    # The name of a table says more than that of its first column.
    terms = tally.terms | frozenset(tokenize(tally.by))
    named = [(met_in(terms, names), met_in(terms, names | first), rows) for (_, names, first), rows in tables.items()]
    most = max(((len(met), len(all_met)) for met, all_met, _ in named), default=(0, 0))
    best = [(all_met, rows) for met, all_met, rows in named if all_met and (len(met), len(all_met)) == most]
    if len(best) != 1:
        return []
    ((met, rows),) = best
    columns = terms_in(" ".join(rows[0].fields))
    return _meeting(replace(tally, terms=tally.terms - met - met_in(tally.terms, columns)), rows)


def _of_facts(tally: Tally, facts: Sequence[Fact]) -> list[_Unit]:
    """The facts that count, where facts or people are counted: two at least, and none that is a row."""
    nouns = tally.terms & (_FACT_NOUNS | _PEOPLE) or tally.of
    terms = tally.terms - nouns
    if not nouns or not terms or (tally.kind != "most" and not nouns & _FACT_NOUNS and len(terms) < _FACTS_MIN):
        return []
    units = [
        _Unit(fact, terms_in(fact.content) | terms_in(fact.concept) | _speaker(fact), {}) for fact in facts if not fields_of(fact)
    ]
    meeting = _meeting(replace(tally, terms=terms), units)
    # Where some name the kind of thing, the others are of another.
    meeting = [unit for unit in meeting if tally.of & unit.terms] or meeting
    return meeting if len(meeting) >= _FACTS_MIN else []


def _meeting(tally: Tally, units: Sequence[_Unit]) -> list[_Unit]:
    """Units with every term, of the period that is asked for; none where a term is in no unit."""
    if any(not any(met_in((term,), unit.terms) for unit in units) for term in tally.terms):
        return []
    meeting = [unit for unit in units if met_in(tally.terms, unit.terms) == tally.terms]
    if not tally.period:
        return meeting
    if not all(unit.moment for unit in units):
        return []
    return [unit for unit in meeting if (unit.month[4:] if tally.period.startswith("-") else unit.month).startswith(tally.period)]


def _speaker(fact: Fact) -> frozenset[str]:
    return terms_in(fact.speaker)
