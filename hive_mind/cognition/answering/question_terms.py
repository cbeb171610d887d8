"""The terms of a question: those that must be met, those that should be, and those that the answer may leave unsaid.

Focus: what a question asks about its topic: the rent in "What is the rent of the flat?", and not the flat. A fact about the
flat that says nothing of rent is on topic but not an answer. A kind of thing that a question asks for ("which language") may be
missing from a fact that has its verb ("written"). It is found by the form of the question, without a grammar; a question of an
unknown form has no focus.
"""

import re
from dataclasses import dataclass

from hive_mind.cognition.answering.intent import QUESTION_CHARS_MAX, Kind, intent_of
from hive_mind.cognition.answering.subject import Name
from hive_mind.cognition.answering.wordings import (
    content_terms,
    function_terms,
    is_german,
    is_had,
    measure_terms,
    phrase_terms,
    with_phrases,
    without_phrases,
)
from hive_mind.cognition.temporal import moments
from hive_mind.memory.entities import entities
from hive_mind.model.figures import figures_in
from hive_mind.model.ids import HAN
from hive_mind.ranking.tokens import question_terms, terms_in, tokenize
from hive_mind.ranking.words import GRAM, GRAM_STEP, GRAM_WEIGHT
from hive_mind.regex import regex
from hive_mind.remembered import remembered

_ARTICLE = r"(?:(?:the|a|an|your|our|my|its|their|his|her|this|that)\s+)?"
_BE = r"(?:['’]s|\s+(?:is|are|was|were))"
_NOUNS = r"(?P<noun>[\w-]+(?:\s+[\w-]+){0,2}?)"
_AUXILIARY = r"(?:is|are|was|were|does|do|did|can|could|may|might|must|should|will|would)"
_BEFORE = (
    "of for in at on from to with by per under over behind between about against into during after before since until without "
    "through via because when if as than"
)
_PREPOSITIONS = frozenset(_BEFORE.split())
_OF = rf"\s+(?:{'|'.join(_PREPOSITIONS)})\b"

# "What is the rent of the flat?", "Wie hoch ist die Pacht für …"
_NOUN_OF = regex(rf"^(?:what|which){_BE}\s+{_ARTICLE}{_NOUNS}{_OF}", re.IGNORECASE)
# "What is the museum's phone number?"
_NOUN_OWNED = regex(rf"^(?:what|which){_BE}\s+.{{1,60}}?['’]s?\s+{_NOUNS}\s*[?]?$", re.IGNORECASE)
# "Which battery type do the boards take?"
_NOUN_ASKED = regex(rf"^(?:\w+\s+)?(?:what|which)\s+{_NOUNS}\s+(?P<rest>{_AUXILIARY}\s+.+)$", re.IGNORECASE)
# "Which company owns the van?"
_NOUN_DOES = regex(r"^(?:what|which)\s+\w+\s+(?P<verb>[a-z]+(?:s|ed))\s", re.IGNORECASE)
# "When was the lift built?", "Why did the machine break?"
_PREDICATE = regex(rf"^(?:when|why|where|what|since when|until when|how)\s+(?P<rest>{_AUXILIARY}\s+.+)$", re.IGNORECASE)
# "Wann wurde das Bad gebaut?", "Welche Farbe hat der Golf?"
_GERMAN_DONE = regex(
    r"^(?:wann|warum|wo|wie|womit|wodurch)\s.*\s(?P<done>(?:\w{0,6}ge\w{2,}(?:t|en)|\w+iert|(?:be|ver|er|ent|zer)\w+(?:t|en)))$",
    re.IGNORECASE,
)
_GERMAN_ASKED = regex(
    r"^(?:\w+\s+)?welche[rnms]?\s+(?P<noun>\w+)\s+(?:hat|haben|ist|sind|war|braucht|gibt|wird|darf|kann)\b", re.IGNORECASE
)
# "朝食は何時から": what stands before は.
_JAPANESE_TOPIC = regex(f"(?<![\u30a1-\u30fa\u30fc{HAN}])(?P<noun>[\u30a1-\u30fa\u30fc{HAN}]{{2,}}+)は")
_KINDS = frozenset(tokenize("kind kinds type types sort sorts number name names amount version day date time year month"))
_DONE = regex(r"[a-z]{2,20}[^e\W]ed")
_LIGHT_VERBS = frozenset(
    """
    go goes come get gets run runs take need use find put give keep have has had be do done want live tell tells show shows fit
    fits like
    cost costs mean happen work available used needed taken found given kept said got becom become kostet tried try tries told set
    acronym
    """.split()
)
LIGHT = frozenset(tokenize(" ".join(_LIGHT_VERBS)))
"""The terms of verbs that say little of what is done."""
# The deed is often left out: "Keynote: Lina Petrova".
_LIGHT_DEEDS = frozenset(tokenize("give hold get"))
# They say how or when, and not what.
_ADVERBS = frozenset(
    """
    there ever never now first last next meanwhile no not back again still already always usually today wrongly soon called named
    recently currently besides apart together likely ago up feel felt say said think
    """.split()
)
_PRONOUNS = frozenset("i we you they he she it one people this that these those".split())


