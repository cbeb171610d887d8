"""Counterparts: facts about the other one of a pair, such as the south crane where the north crane is asked about.

Such a fact says all that is asked, so nothing tells it apart but the word in front of the thing: it has another one there, and
nowhere the one that is asked for.

Siblings: facts under two items of one list, or two headings, of which a question names one. "Opens at nine" under winter answers
when it opens in winter, and "opens at six" under spring does not, though both say as much.
"""

import re
from collections.abc import Sequence

from hive_mind.cognition.answering.answer_forms import lacks_form
from hive_mind.cognition.answering.headings import is_of_other_version, lacks_name_of_program, title_of
from hive_mind.cognition.answering.intent import Kind, intent_of
from hive_mind.cognition.answering.other_languages import FIGURE, PRICE, SOMEBODY, THING, asking_words, tells_opposite
from hive_mind.cognition.answering.question_terms import asked_of
from hive_mind.cognition.answering.subject import refers
from hive_mind.cognition.answering.wordings import (
    content_terms,
    is_german,
    is_in_compound,
    is_stated,
    likeness,
    measure_terms,
    measured_in,
    met_in,
    phrase_terms,
    phrases_of,
)
from hive_mind.model.fact import Fact
from hive_mind.model.query import Hit
from hive_mind.ornament import ornament
from hive_mind.ranking.tokens import is_english, terms_in, tokenize
from hive_mind.regex import regex
from hive_mind.remembered import remembered

_BETWEEN = ": "


@ornament(lambda _, hits: frozenset(hit.fact.id for hit in hits))
def about_what_is_named(question: str, hits: Sequence[Hit]) -> frozenset[str]:
    """Ids of the hits without those about a sibling of what the question names, another thing's version or dotted name."""
    terms = asked_of(question)
    terms_asked = terms.words | terms.names | terms.identifiers
    paths = {hit.fact.id: hit.fact.concept.rpartition(_BETWEEN) for hit in hits if _BETWEEN in hit.fact.concept}
    terms_by_parent: dict[str, list[frozenset[str]]] = {}
    for parent, _, title in paths.values():
        terms_by_parent.setdefault(parent, []).append(met_in(terms_asked, phrase_terms(title)))
    ids, unseen = set[str](), _things_unseen(question, hits)
    for hit in hits:
        if unseen and (refers(hit.fact) or not unseen.isdisjoint(tokenize(hit.fact.content))):
            continue
        if any(is_other(question, hit.fact) for is_other in (is_of_another, is_of_other_version, lacks_name_of_program)):
            continue
        parent, _, title = paths.get(hit.fact.id, ("", "", ""))
        met = met_in(terms_asked, phrase_terms(title))
        # It may say itself what its title does not.
        own_terms = met | met_in(terms_asked, phrase_terms(hit.fact.content))
        if not any(met < sibling and not sibling <= own_terms for sibling in terms_by_parent.get(parent, ())):
            ids.add(hit.fact.id)
    return frozenset(ids)


def _things_unseen(question: str, hits: Sequence[Hit]) -> frozenset[str]:
    """Things of which a question names one that no fact found is about, and the facts others: the attic's of two sensors."""
    words = asked_of(question).words
    things = [(mark, thing) for mark, thing in _marked_things(question) if mark in words and thing.isalpha()]
    # Of many facts others may tell of it.
    if not things or len(hits) > _FEW_MAX:
        return frozenset()
    told = frozenset(pair for hit in hits for pair in _marked_things(hit.fact.content))
    seen = frozenset[str]().union(*(phrases_of(hit.fact.content, hit.fact.concept, hit.fact.before) for hit in hits))
    return frozenset(
        term
        for mark, thing in things
        if not is_stated(mark, seen) and len({other for other, named in told if named == thing and other not in _ANY}) > 1
        for term in tokenize(thing)
    )


