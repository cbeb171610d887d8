"""Relevance: whether a found fact speaks about what was asked at all, so that an agent can say "not known".

Every search finds something; its scores rank and don't judge. This judges by what the question and the fact share: the
identifiers and names asked for, the share of the question's words, and how much the shared words told the search. It never
changes an order; that is the business of `quoting`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hive_mind.cognition.answering.aliases import CODE_LETTERS_MIN, aliases_of, answering_names, as_written, described_in
from hive_mind.cognition.answering.answer_forms import form_of, holds_distinctive, lacks_form, may_answer
from hive_mind.cognition.answering.counterparts import about_what_is_named
from hive_mind.cognition.answering.headings import VERSION, dated, headings_of, projects_named, titles_of, unsaid, value_of
from hive_mind.cognition.answering.intent import parts_of
from hive_mind.cognition.answering.measures import counted_in
from hive_mind.cognition.answering.question_terms import (
    FIGURE_KINDS,
    QuestionTerms,
    asked_of,
    focus_of,
    kind_asked,
    owner_in,
    priced_in,
    qualifiers_in,
)
from hive_mind.cognition.answering.subject import (
    ends_asking,
    name_in_fact,
    named_before,
    only_about,
    question_replied_to,
    refers,
    said_in,
    stated,
)
from hive_mind.cognition.answering.things import is_field_asked, key_in, may_define
from hive_mind.cognition.answering.wordings import (
    REFERRING,
    SPANS,
    degree_in,
    is_form_in,
    is_in_compound,
    is_inflected,
    is_stated,
    letters_in,
    likeness,
    measured_in,
    met_in,
    phrase_terms,
    phrases_of,
)
from hive_mind.cognition.extraction.separated import heads_of, is_record, message_of
from hive_mind.model.fact import Fact
from hive_mind.model.query import Hit
from hive_mind.ornament import ornament
from hive_mind.ranking.tokens import terms_in, tokenize
from hive_mind.regex import regex


@dataclass(frozen=True, slots=True)
class RelevanceSettings:
    """The share at which a fact counts as an answer; raise any of them for more "not known" and fewer off-topic quotes.

    `covered_share_min` counts the letters of the shared words and needs nothing else, so it holds in a memory of three facts too.
    `weighted_share_min` counts what the shared words are worth to the search, where rare words are worth more. `similar_min` is a
    cosine above which the words may differ, and `same_min` one above which the focus, too, may be in other words; raise both for
    models whose cosines are all high. `named_share_min` is the covered share of a fact that names the identifier of the question.

    Regardless of the shares, a fact must contain the form of answer such a question needs (`answer_forms`), state the focus of
    the question (`focus`), and match its role, its year and its number. `python -m benchmarks.learning` and `benchmarks.answers`
    print how often that is right.
    """

    covered_share_min: float = 0.55
    weighted_share_min: float = 0.5
    similar_min: float = 0.6
    same_min: float = 0.7
    named_share_min: float = 0.3


@dataclass(frozen=True, slots=True)
class Judgement:
    """How far a fact speaks about what was asked, in shares of it.

    `is_named`: the fact names the identifier asked for. `is_row`: it is the row of a table that is asked for. `is_own`: it shares
    a word of its own and not only what stands before it. `is_carried`: what stands before it says whom or what it is about.
    `is_typed`: it names all of what is asked about and holds the quantity, or the kind of thing, that is asked for.
    """

    covered: float
    weighted: float
    is_named: bool
    is_own: bool = True
    is_row: bool = False
    is_carried: bool = False
    is_typed: bool = False

    @property
    def share(self) -> float:
        """The better of both shares; 1 where the identifier or the row is the one asked for."""
        return 1.0 if self.is_named or self.is_row else max(self.covered, self.weighted)

    @property
    def is_sure(self) -> bool:
        return self.is_named or self.is_row or self.is_typed


@dataclass(frozen=True, slots=True)
class Relevant:
    """A hit with its judgement. `answers`: it does so by itself; the others only belong to the topic."""

    hit: Hit
    found: Judgement
    answers: bool

    @property
    def states_more(self) -> bool:
        """Whether it answers by more than naming what is asked about."""
        return self.answers and (self.found.weighted > 0 or self.found.is_typed or self.found.is_row)


# Added to what was asked, in letters: half of a short question is weaker evidence than half of a long one.
_DOUBT_LETTERS = 4

# In units of BM25, per letter of a word that a fact misses: six letters make 2, and an ordinary word that is found scores more.
_MISSED_PER_LETTER = 1 / 3
# In units of BM25: a single common word that is found proves nothing. The threshold depends on it more than the quality does.
_DOUBT_BM25 = 4
_DIGIT = regex(r"\d")
# At least this many words, and of their letters this share, show that a fact goes on about what was named before it.
_GOING_ON_WORDS_MIN, _GOING_ON_SHARE_MIN = 2, 0.7
# It goes on about what stands before it as well.
_GOING_ON = frozenset("and but yes no yeah also und aber ja nein auch".split())
# This many matching words besides the focus show that the fact states it in other words; or all, with a whole name. "not" is a
# word of many questions.
_OTHERS_ENOUGH = _WORD_LETTERS_MIN = 4
YEAR = regex(r"(?<![\w.,-])(?:1\d|20)\d\d(?![\w,])(?!\.\d)")
_MONTH = regex(
    r"\b(?:in|since|of|im|seit|en|em|w) (january|february|march|april|may|june|july|august|september|october|november|december|"
    r"januar|februar|märz|mai|juni|juli|oktober|dezember)\b",
    re.IGNORECASE,
)
_SENTENCE_ENDS = (".", "!", "。")
# Facts asked for who somebody is: beyond these they tell of others.
_IDENTIFYING_MAX = 2
_OF_A_KIND = regex(r"^(?:and |so |but )?(?:which|how (?:much|many)|welche[rsnm]?|wie ?viele?)\b", re.IGNORECASE)
_FIELD_ENDS = regex(r"[,;]")


def judgement(terms: QuestionTerms, hit: Hit) -> Judgement | None:
    """The match of a hit with the question; None where it misses the identifier or all names.

    A text under a heading is about the heading's subject, and a short answer about the text just before it.
    """
    fact = hit.fact
    own = phrases_of(stated(fact), fact.concept, fact.speaker, " ".join(fact.entities)) | measured_in(fact.content)
    said_itself, own = own, own | terms_in(question_replied_to(fact))
    titles = titles_of(fact) | terms_in(heads_of(fact))
    before = phrase_terms(fact.before)
    meant = phrase_terms(named_before(fact)) if refers(fact) else frozenset()
    subject = _subject(terms, fact, own | titles) or _subject(terms, replace(fact, content=named_before(fact)), meant)
    named = _identified(terms, fact, own | meant | headings_of(fact))
    is_named = bool(named)
    if (terms.identifiers and not is_named) or (terms.names and not (is_named or subject)):
        return None
    must = terms.identifiers | terms.names
    around = titles | (before if _hangs(fact) else frozenset())
    is_row = is_named and is_record(fact)
    met_names = subject | named
    # A heading speaks for the sentences below it, and not for each field.
    said = phrases_of(stated(fact)) if key_in(fact) else own
    is_own = bool(met_names) or any(is_stated(term, said) for term in terms.words)
    met = met_in(terms.words, own | around)
    if terms.of_words < 1:
        met |= {term for term in terms.words - met if likeness(term, own | around) or is_in_compound(term, own)}
        is_own = is_own or any(likeness(term, said) for term in terms.words)
    is_carried = bool((met | met_names) - met_in(met | met_names, said_itself | titles))
    if terms.words - (terms.kinds - FIGURE_KINDS) and not met:
        # The right person and nothing of what was asked about them. A long identifier alone says more than a short one.
        covered = _covered(met_names, terms.words | must) if is_named else 0.0
        return Judgement(covered, 0.0, is_named, is_own, is_row, is_carried)
    if not terms.numbers <= own | around:
        return None
    missed = terms.words - met - _kinds_stated(terms, fact)
    covered = _covered(met | met_names, met | missed | must)
    # BM25 knows how rare each word is in this memory, which the words alone don't show.
    keyword = terms.of_words * hit.components.keyword
    weighted = keyword / (keyword + _MISSED_PER_LETTER * letters_in(terms.words - met) + _DOUBT_BM25)
    return Judgement(covered, weighted, is_named, is_own, is_row, is_carried)


def _identified(asked: QuestionTerms, fact: Fact, terms: frozenset[str]) -> frozenset[str]:
    """The identifiers of a question that a fact of these terms has; all of them where it has the other name of one.

    A fact that has nearly all other words goes on about the identifier that was named just before it.
    """
    if named := asked.identifiers & terms:
        return named
    if asked.aliases & terms:
        return asked.identifiers
    met = met_in(asked.words, terms)
    if len(met) < _GOING_ON_WORDS_MIN or letters_in(met) < _GOING_ON_SHARE_MIN * letters_in(asked.words):
        return frozenset()
    return asked.identifiers & phrase_terms(named_before(fact))


def _subject(asked: QuestionTerms, fact: Fact, terms: frozenset[str]) -> frozenset[str]:
    """The terms in a fact that belong to the names asked about, in other languages than English with any ending."""
    terms |= {term for term in asked.names - terms if asked.of_words < 1 and is_inflected(term, terms)}
    return frozenset(term for name in asked.named for term in name_in_fact(name, fact, terms))


def _kinds_stated(terms: QuestionTerms, fact: Fact) -> frozenset[str]:
    """The kinds that a fact can tell without naming them: where a figure is wanted, it has to have one to tell."""
    if not terms.kinds or is_record(fact):
        return frozenset()
    wanted = terms.words | terms.names | terms.identifiers
    has_figure = any(_DIGIT.search(term) for term in terms_in(fact.content) - wanted)
    return terms.kinds if has_figure else terms.kinds - FIGURE_KINDS if terms.of_words == 1 else frozenset()


def _hangs(fact: Fact) -> bool:
    """Whether what stands before a fact says what it is about: a title, a question, or what "it" is."""
    said = fact.content.removeprefix(f"{fact.speaker}: ")
    first = next(iter(said.split(maxsplit=1)), "").casefold().strip(",.!")
    return not fact.before.endswith(_SENTENCE_ENDS) or first in REFERRING or first in _GOING_ON


def relevant(question: str, hits: Sequence[Hit], settings: RelevanceSettings) -> list[Relevant]:
    """The hits that are about the question, each with its judgement, in their own order; empty where none of them answers it.

    One that answers a part of the question answers it. Where one does, the others need only share a word: a shorter fact often
    holds the answer.
    """
    stating = [hit for hit in hits if not ends_asking(hit.fact)]
    terms = asked_of(question)
    # Without those of other projects than the question names.
    if named := projects_named(question, terms.words | terms.names, [hit.fact for hit in stating]):
        stating = [hit for hit in stating if met_in(named, _terms_of(hit.fact) | titles_of(hit.fact))]
    question = as_written(question, stating)
    aliases = frozenset(alias for _, alias in aliases_of(question, stating))
    apart = asked_about_known(question, hits, settings)
    whole, *parts = (_judged(text, stating, settings, aliases) for text in apart or (question, *parts_of(question)))
    judged = {one.hit.fact.id: one for one in whole}
    for one in (one for part in parts for one in part if one.answers):
        if (known_relevant := judged.get(one.hit.fact.id)) is None or not known_relevant.answers:
            judged[one.hit.fact.id] = one
    is_answered = any(one.answers for one in judged.values())
    meant = about_what_is_named(question, [one.hit for one in judged.values()])
    found = (judged[hit.fact.id] for hit in stating if hit.fact.id in judged and hit.fact.id in meant)
    return [one for one in found if one.answers or (is_answered and _is_on_subject(one))]


def asked_about_known(question: str, hits: Sequence[Hit], settings: RelevanceSettings) -> tuple[str, ...]:
    """The question for the described person, and that about each one whom the hits name as that; none where they name nobody."""
    described = described_in(question)
    if described is None:
        return ()
    answering = [
        one for one in _judged(described.who, [hit for hit in hits if not ends_asking(hit.fact)], settings) if one.answers
    ]
    answering.sort(key=lambda one: -one.found.share)
    names = answering_names(described, [one.hit.fact for one in answering if one.hit.fact.is_current][:_IDENTIFYING_MAX])
    return (described.who, *map(described.of, names)) if names else ()


def is_about(question: str, hit: Hit, settings: RelevanceSettings) -> bool:
    """Whether a fact says anything of what is asked, in the form that is wanted, and of nobody and nothing else than is named."""
    if lacks_form(question, dated(question, hit.fact)):
        return False
    asked = asked_of(question)
    asked = replace(asked, kinds=asked.kinds | kind_asked(question))
    judged = _judged_alone(question, asked, hit, settings)
    return judged is not None and _is_on_subject(judged) and _is_on_topic(question, asked, hit, settings)


def tells_deed(question: str, hit: Hit) -> bool:
    """Whether a fact tells the role and the deed that a question names, and its focus where any text could have the form."""
    asked, terms = asked_of(question), _terms_of(hit.fact)
    wanted = (asked.roles | asked.deeds) - asked.kinds
    focus = frozenset[str]() if form_of(question) else focus_of(question) - asked.kinds
    return all(is_stated(term, terms) for term in wanted) and (not focus or any(is_stated(term, terms) for term in focus))


def _is_on_subject(judged: Relevant) -> bool:
    return judged.found.is_own and (judged.found.weighted > 0 or judged.found.is_named)


def _judged(
    question: str, hits: Sequence[Hit], settings: RelevanceSettings, aliases: frozenset[str] = frozenset()
) -> list[Relevant]:
    """The hits that are not about somebody else, and whether each of them answers."""
    terms = replace(asked_of(question), aliases=aliases)
    return [judged for hit in hits if (judged := _judged_alone(question, terms, hit, settings)) is not None]


@ornament(lambda *_: None)
def _judged_alone(question: str, terms: QuestionTerms, hit: Hit, settings: RelevanceSettings) -> Relevant | None:
    """One hit; None for one about somebody else. One that can't be judged is left out, and the others answer."""
    part, terms = _only_about(terms, hit), replace(terms, kinds=terms.kinds | unsaid(question, hit.fact))
    found = judgement(terms, part) if part else None
    if part is None or found is None:
        return None
    # "It is 84 metres long" has the word that asks how long.
    is_own = found.is_own or not degree_in(question).isdisjoint(terms_in(part.fact.content))
    found = replace(found, is_typed=_is_typed(question, terms, part.fact), is_own=is_own)
    if is_field_asked(question, terms, part.fact):
        found, terms = replace(found, is_row=True), replace(terms, deeds=frozenset())
    # "Which vendor built pump-house-7?": of a thing of a kind a fact that has nothing but the identifier says nothing.
    if _OF_A_KIND.match(question) and not (found.weighted or found.is_row or any(map(VERSION.fullmatch, terms.identifiers))):
        found = replace(found, covered=0.0)
    return Relevant(hit, found, _states(question, terms, part, found, settings) and _fits(question, terms, part, settings))


