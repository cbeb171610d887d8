"""Answers by quotation: the best facts word for word, with who said them and when.

Nothing between the quotation marks is ours. Our own words (a resolved date, "no longer true") stand outside of them.

Selection: which of the relevant facts are quoted, and in what order.

Coverage: the few facts that together say most of what a question asks, and nothing twice.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from hive_mind.cognition.answering.aliases import as_written, long_codes
from hive_mind.cognition.answering.answer_forms import form_of, lacks_form
from hive_mind.cognition.answering.calibration import LEAST_ODDS
from hive_mind.cognition.answering.corrections import corrections_of, later_first, replaces
from hive_mind.cognition.answering.counterparts import about_what_is_named, lacks_half
from hive_mind.cognition.answering.headings import dated, is_title, notes_around, opening_bonus
from hive_mind.cognition.answering.intent import Kind, direct, intent_of, parts_listed, parts_of
from hive_mind.cognition.answering.likelihood import FACTS_MIN, MANY, likelihoods, prior_of
from hive_mind.cognition.answering.other_languages import REASON, asks_why
from hive_mind.cognition.answering.question_terms import QuestionTerms, asked_of
from hive_mind.cognition.answering.relevance import (
    Judgement,
    RelevanceSettings,
    Relevant,
    asked_about_known,
    is_about,
    relevant,
    tells_deed,
)
from hive_mind.cognition.answering.subject import only_asks
from hive_mind.cognition.answering.things import defining_bonus, key_in
from hive_mind.cognition.answering.wordings import REFERRING, measured_in, met_in
from hive_mind.cognition.extraction.sentences import is_note
from hive_mind.cognition.extraction.separated import is_record, message_of
from hive_mind.cognition.iso import readable
from hive_mind.cognition.temporal import relative_moments
from hive_mind.memory.disputes import dispute_text
from hive_mind.memory.editions import former_note
from hive_mind.model.fact import Fact
from hive_mind.model.gathered import Answer, Question
from hive_mind.model.query import ANSWERING, Answering, Hit
from hive_mind.ornament import ornament
from hive_mind.ranking.tokens import terms_in, tokenize
from hive_mind.regex import regex

# Scores go up to 1: an answer comes before what is merely near, and all words together are worth as much as a perfect match.
# A bonus of 0.15 loses half a point of `benchmarks.learning`; half the gain, or a bonus of 0.5, changes nothing there.
_ANSWER_BONUS = 0.3
_GAIN = 1.0
# Of two that add the same, the one that shares more with the question, also where another has said that already.
_SHARE_BONUS = 0.3

# A sentence that points elsewhere says nothing itself.
_EXACT_BONUS, _TITLE_BONUS, _POINTING_MALUS, _CODE_MALUS = 0.1, 0.5, 0.5, 0.2
# A sentence answers it, and no example.
_TOLD = regex(
    r"(?:and |so |but )?(?:who|whom|why|when|is|are|was|were|does|do|did|can|what (?:is|are|was|were|does|did))\b", re.IGNORECASE
)
_WHY = regex(r"(?:and |so |but )?(?:why|how come|warum|wieso|weshalb)\b", re.IGNORECASE)
_POINTING = regex(
    r"(?:(?:please )?(?:see|read|refer to|consult|follow|visit)|for (?:more|further|other|details|an example)\b.{0,80}, see|"
    r"you(?:'ll| will| may| should)? (?:want to )?(?:read|see))\b",
    re.IGNORECASE,
)

# The facts worth reading among those that only name an identifier: a sentence with a few words besides.
_SENTENCE_BONUS, _DETAIL_MIN = 0.2, 4
_SENTENCE_ENDS = (".", "!", "。")

# "Reminder: the pump remains at 5 bar", "Data point: the pump is at 5 bar".
_LEAD = regex(r"^(?:[^\W\d_][\w'-]{0,20} ){0,2}[^\W\d_][\w'-]{0,20}: ")
_STILL = frozenset(tokenize("still again now currently unchanged"))
_SAID_ANEW = _STILL | frozenset(tokenize("remain remains stay stays remind reminder note keep keeps update"))
_ALIKE_SHARE = 0.75
_DIGIT = regex(r"\d")
_UNIT = regex(r"\d ?(?P<unit>[^\W\d_]{1,15})\b")


@dataclass(frozen=True, slots=True)
class _Offered:
    one: Relevant
    score: float
    terms: frozenset[str]


def chosen(
    terms: QuestionTerms, ranked: Sequence[tuple[Relevant, float]], quotes_max: int, parts: Sequence[QuestionTerms] = ()
) -> list[Relevant]:
    """At most `quotes_max` of the ranked facts, in the order in which they are worth reading, those that answer ahead.

    Of a question that asks for several things, each of its `parts` needs a fact. One that does not answer by itself is quoted
    for a word of the question that no other quote has, because it names the identifier that is asked about, or because it says
    later than another quote what that says, with another figure.
    """
    # All of them have the identifier, itself or by another name.
    terms_wanted = (terms.words | terms.names) or terms.identifiers
    is_told = any(map(_is_told, (candidate for candidate, _ in ranked)))
    # Beside the very field the others of its record say nothing.
    left = [
        _offered(terms, candidate, score)
        for candidate, score in ranked
        if not is_told or _is_told(candidate) or not (names_only(terms, candidate) or key_in(candidate.hit.fact))
    ]
    quotes: list[_Offered] = []
    missing, unstated = terms_wanted, [part.words for part in parts if part.words]
    while left and len(quotes) < quotes_max:
        best = max(left, key=partial(_worth, missing=missing, terms_wanted=terms_wanted, unstated=tuple(unstated)))
        left = [offered for offered in left if offered is not best]
        added = frozenset[str]().union(*(met_in(wanted, best.terms) for wanted in (missing, *unstated)))
        is_newer = any(_is_newer(terms, best, quote) for quote in quotes)
        if quotes and not (added or best.one.answers or best.one.found.is_named or is_newer):
            continue
        quotes.append(best)
        missing -= added
        unstated = [part for part in unstated if met_in(part, best.terms) != part]
        left = [offered for offered in left if not is_repeated(offered.one.hit.fact, best.one.hit.fact)]
    return sorted((offered.one for offered in quotes), key=lambda relevant: not relevant.answers)


def _is_told(candidate: Relevant) -> bool:
    return candidate.answers and (candidate.found.is_row or candidate.found.is_typed)


def _worth(
    offered: _Offered, *, missing: frozenset[str], terms_wanted: frozenset[str], unstated: Sequence[frozenset[str]]
) -> float:
    """The worth of a fact after those that were taken: its score, and what it adds."""
    # In letters: of the parts of the question, or of all of it.
    parts = [(part, part) for part in unstated] or [(missing, terms_wanted)]
    shares = [sum(map(len, met_in(part, offered.terms))) / max(1, sum(map(len, whole))) for part, whole in parts]
    return offered.score + _GAIN * max(shares)


def names_only(terms: QuestionTerms, relevant: Relevant) -> bool:
    """Whether a fact has the identifier that is asked about and no other word of the question."""
    return relevant.found.is_named and bool(terms.words) and not met_in(terms.words - _STILL, _terms_of(terms, relevant.hit.fact))


def _offered(asked: QuestionTerms, relevant: Relevant, score: float) -> _Offered:
    """Of facts that only name the identifier, those that say more about it in a sentence come first."""
    terms = _terms_of(asked, relevant.hit.fact)
    if names_only(asked, relevant) and relevant.hit.fact.content != relevant.hit.fact.concept:
        content = relevant.hit.fact.content
        has_detail = len(terms - terms_in(" ".join((relevant.hit.fact.speaker, *long_codes(content))))) >= _DETAIL_MIN
        score = min(score, 1.0) + _SENTENCE_BONUS * (has_detail and content.endswith(_SENTENCE_ENDS))
    share = 0.0 if relevant.found.is_named else relevant.found.share
    return _Offered(relevant, score + _ANSWER_BONUS * relevant.states_more + _SHARE_BONUS * share, terms)


def is_repeated(fact: Fact, other_fact: Fact) -> bool:
    """Whether two facts say the same in nearly the same words; with another figure it is another statement."""
    contents = (_LEAD.sub("", said.content.removeprefix(f"{said.speaker}: ")) for said in (fact, other_fact))
    message, other_message = (terms_in(content) - _SAID_ANEW for content in contents)
    figures = [{term for term in terms if _DIGIT.search(term)} for terms in (message, other_message)]
    return figures[0] == figures[1] and len(message & other_message) >= _ALIKE_SHARE * max(1, len(message | other_message))


def _is_newer(terms: QuestionTerms, later: _Offered, earlier: _Offered) -> bool:
    """Whether a fact says the same part of a question after another, with a figure of the same unit."""
    facts = later.one.hit.fact, earlier.one.hit.fact
    parts = [met_in(terms.words, offered.terms) for offered in (later, earlier)]
    units = [{match["unit"] for match in _UNIT.finditer(fact.content)} for fact in facts]
    return facts[0].said_at > facts[1].said_at and bool(parts[0]) and parts[0] == parts[1] and not units[0].isdisjoint(units[1])


def _terms_of(terms: QuestionTerms, fact: Fact) -> frozenset[str]:
    """The terms of a fact, of the quantities in it, and of its speaker, where asked about: "Mendes" mends nothing."""
    speaker = terms_in(fact.speaker) & (terms.words | terms.names)
    message = fact.content.removeprefix(f"{fact.speaker}: ")
    return terms_in(message) | terms_in(fact.concept) | measured_in(message) | speaker


PREFACE = "Quoted from memory, not reasoned:"
NOT_KNOWN = "I don't know: nothing in memory answers this for certain."
_CLOSEST = 3

# A fact that answers by itself may be this much weaker than one that only shares words; weaker still, it is about something else.
_STATES_MORE_SHARE = 0.5

# All of a short text is about the same: where nothing in a small memory is likely enough, its facts are taken for likelier, by
# this share of what they are for being few. Each row of a table is about another.
_EASE = 0.5
# Where that is not enough either, twice as much for the fact that stands out: so far above all others that could answer. Of 621
# questions about 94 short texts, each alone in a memory, 28 are answered so, 23 of them rightly; of 180 of SQuAD's tricks, each
# put to its paragraph alone, 4 more than were.
_EASE_ALONE, _STANDS_OUT = 1.0, 1.5

# For one that only its likelihood speaks for: it shares enough words to be quoted.
_UNJUDGED = Judgement(0.0, 0.5, is_named=False)


@dataclass(frozen=True, slots=True)
class QuotingSettings:
    """`quotes_max` and `list_quotes_max`: more quotes miss less and read worse; lists and histories get the second.

    `score_share_min`: quotes below this share of the best score are left out; lower it to quote more of the weak ones.
    `answering`: how readily a question is answered at all (docs/howto/answers.md).
    """

    quotes_max: int = 3
    list_quotes_max: int = 10
    score_share_min: float = 0.6
    answering: Answering = ANSWERING
    relevance: RelevanceSettings = field(default_factory=RelevanceSettings)


def quoted_answer(question: Question, hits: Sequence[Hit], settings: QuotingSettings, searched: int = 0) -> Answer:
    """The relevant hits as quotations, or "not known". `searched`: see `likelihoods`."""
    text = direct(question.text)
    intent = intent_of(text)
    # Those that only ask have the words of a question, and would be the best of all.
    now = [hit for hit in hits if (intent.wants_superseded or not hit.fact.superseded_by) and not only_asks(hit.fact)]
    as_in_memory, asked_parts = as_written(text, now), asked_about_known(text, now, settings.relevance) or parts_of(text)
    judged = _decided([as_in_memory, *asked_parts], now, relevant(text, now, settings.relevance), settings, searched)
    if not judged:
        return not_known(hits)
    terms = asked_of(as_in_memory)
    scores = [
        hit.score + opening_bonus(text, hit.fact) + defining_bonus(text, hit.fact) + _wording_bonus(text, terms, hit.fact)
        for hit in (judged_hit.hit for judged_hit in judged)
    ]
    by_score = sorted(zip(judged, scores, strict=True), key=lambda pair: -pair[1])
    ranked = strong(by_score, settings.score_share_min)
    parts = [asked_of(part) for part in asked_parts]
    quotes_max = settings.list_quotes_max
    if intent.kind in (Kind.LOOKUP, Kind.TEMPORAL, Kind.YES_NO, Kind.CURRENT):
        # Where all only name the identifier, nothing tells which of what is said about it is meant.
        is_vague = all(names_only(terms, judged_hit) for judged_hit, _ in ranked)
        further = max(0, len(parts_of(text)) - 1) + settings.quotes_max * is_vague
        quotes_max = min(settings.quotes_max + further, quotes_max)
    best = chosen(terms, ranked, quotes_max, parts)
    judgements = {judged_hit.hit.fact.id: judged_hit for judged_hit in best}
    hits_chosen = [judged_hit.hit for judged_hit in best]
    corrections = corrections_of(hits_chosen, now, terms.words | terms.names | terms.identifiers)
    sources = tuple(later_first([*_with_reason(text, hits_chosen, now, searched), *corrections]))
    quoted = [judgements.get(hit.fact.id) or Relevant(hit, _UNJUDGED, answers=True) for hit in sources]
    # By how much of the question it says, in these words or in others.
    shares = [max(judged_hit.found.share, min(1.0, judged_hit.hit.components.semantic or 0.0)) for judged_hit in quoted]
    confidence = max(share * hit.fact.confidence for share, hit in zip(shares, sources, strict=True))
    quotations = [
        quotation(judged_hit.hit, is_carried=judged_hit.found.is_carried, hits_beside=sources, question=as_in_memory)
        for judged_hit in quoted
    ]
    return Answer(
        "\n".join([PREFACE, *quotations, *_left_open(parts_listed(text), now, sources, settings, searched)]),
        sources,
        "quoted",
        round(confidence, 2),
    )


def _with_reason(question: str, quotes: list[Hit], hits: Sequence[Hit], searched: int) -> list[Hit]:
    """The quotes, with what follows the first, where "why" is asked and that says only once more what is asked about.

    It comes first where it says that it is the reason, and in a small memory: a sentence of a large one may have more in it.
    """
    first = quotes[0].fact
    if not asks_why(question) or REASON.search(first.content):
        return quotes
    behind = [hit for hit in hits if hit.fact.before == first.content and not set(hit.fact.sources).isdisjoint(first.sources)]
    # Only of English and German are all words for a reason known.
    is_read = _WHY.match(question) is not None
    behind = [hit for hit in behind if is_read or hit.fact.speaker == first.speaker]
    told = [hit for hit in behind if not is_record(hit.fact)][:1]
    reasons = [hit for hit in (*told, *quotes) if REASON.search(hit.fact.content)]
    if reasons and reasons[0] not in told:
        return quotes
    others = [hit for hit in quotes if hit not in told]
    return [*told, *others] if reasons or (is_read and 0 < searched < MANY) else [*others[:1], *told, *others[1:]]


def _wording_bonus(question: str, terms: QuestionTerms, fact: Fact) -> float:
    """For the very words of the question; against a sentence that says where to read more, and code that nobody asks for."""
    words = terms.words - terms.kinds
    exact = _EXACT_BONUS * len(words & terms_in(fact.content)) / max(1, len(words))
    is_code = "\n" in fact.content and _TOLD.match(question) is not None
    if fact.content == fact.concept:
        # A title tells when or where, and what stands below it the rest.
        form = form_of(question)
        exact += _TITLE_BONUS if form is not None and form.is_time else -_TITLE_BONUS
    return exact - _POINTING_MALUS * (_POINTING.match(fact.content) is not None) - _CODE_MALUS * is_code


def _decided(
    questions: Sequence[str], hits: Sequence[Hit], judged: Sequence[Relevant], settings: QuotingSettings, searched: int
) -> list[Relevant]:
    """The facts that answer and those on topic beside them; none where no fact is likely enough to answer.

    Where one is, all answer that the rules accept, and those that are likely enough and state anything; of few facts, where they
    need be less likely, only if they say something of what is asked.
    """
    by_rules = {relevant.hit.fact.id: relevant for relevant in judged}
    odds, least = likelihoods(questions, hits, by_rules, searched), LEAST_ODDS[settings.answering]
    ids_meant = about_what_is_named(questions[0], hits)
    is_few = len(hits) < FACTS_MIN or 0 < searched < MANY
    texts_before = frozenset(hit.fact.before for hit in hits)
    further_ease = _EASE * prior_of(searched)
    if further_ease and lacks_half(questions[0], hits):
        further_ease = 0.0
    # Of a large memory once: there is nothing to be taken for likelier.
    for ease in dict.fromkeys((0.0, further_ease)):
        decided, is_answered = list[Relevant](), False
        for hit in hits:
            relevant, id = by_rules.get(hit.fact.id), hit.fact.id
            is_likely = odds[id] + ease * (not is_record(hit.fact) and not is_title(hit.fact, texts_before)) >= least
            is_meant = (
                is_likely
                and id in ids_meant
                and (not is_few or any(is_about(question, hit, settings.relevance) for question in questions))
            )
            answers = is_meant or (relevant is not None and relevant.answers)
            is_answered = is_answered or (answers and is_likely)
            if answers or relevant:
                decided.append(Relevant(hit, relevant.found if relevant else _UNJUDGED, answers))
        if is_answered:
            return decided
    meant = [hit for hit in hits if hit.fact.id in ids_meant and not is_title(hit.fact, texts_before)]
    is_possible = further_ease > 0 and not lacks_half(questions[0], hits, with_figures=True)
    best = _standing_out(questions[0], meant, odds, settings) if is_possible else None
    if best is None or odds[best.fact.id] + _EASE_ALONE * prior_of(searched) < least:
        return []
    found = by_rules[best.fact.id].found if best.fact.id in by_rules else _UNJUDGED
    return [Relevant(best, found, answers=True)]


def _standing_out(question: str, hits: Sequence[Hit], odds: Mapping[str, float], settings: QuotingSettings) -> Hit | None:
    """The hit that is by far the likeliest of those with what such a question is answered with, None where none is.

    Where a question names somebody, or a row of a table is it, it must share more than that with the question.
    """
    terms = asked_of(question)
    is_named = bool(terms.names or terms.identifiers)
    if is_named and form_of(question) is None:
        return None
    holding = [hit for hit in hits if not lacks_form(question, dated(question, hit.fact))]
    likeliest, *others = sorted(holding, key=lambda hit: -odds[hit.fact.id])[:2] or (None,)
    if likeliest is None or any(odds[likeliest.fact.id] - odds[hit.fact.id] < _STANDS_OUT for hit in others):
        return None
    return likeliest if is_about(question, likeliest, settings.relevance) and tells_deed(question, likeliest) else None


def _left_open(
    parts: Sequence[str], hits: Sequence[Hit], sources: Sequence[Hit], settings: QuotingSettings, searched: int
) -> list[str]:
    """A line on the parts of a question that nothing answers: no fact by itself, and no quote by a word that only they have."""
    terms = {part: frozenset(tokenize(part)) for part in parts}
    of_sources = [terms_in(hit.fact.content) | terms_in(hit.fact.before) | measured_in(hit.fact.content) for hit in sources]

    def is_known(part: str) -> bool:
        own = terms[part].difference(*(terms[other] for other in parts if other != part))
        if not own or any(met_in(own, held) for held in of_sources):
            return True
        judged = relevant(part, hits, settings.relevance)
        odds = likelihoods([part], hits, {judged_hit.hit.fact.id: judged_hit for judged_hit in judged}, searched)
        return max(odds.values(), default=-math.inf) >= LEAST_ODDS[settings.answering]

    known = [part for part in parts if is_known(part)]
    if not known or len(known) == len(parts):
        return []
    named, unknown = (", ".join(f"“{part}”" for part in group) for group in (known, [p for p in parts if p not in known]))
    return [f"Partly: {named} is answered, {unknown} is not."]


def not_known(hits: Sequence[Hit] = ()) -> Answer:
    """An answer that says so, with the closest of what was found."""
    return Answer(NOT_KNOWN, (), "unknown", 0.0, tuple(hits[:_CLOSEST]))


def quotation(hit: Hit, *, is_carried: bool = False, hits_beside: Sequence[Hit] = (), question: str = "") -> str:
    """A fact word for word, with who said it and when; and after what, where only that says what it is about (`is_carried`).

    It says which of the facts beside it it replaces, and which heading or file it stands under, where only that has a word of
    the question.
    """
    fact = hit.fact
    # The speaker stands in front of most utterances already.
    speaker = "" if fact.content.startswith(f"{fact.speaker}: ") else fact.speaker
    attribution = ", ".join(part for part in (speaker, _as_people_write(fact.said_at)) if part)
    notes = _notes(hit, is_carried=is_carried, question=question)
    notes += [
        f"said later, it replaces “{hit_beside.fact.content}”" for hit_beside in hits_beside if replaces(fact, hit_beside.fact)
    ]
    return f"“{fact.content}”" + (f" — {attribution}" if attribution else "") + (f" ({'; '.join(notes)})" if notes else "")


_as_people_write = ornament(lambda said_at: said_at)(readable)


@ornament(lambda *_, **__: [])
def _notes(hit: Hit, *, is_carried: bool, question: str) -> list[str]:
    fact = hit.fact
    message = fact.content.removeprefix(f"{fact.speaker}: ")
    around = notes_around(question, fact) if question else []
    is_row = is_record(fact)
    # The time in front of a log line is shown as the time it was said.
    relative = relative_moments(message_of(message), fact.said_at)
    notes = [f"“{moment.text}” is {moment.iso}" for moment in relative]
    if former := former_note(fact):
        notes.append(former)
    if dispute := dispute_text(hit):
        notes.append(dispute)
    notes += [label for label in fact.labels if is_note(label)]
    # It begins with a word for what stands before it: "Then Tomas does it". The first text under a heading has that before it.
    goes_on = next(iter(message.split(maxsplit=1)), "").casefold() in REFERRING
    if fact.before and (is_carried or goes_on) and not is_row and not (around and fact.before.endswith(fact.concept)):
        notes.append(f"after “{fact.before}”")
    notes += around
    if is_row:
        # The titles of the columns of a table.
        notes.append(fact.before.removeprefix(f"{fact.speaker}: ").strip("| "))
    return notes


def strong(ranked: Sequence[tuple[Relevant, float]], share_min: float) -> list[tuple[Relevant, float]]:
    """Without what lies below this share of the best that answers; half of it is enough for what tells the answer itself.

    The addition for naming an identifier is left out of it: all of these facts speak about the identifier, and one that
    stands under its heading need not repeat it.
    """
    own_scores = [score - judged_hit.hit.contributions.exact for judged_hit, score in ranked]
    best = max((score for score, (judged_hit, _) in zip(own_scores, ranked, strict=True) if judged_hit.answers), default=0.0)
    # The best stays in any case, also where rounding has put its own part below 0.
    floor = min(best, best * share_min)
    return [
        pair
        for pair, score in zip(ranked, own_scores, strict=True)
        if score >= floor or (pair[0].states_more and score >= floor * _STATES_MORE_SHARE)
    ]
