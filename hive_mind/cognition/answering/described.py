"""People described instead of named: the boss of Hidden Wolf, in "In which room can I find the boss of Hidden Wolf?".

Texts use a person's name; another fact links the role to the name. So such a question is two: for the name, and the same about
the person found. This finds both in the words; which facts answer the first, `relevance` judges.
"""

import re
from dataclasses import dataclass

from hive_mind.cognition.answering.answer_forms import is_somebody
from hive_mind.cognition.answering.intent import QUESTION_CHARS_MAX
from hive_mind.memory.entities import entities
from hive_mind.model.fact import Fact
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
            name for name in entities(message) if _is_of_person(name) and terms_asked.isdisjoint(tokenize(name))
        )
    return tuple(names) if len(names) <= _NAMES_MAX else ()


def _is_of_person(name: str) -> bool:
    """First and last name: a single word with a capital may be anything."""
    words = name.split()
    return len(words) > 1 and all(word[0].isupper() and word.replace("-", "").isalpha() for word in words)