def _only_about(terms: QuestionTerms, hit: Hit) -> Hit | None:
    """A hit with what its fact says of those who are asked about, and the share of its score by words; None without any."""
    part = only_about(terms.named, hit.fact)
    if part is None or part is hit.fact:
        return hit if part else None
    words = terms.words | terms.names
    left, all_met = (letters_in(met_in(words, terms_in(fact.content))) for fact in (part, hit.fact))
    keyword = hit.components.keyword * left / max(1, all_met)
    return replace(hit, fact=part, components=replace(hit.components, keyword=keyword))


def _fits(question: str, asked: QuestionTerms, hit: Hit, settings: RelevanceSettings) -> bool:
    """Whether a fact is about the one that is meant, and holds what such a question is answered with."""
    terms = _terms_of(hit.fact)
    return (
        all(is_stated(term, terms) for term in (asked.roles | asked.deeds | qualifiers_in(question)) - asked.kinds)
        and _is_on_topic(question, asked, hit, settings)
        and _is_of_that_time(question, hit.fact)
        and may_define(question, hit.fact)
        and may_answer(
            question,
            said_in(dated(question, hit.fact)),
            is_row=_is_row_of(question, hit.fact),
            titles=hit.fact.before,
            value=value_of(hit.fact),
        )
    )