@remembered(64)
def focus_of(question: str) -> frozenset[str]:
    """The terms one of which a fact has to tell, in whatever words; empty where any fact about the topic may do."""
    one_line = " ".join(with_phrases(question[:QUESTION_CHARS_MAX]).split()).rstrip("?!. ")
    if topic := _JAPANESE_TOPIC.search(one_line):
        return terms_in(topic["noun"])
    if deed := _GERMAN_DONE.match(one_line):
        return terms_in(deed["done"])
    if match := _GERMAN_ASKED.match(one_line):
        return terms_in(match["noun"])
    if owned := _NOUN_OF.match(one_line) or _NOUN_OWNED.match(one_line):
        return terms_in(" ".join(owned["noun"].split()[-1:])) - _KINDS
    if match := _NOUN_ASKED.match(one_line):
        predicate = _predicate(match["rest"])
        return predicate or terms_in(match["noun"]) - _KINDS
    if does := _NOUN_DOES.match(one_line):
        return terms_in(does["verb"]) if does["verb"].casefold() not in _LIGHT_VERBS else frozenset()
    if stated := _PREDICATE.match(one_line):
        return _predicate(stated["rest"]) - _terms(_KIND_BEHIND, question)
    return frozenset()


@remembered(64)
def kind_asked(question: str) -> frozenset[str]:
    """The noun behind "which", where a deed tells the thing: a text that says "EXPOSE 8081" need not call it a port."""
    match = _NOUN_ASKED.match(" ".join(question[:QUESTION_CHARS_MAX].split()).rstrip("?!. "))
    return terms_in(match["noun"]) if match and _predicate(match["rest"]) else frozenset()


def _predicate(rest: str) -> frozenset[str]:
    """The deed, of "does the ferry leave from Corrin": the last word before a preposition, where it is no subject."""
    _, *words = rest.split()
    # "was dropped in the spring": what stands before it is the subject.
    if words and _DONE.fullmatch(words[0]) and _PREPOSITIONS.issuperset(words[1:2]):
        return terms_in(words[0])
    has_pronoun = bool(words) and words[0].casefold() in _PRONOUNS
    end = next(
        (number for number, word in enumerate(words) if number > 1 - has_pronoun and word.casefold() in _PREPOSITIONS), len(words)
    )
    verbs = (
        words[1:2]
        if has_pronoun
        else [word for word in words[1:end] if word[0].islower() and word.casefold() not in _ADVERBS][-1:]
    )
    is_subject = not has_pronoun and len([word for word in words[:end] if tokenize(word) and word.casefold() not in _ADVERBS]) < 2
    if not verbs or is_subject or verbs[0].casefold() in _LIGHT_VERBS:
        return frozenset()
    return terms_in(verbs[0])


