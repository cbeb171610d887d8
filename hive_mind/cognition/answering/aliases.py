"""Aliases: the other names of what a question identifies: "INC-7" is "pump-house-2" where a log says that it was opened for it.

Half of what people write about an incident names its number and half the machine. A fact that names both, and no third, ties them
together. Two of one shape, such as "INC-7" and "INC-8", are two things and never one. "Pump house 2" in a question
is the machine as well.

People described: the boss of Hidden Wolf, in "In which room can I find the boss of Hidden Wolf?". Texts use a person's name;
another fact links the role to the name. So such a question is two: for the name, and the same about the person found. This finds
both in the words; which facts answer the first, `relevance` judges.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from hive_mind.cognition.answering.answer_forms import is_somebody
from hive_mind.cognition.answering.intent import QUESTION_CHARS_MAX
from hive_mind.memory.entities import entities
from hive_mind.model.fact import Fact
from hive_mind.model.query import Hit
from hive_mind.ornament import ornament
from hive_mind.ranking.tokens import tokenize
from hive_mind.regex import regex
from hive_mind.remembered import remembered

# "the person in charge of Hidden Wolf", "the author of the tide tables"
_DESCRIBED = regex(
    r"\bthe (?P<role>(?:[a-z-]{2,20} ){0,2}?(?:person|[a-z-]{3,20})(?: in charge| responsible)?) (?:of|for|behind|at) "
    r"(?P<thing>(?:the )?[A-Z0-9][\w'’-]*(?: [A-Z0-9][\w'’-]*){0,3})"
)
# "Hidden Wolf's boss"
_OWNED = regex(
    r"\b(?P<thing>[A-Z0-9][\w-]{0,40}+(?: [A-Z0-9][\w-]{0,40}+){0,3})['’]s "
    r"(?P<role>(?:[a-z-]{2,20} ){0,1}?[a-z-]{3,20})(?= [a-z]|[?.,]|$)"
)
# These ask who it is and for nothing else.
_WHO_IS = regex(r"^(?:and |so |but )?(?:who|what)(?:['’]s| is| are| was| were)?(?: the name of)?$", re.IGNORECASE)
# More are a list, and no one person.
_NAMES_MAX = 2


@dataclass(frozen=True, slots=True)
class Described:
    """The question for the name, and the question before and after the description."""

    who: str
    before: str
    after: str

    def of(self, name: str) -> str:
        return f"{self.before}{name}{self.after}"


@remembered(64)
@ornament(lambda _: None)
def described_in(question: str) -> Described | None:
    """Somebody whom a question describes and asks something else about; None where it describes nobody."""
    one_line = " ".join(question[:QUESTION_CHARS_MAX].split())
    for pattern in (_DESCRIBED, _OWNED):
        for match in pattern.finditer(one_line):
            before, after = one_line[: match.start()], one_line[match.end() :]
            is_all = _WHO_IS.match(before.strip()) is not None and not tokenize(after)
            if is_somebody(match["role"]) and not is_all and tokenize(f"{before} {after}"):
                return Described(f"Who is the {match['role']} of {match['thing']}?", before, after)
    return None


def answering_names(described: Described, facts: list[Fact]) -> tuple[str, ...]:
    """The names of people that the facts answer with, the best first; none where they tell many."""
    terms_asked = frozenset(tokenize(described.who))
    names: dict[str, None] = {}
    for fact in facts:
        message = fact.content.removeprefix(f"{fact.speaker}: ")
        names |= dict.fromkeys(
            name for name in entities(message) if is_of_person(name) and terms_asked.isdisjoint(tokenize(name))
        )
    return tuple(names) if len(names) <= _NAMES_MAX else ()


def is_of_person(name: str) -> bool:
    """First and last name: a single word with a capital may be anything."""
    words = name.split()
    return len(words) > 1 and all(word[0].isupper() and word.replace("-", "").isalpha() for word in words)


# "MO-1187" is specific; many facts may mention "K9".
CODE_LETTERS_MIN = 7
_DIGIT = regex(r"\d")
# Few texts have one, and this spares the others a search for names.
_MAY_BE_CODE = regex(rf"(?<!\S)(?=\S{{{CODE_LETTERS_MIN}}})\S*\d")
_SEPARATED = regex(r"[\W_]+")
# With fewer letters many words are like one another: "contact" and "contract".
_LONG_WORD = regex(r"(?<![\w-])[a-z]{9,40}(?![\w-])")
_SPELT_ALIKE = 0.86
# More than these are a list, and no names of one thing.
_ALIASES_MAX = 2


@remembered(256)
def long_codes(text: str) -> tuple[str, ...]:
    """The identifiers of a text that are long enough to mean one thing."""
    if _MAY_BE_CODE.search(text) is None:
        return ()
    return tuple(
        code
        for code in entities(text)
        if len(code) >= CODE_LETTERS_MIN and _DIGIT.search(code) and code.casefold() in tokenize(code)
    )


@ornament(lambda question, _: question)
def as_written(question: str, hits: Sequence[Hit]) -> str:
    """The question with the identifiers that it has in words, "pump house 2", as the facts write them."""
    spoken_question = f" {_spoken(question)} "
    for code in {code.casefold(): None for hit in hits for code in long_codes(hit.fact.content)}:
        if f" {_spoken(code)} " in spoken_question and code not in question.casefold():
            spoken_code = r"[\W_]+".join(map(re.escape, _spoken(code).split()))
            question = _replaced(spoken_code, code, question)
    # Long words that none of the facts has as one of them spells it: "maintainance". Names may differ in a letter, and so may
    # short words: those stay.
    for word in _LONG_WORD.findall(question):
        words = {match.casefold() for hit in hits for match in _LONG_WORD.findall(hit.fact.content) if match[0] == word[0]}
        if words and tokenize(word)[0] not in {term for other in words for term in tokenize(other)}:
            close = get_close_matches(word, sorted(words), 1, _SPELT_ALIKE)
            question = _replaced(re.escape(word), close[0], question) if close else question
    return question


@ornament(lambda *_: ())
def aliases_of(question: str, hits: Iterable[Hit]) -> tuple[tuple[str, str], ...]:
    """Pairs of an identifier in the question and another name of the same thing, as the facts tell."""
    codes_asked = frozenset(map(str.casefold, long_codes(question)))
    pairs_of_codes: dict[tuple[str, str], None] = {}
    for hit in hits if codes_asked else ():
        codes = frozenset(map(str.casefold, long_codes(hit.fact.content)))
        codes_met, codes_beside = codes & codes_asked, codes - codes_asked
        if len(codes_met) == 1 and len(codes_beside) == 1:
            (code_asked,), (code_beside,) = codes_met, codes_beside
            if _shape(code_asked) != _shape(code_beside):
                pairs_of_codes[code_asked, code_beside] = None
    return tuple(pairs_of_codes) if len(pairs_of_codes) <= _ALIASES_MAX * len(codes_asked) else ()


def reworded(question: str, aliases: Sequence[tuple[str, str]]) -> str:
    """The question by the other names."""
    for code, alias in aliases:
        question = _replaced(re.escape(code), alias, question)
    return question


def _replaced(pattern: str, by: str, text: str) -> str:
    """Whole identifiers alone: "INC-7" does not stand in "INC-70"."""
    return re.sub(rf"(?<![\w-]){pattern}(?![\w-])", lambda _: by, text, flags=re.IGNORECASE)


def _spoken(text: str) -> str:
    """As people say it: "pump-house-2" in words."""
    return " ".join(_SEPARATED.sub(" ", text.casefold()).split())


def _shape(code: str) -> str:
    """Its first letters: "inc" of "INC-2024-1"."""
    return re.split(r"[\W\d_]", code, maxsplit=1)[0].casefold()