def _states(question: str, terms: QuestionTerms, hit: Hit, found: Judgement, settings: RelevanceSettings) -> bool:
    """Whether a fact says enough of what is asked, and the very thing, or holds it."""
    if found.is_typed or found.is_row:
        return True
    shares_enough = found.covered >= settings.covered_share_min or found.weighted >= settings.weighted_share_min
    is_meant = found.is_named and found.covered >= settings.named_share_min
    is_close = hit.components.semantic is not None and hit.components.semantic >= settings.similar_min
    return (is_meant or (found.is_own and shares_enough) or is_close) and _states_focus(question, terms, hit, settings)


def _states_focus(question: str, asked: QuestionTerms, hit: Hit, settings: RelevanceSettings) -> bool:
    """Whether a fact states the focus of a question, or enough else that it must state it in other words.

    A long identifier that is named leaves little doubt, and so does a whole name with all other words.
    """
    focus = focus_of(question) - asked.kinds
    terms = _terms_of(hit.fact)
    if not focus or is_record(hit.fact) or any(is_stated(term, terms) for term in focus):
        return True
    if any(len(code) >= CODE_LETTERS_MIN for code in asked.identifiers & terms) or asked.words & measured_in(hit.fact.content):
        return True
    others = (asked.words | asked.names) - focus
    if len(met_in(others, terms)) >= _OTHERS_ENOUGH or _is_same(question, hit, settings):
        return True
    words = asked.words - focus - asked.kinds
    is_whole = asked.names <= terms and any(len(name) > 1 for name in asked.named)
    return is_whole and words <= terms and letters_in(words) >= _WORD_LETTERS_MIN