_FURTHER = regex(r" (?:in|at|on|with|for|from|to|by|near|im|an|auf|mit|für|von) .*$", re.DOTALL)
# "What does the licence of the server cost?", "the price of a licence for one year"
_PRICED_THING = regex(
    r"\b(?:(?:what|how much) (?:do|does|did|will|would)(?=.{0,200}\bcosts?\b)|(?:price|cost|fee)s? (?:of|for)) "
    r"(?P<thing>(?:[\w'’-]+ ){0,4}?[\w'’-]+)(?= (?:of|for|in|at|to|from|on|with|per|costs?)\b|\W*$)",
    re.IGNORECASE,
)


@remembered(64)
def priced_in(question: str) -> frozenset[str]:
    """The thing whose price is asked for: the licence in "What does a licence of the server cost?"."""
    match = _PRICED_THING.search(question)
    return frozenset(tokenize(match["thing"])[-1:]) if match else frozenset()


@remembered(64)
def owner_in(question: str) -> str:
    """The owner of the thing that is asked for, in one word: "gateway" in "the IP of the radio gateway in hall 3"."""
    return next(reversed(tokenize(_FURTHER.sub("", question))), "")


# A question for what holds now, or for all of it in short, says so; a text need not.
PRESENT_WORDS = frozenset(
    tokenize(
        "current currently now latest today still overview brief summarise summarize summary recap details information story "
        "exact exactly"
    )
)
# They say what kind of answer is wanted (see `intent`), not what it is about.
_FORM_WORDS = PRESENT_WORDS | frozenset(
    tokenize(
        "before previous previously former formerly original originally initial initially list all every many much often long "
        "ever kind kinds type types different various tell know say please name version versions claim claims statement "
        "statements conflicting disagree mycket meget mye"
    )
)

# Texts give the value of a property and not its name: a pump is red, and nobody adds that red is a colour.
_NAMED = "town|city|village|country|company|firm|employee|IP|reference|ticket|case|room|desk|office|floor|building|store|site"
_PROPERTIES = f"colour|color|shape|material|place|state|status|{_NAMED}"
_FIGURES = "size|height|length|width|depth|weight|age|temperature|price|amount|number|time|date|day|month|year"
_KIND = regex(
    rf"\b(?:what|which)(?:['’]s| is| are| was| were)?(?: the)?(?: (?:current|new|present|old|former))? "
    rf"(?P<kind>{_PROPERTIES}|{_FIGURES})s?\b",
    re.IGNORECASE,
)
# "À quelle heure", "W której sali", "In welchem Jahr".
_KIND_ELSEWHERE = regex(
    r"^\W*\w{1,4} (?P<which>quel(?:le)?s?|qu[eé]|qua(?:l|is|le)|kt[oóe]r\w+|koj\w+|h?vilk\w+|welke?|welch\w+|как\w+|котор\w+|"
    r"як\w+|ποι\w+|care|ce) (?P<kind>[^\W\d_]{3,40})\b",
    re.IGNORECASE,
)
# "What is the phone number?", "Is verbose mode on?"
_KIND_BEHIND = regex(
    r"\b(?:phone|telephone|fax|mobile|account|order|serial|part|room|bus|line) (?P<kind>number)\b|"
    r"^(?:is|are) .{1,60}\b(?P<switch>mode|flag|option|setting)\b",
    re.IGNORECASE,
)
# Texts have other words for a century.
_ORDINAL = regex(
    r"\b(\d{1,3})(?:st|nd|rd|th) (?:floor|storey|level|deck|row|gate|lane|platform|grade|class|ward|edition)\b", re.IGNORECASE
)
FIGURE_KINDS = frozenset(tokenize(_FIGURES.replace("|", " ")))

# Where somebody is says where they sit.
_WHERE = regex(r"^(?:and |so |but )?where\b.*\b(?P<place>sit|sits|sitting|seated|stand|stands|located|situated)\b", re.IGNORECASE)