def lacks_half(question: str, hits: Sequence[Hit], *, with_figures: bool = False) -> bool:
    """Whether a question for one thing, in two words, has one that nothing found has: the garage's key is not the shed's.

    `with_figures`: also of a question for a figure. In English the words in front of things tell, but where yes or no is asked
    for: bikes on the ferry are no dog.
    """
    terms = asked_of(question)
    measures = measure_terms(question)
    words = (terms.words | terms.names) - (terms.kinds - measures)
    is_one_asked = _ONE_THING.search(question) or PRICE.search(question) or (with_figures and _FIGURE_ASKED.search(question))
    if is_english(question):
        if intent_of(question).kind is not Kind.YES_NO:
            return False
    elif len(words) != _HALVES or terms.identifiers or not is_one_asked:
        return False
    seen = frozenset[str]().union(*(phrases_of(hit.fact.content, hit.fact.concept, hit.fact.before) for hit in hits))
    if measures and not all(lacks_form(question, hit.fact) for hit in hits):
        words -= measures
    return any(not (is_stated(word, seen) or likeness(word, seen) or is_in_compound(word, seen)) for word in words)


_HALVES = 2
_ONE_THING = regex(rf"{SOMEBODY}|{THING}|^(?:wer|wem|wen|wo)\b|^was kostet\b", re.IGNORECASE)
_FIGURE_ASKED = regex(FIGURE, re.IGNORECASE)
_WORD = regex(r"[^\W_][\w'’-]*|[.,;:!?()|]")
_SENTENCE_ENDS = (".", "!", "。")
# In front of a thing they mean any of them, or say nothing.
_ANY = frozenset(
    tokenize("each every all any another other both same whole entire only such many few several more most own very")
)
# A verb follows, or what is asked for: "to catch up", "which team".
_BEFORE_OTHERS = frozenset("to what which whose welche welcher welches".split())
_PREPOSITIONS = frozenset("in on at of for from to with by near under over im am auf bei für von mit".split())
_LETTERS_MIN, _LINK_MAX, _FEW_MAX = 3, 2, 12
_AUXILIARIES = frozenset("do does did can could will would must should may might shall".split())
_LABEL = regex(r"[A-Z]|\d{1,6}")
_LABELLED, _BEHIND = "#", ">"
# "Tower d"; "a" is one only where nothing can follow it, and other languages have words of a letter.
_LETTERED = regex(
    r"(?<![\w'’-])([A-Za-z]{3,20}) ([b-hj-z]|a(?=\W*$|\W\s|\s(?:is|are|was|has|had|does|did|can|will)\b))(?!\w|['’.&/+-]\w|[’'])"
)
_KIND_ASKED = regex(
    r"(?:[Ww]hich|[Ww]hat) (?P<mark>[a-z]{3,40}) (?P<thing>[a-z]{3,40}) "
    rf"(?:{'|'.join(sorted(_AUXILIARIES))}|is|are|has|have)\b"
)
_NO_STOPS = str.maketrans(dict.fromkeys("?!.,;:()", " "))


@ornament(lambda *_: False)
def is_of_another(question: str, fact: Fact) -> bool:
    """Whether a fact tells what is asked of one thing about another one of its kind."""
    if _is_of_other_letter(question, fact) or tells_opposite(question, f"{fact.concept} {fact.content}"):
        return True
    terms = asked_of(question)
    words, things = terms.words - terms.kinds, set(_marked_things(question))
    # Of "Which graphics card does …": a data card is another one.
    if kind := _KIND_ASKED.match(question):
        things |= {(mark, kind["thing"].casefold()) for mark in tokenize(kind["mark"])[-1:]}
    # In other languages a verb may follow the question word, and words have other endings.
    is_elsewhere = terms.of_words < 1
    if is_elsewhere and (asking := asking_words(question)):
        words -= terms_in(" ".join((asking, *question.partition(asking)[2].split()[:1])))
    if words.isdisjoint(mark for mark, _ in things):
        return False
    before = "" if fact.before.endswith(_SENTENCE_ENDS) else fact.before
    around = phrases_of(fact.content, fact.concept, fact.speaker, before, *map(title_of, fact.sources))
    return any(
        _is_other(mark, thing, question, fact, around)
        for mark, thing in things
        if mark in words and not is_stated(mark, around) and not (is_elsewhere and likeness(mark, around))
    )