def _is_on_topic(question: str, asked: QuestionTerms, hit: Hit, settings: RelevanceSettings) -> bool:
    """Whether a fact, its heading or its speaker has a word of the question's topic, besides its focus.

    The price of water does not answer a question about the price of a shed.
    """
    topic = asked.words - asked.kinds - focus_of(question)
    if not topic or _is_same(question, hit, settings):
        return True
    fact = hit.fact
    terms = _terms_of(fact) | terms_in(fact.speaker) | titles_of(fact)
    if not all(is_stated(term, terms) for term in priced_in(question) & topic):
        return False
    is_named = not (asked.names | asked.identifiers).isdisjoint(terms)
    return is_named or any(is_stated(term, terms) or is_form_in(question, term, terms) for term in topic)


def _is_same(question: str, hit: Hit, settings: RelevanceSettings) -> bool:
    """Whether the meaning is close enough without the words. A model finds all of a script alike that it can't read."""
    return (hit.components.semantic or 0.0) >= settings.same_min and question.isascii()


def _terms_of(fact: Fact) -> frozenset[str]:
    return phrases_of(fact.content, fact.concept, fact.before) | measured_in(fact.content)


def _is_of_that_time(question: str, fact: Fact) -> bool:
    """Whether a fact, or the titles of its columns, tell of no other year or month alone."""
    told = f"{message_of(fact.content)} {heads_of(fact)}"
    for period in (YEAR, _MONTH):
        asked, stated = (frozenset(map(str.casefold, period.findall(text))) for text in (question, told))
        if asked and stated and asked.isdisjoint(stated) and (period is YEAR or len(stated) == 1):
            return False
    return True