# "Why" wants a cause, and a text need not call it one.
_WHY = regex(r"^(?:and |so |but )?why\b", re.IGNORECASE)
_IMPLIED = frozenset(tokenize("cause"))
# "RTO: recovery time objective" need not say that RTO stands for it.
_UNSAID = frozenset(tokenize("acronym"))

_DIGIT = regex(r"\d")
# "lift 2", and not "2 lifts" or "at 2".
_NUMBERED = regex(
    r"\b(?!(?:at|in|on|of|to|by|than|the|is|are|was|were|and|or|from|for|over|under|above|below|about|after|before)\s)"
    r"[^\W\d_]{2,40}\s(\d{1,6})(?![\w.:,/-]*\d|\s?[^\W\d_])"
)
# "of line 14 go"
_NUMBERED_THING = regex(
    r"\b(?:the|of|in|on|at|for|to|from|our|der|die|das|von|vom|im|am)\s[^\W\d_]{2,40}\s(\d{1,6})(?![\w.:,/-]*\d|[^\W\d_])",
    re.IGNORECASE,
)
_WHO = r"^(?:and |so |but )?who(?:m|['’]s)?(?: is| are)?(?: allowed to| going to)?"
_SOMEBODY_IS = (
    rf"{_WHO}(?: is| are| was| were)? (?:(?:.{{1,60}}['’]s|the|our|your|my|his|her|their) (?:[^\W\d_]{{3,40}} ){{0,2}}?)?"
    r"(?P<role>[^\W\d_]{3,40})"
)
# "Who is the director of …", "the director's name".
_GERMAN_ROLE = (
    r"^(?:wer|wie) (?:ist|war|sind|heißt|hieß) (?:der|die|das|unsere?|euer|eure|mein|meine|ihr|ihre) (?P<german>[^\W\d_]{3,40})"
)
_ROLE = regex(
    rf"{_SOMEBODY_IS}(?= of\b| at\b| in\b|[?]?$)|\b(?P<named>[^\W\d_]{{3,40}})['’]s name\b|{_GERMAN_ROLE}", re.IGNORECASE
)
# "Who painted …", "who has painted …".
_GERMAN_DEED = (
    r"^wer (?:hat|haben|wird|darf|muss|kann|soll) .{1,80} (?P<german>[^\W\d_]{3,40})[?]?$|^wer (?P<does>[^\W\d_]{3,40}t)\b"
)
_DEED = regex(rf"{_WHO} (?:(?:is|are|has|have|does|was|were) )?(?!not\b)(?P<deed>[a-z]{{2,40}})\b|{_GERMAN_DEED}", re.IGNORECASE)
_PARTS_OF_DAY = frozenset(tokenize("morning afternoon evening night half quarter past clock"))
_CLOCK = regex(r"\b(?:half past|quarter (?:past|to)|o['’]clock|\d:[0-5]\d)\b", re.IGNORECASE)
_ANYBODY = frozenset(tokenize("person people one man woman"))
# A section ("44.2170") or an exact figure: a question about it does not mean its neighbour.
_DOTTED = regex(r"(?<![\w.])\d{1,10}\.\d{1,10}(?![\w.]*\d)")


# "How much sugar does it need?"
_MASS = regex(
    r"^(?:and |so |but )?how much (?!money|time|space|work)([a-z]{3,20}) (?:do|does|did|is|are|was|were|will|can|should|must)\b",
    re.IGNORECASE,
)
_QUALIFIER = regex(
    r"\b(?:last|final|letzte[nmrs]?|nächste[nmrs]?|(?!latest|interest|harvest|request)[a-z]{2,10}[^aeiou\W]est)\b", re.IGNORECASE
)


def qualifiers_in(question: str) -> frozenset[str]:
    """Words that pick one of several: the last bus is not the first, a fact about the heaviest says so, and salt is no sugar."""
    words = (*_QUALIFIER.findall(question), *_MASS.findall(question))
    return frozenset(term for word in words for term in tokenize(word))