@remembered(64)
def _lettered_in(question: str) -> tuple[tuple[str, str], ...]:
    return tuple((thing.casefold(), letter) for thing, letter in _LETTERED.findall(question)) if is_english(question) else ()


def _is_of_other_letter(question: str, fact: Fact) -> bool:
    """Whether a fact tells of "tower b" alone, and "tower d" is asked about: a small letter is no term."""
    lettered = _lettered_in(question)
    told = {thing.casefold() for thing, _ in _LETTERED.findall(fact.content)} if lettered else set()
    return any(thing in told and letter not in _WORD.findall(fact.content) for thing, letter in lettered)


def _is_other(mark: str, thing: str, question: str, fact: Fact, around: frozenset[str]) -> bool:
    terms, is_labelled = asked_of(question), thing.endswith(_LABELLED)
    if is_labelled:
        # "Is the port 8443?" is answered by another number as well.
        is_told = intent_of(question).kind is not Kind.YES_NO
    else:
        verb = _verb_behind(thing, question)
        further = terms.words - terms.kinds - {mark, *tokenize(thing)} - (verb or frozenset())
        stated = around | measured_in(fact.content)
        is_told = (bool(further) or verb is not None) and all(is_stated(term, stated) for term in further)
    marks = {other for other, named in _marked_things(fact.content) if named == thing} if is_told else set()
    return bool(marks) and not any(
        other in _ANY or other in terms.words or (other.isdigit() and not is_labelled) for other in marks
    )


def _verb_behind(thing: str, question: str) -> frozenset[str] | None:
    """The verb behind a thing in a question, which facts may have in another form; None where the thing may be one itself."""
    words = question.casefold().translate(_NO_STOPS).split()
    place = words.index(thing) if thing in words else 0
    if _AUXILIARIES.isdisjoint(words[:place]):
        return frozenset() if place else None
    return frozenset(tokenize(" ".join(words[place + 1 : place + 2]))) or None


@remembered(256)
def _marked_things(text: str) -> frozenset[tuple[str, str]]:
    """Words that tell one thing from another, each as a term with the thing: "north crane", "crane in the north", "crane B".

    A thing is the word as it is written, which it stays from question to answer; verbs seldom do.
    """
    marked, behind = set[tuple[str, str]](), set[tuple[str, str]]()
    words = [(word, tokenize(word)) for word in _WORD.findall(text)]
    content = content_terms(text, frozenset(term for _, terms in words for term in terms))
    is_free, mark, thing, link = True, "", "", list[str]()
    for written, terms in words:
        word, is_content = written.casefold(), not content.isdisjoint(terms)
        if thing and not link and _LABEL.fullmatch(written):
            marked.add((word, f"{thing} {_LABELLED}"))
        elif is_content and len(word) >= _LETTERS_MIN:
            if mark:
                marked.add((mark, word))
                # Behind a noun of English stands its verb, and of German only another noun tells which: "Haus Süd", "puente sur".
                if written[0].isupper() or not is_german(text):
                    behind.add((terms[-1], f"{thing} {_BEHIND}"))
            elif is_free and 0 < len(link) <= _LINK_MAX and link[0] in _PREPOSITIONS and thing:
                marked.add((terms[-1], f"{thing} {link[0]}"))
        thing, link = (word, []) if is_content else (thing, [*link[:_LINK_MAX], word])
        mark, is_free = (terms[-1] if is_content and is_free else ""), not is_content and word not in _BEFORE_OTHERS
    return frozenset(marked if not behind or is_english(text) else marked | behind)