def _is_row_of(question: str, fact: Fact) -> bool:
    """Whether a fact is a row that has what is counted, as a field or as a column."""
    counted = counted_in(question)
    if not counted or not is_record(fact):
        return is_record(fact)
    # The contents of the first column are counted by the rows.
    head, _, titles = _FIELD_ENDS.sub("|", fact.before.strip("| ")).partition("|")
    terms = terms_in(f"{titles} {fact.content}") - terms_in(head)
    return any(is_stated(term, terms) for term in tokenize(counted))


def _is_typed(question: str, asked: QuestionTerms, fact: Fact) -> bool:
    """Whether a fact names all of what is asked about and holds the quantity, or the kind of thing, that is asked for.

    First names alone are too common for that, and so are spans of time. Things without a name need the rarer kinds.
    """
    terms = phrase_terms(stated(fact)) | (phrase_terms(named_before(fact)) if refers(fact) else frozenset())
    said = fact.content.removeprefix(f"{fact.speaker}: ")
    if not (asked.named or asked.identifiers):
        return owner_in(question) in asked.words & terms and holds_distinctive(question, said)
    is_whole = any(len(name) > 1 and name <= terms for name in asked.named) or not asked.identifiers.isdisjoint(terms)
    return is_whole and (bool(asked.words & (measured_in(said) - SPANS)) or holds_distinctive(question, said))


def _covered(met: frozenset[str], wanted: frozenset[str]) -> float:
    """A word counts by its length: long words are rarer, and rare words tell more."""
    if met == wanted:
        return 1.0 if wanted else 0.0
    return letters_in(met) / (letters_in(wanted) + _DOUBT_LETTERS)