@dataclass(frozen=True, slots=True)
class QuestionTerms:
    """The terms of a question: the identifiers and names that must be met, and all other words.

    `kinds` are the words among them for the kind of thing the answer is; a match speaks for a fact, a miss does not speak
    against it. `numbers` distinguish things of one name: a question about lift 2 does not mean the other lift, nor one about 5 km
    7 of them. `roles` and `deeds` identify the person in question: a fact about other staff does not answer a question about the
    director.
    """

    identifiers: frozenset[str]
    names: frozenset[str]
    words: frozenset[str]
    kinds: frozenset[str] = frozenset()
    numbers: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()
    deeds: frozenset[str] = frozenset()
    named: tuple[Name, ...] = ()
    """The names one by one: a fact has to be about one of them."""
    of_words: float = 1.0
    """The share of a score that its words have: in other languages than English a search adds the worth of their parts."""
    aliases: frozenset[str] = frozenset()
    """Other identifiers of what is asked about: a fact that has one names it as well."""


@remembered(64)
def asked_of(question: str) -> QuestionTerms:
    """The terms of a question, sorted by how much they must be met."""
    # "Wanneer" begins with a capital as a name does.
    little = function_terms(question)
    named = [terms for name in entities(question) if (terms := terms_in(name) - little)]
    dated = frozenset(term for moment in moments(question) for term in tokenize(moment.text))
    coded = [terms for terms in named if any(_is_code(term) for term in terms - dated)]
    dotted = [terms_in(number) for number in _DOTTED.findall(question)]
    coded += [terms for terms in dotted if not terms & dated]
    identifiers = frozenset(term for terms in coded for term in terms if _is_code(term))
    # All nouns of German begin with a capital.
    kinds = (
        _terms(_KIND, question)
        | _terms(_WHERE, question)
        | _terms(_KIND_ELSEWHERE, question)
        | _terms(_KIND_BEHIND, question)
        | measure_terms(question)
        | _UNSAID
    )
    proper = [] if is_german(question) else [terms for terms in named if terms not in coded and not terms <= kinds]
    names: frozenset[str] = frozenset().union(*proper)
    specific = dated.union(*coded, names)
    implied = _IMPLIED if _WHY.match(question) else frozenset()
    # "Half past nine in the evening" is 21:30.
    of_day = _PARTS_OF_DAY if _CLOCK.search(question) else frozenset()
    words = content_terms(question, (phrase_terms(question) - specific - _FORM_WORDS - of_day) | implied)
    words -= function_terms(question) if specific else frozenset()
    numbers = (
        frozenset((*_NUMBERED.findall(question), *_NUMBERED_THING.findall(question), *_ORDINAL.findall(question)))
        | frozenset(filter(str.isdigit, names))
    ) - dated
    # "Is the port 8443?" is answered by another number as well.
    numbers |= frozenset() if intent_of(question).kind is Kind.YES_NO else figures_in(question) - dated
    roles, deed_terms = _terms(_ROLE, question) - _ANYBODY, _terms(_DEED, without_phrases(question))
    deeds = frozenset(term for term in deed_terms if not is_had(term)) - _LIGHT_DEEDS
    # The share of words in what a search is asked for. Of the parts of a word that a text has, every second is indexed.
    searched = question_terms(question)
    parts = sum(term.startswith(GRAM) for term in searched)
    whole = max(1, len(searched) - parts)
    share = whole / (whole + GRAM_WEIGHT * parts / GRAM_STEP)
    kinds = (kinds | implied) & words
    return QuestionTerms(identifiers, names, words, kinds, numbers, roles, deeds, tuple(proper), share)


def _terms(pattern: re.Pattern[str], question: str) -> frozenset[str]:
    """The terms of all that a pattern names in a question."""
    captured = (part for match in pattern.finditer(question) for part in match.groupdict("").values())
    return frozenset(term for part in captured for term in tokenize(part))


def _is_code(term: str) -> bool:
    """A term with digits that is more than a number: "inc-2024-001", "v2", "10.0.0.1"."""
    return _DIGIT.search(term) is not None and not term.isdigit()
