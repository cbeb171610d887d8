"""Input and output of retrieval. (A question is asked by a person; see `answer`.)"""

from dataclasses import dataclass, field
from typing import Literal, get_args

from hive_mind.model.fact import Fact
from hive_mind.model.scores import ComponentScores, Contributions

Method = Literal["keyword", "vector", "hybrid"]
METHOD: Method = "hybrid"
METHODS: tuple[Method, ...] = get_args(Method)

Answering = Literal["careful", "balanced", "eager"]
"""How readily a question is answered: rather not at all than wrongly, or rather wrongly than not at all."""
ANSWERING: Answering = "balanced"

LIMIT = 10
"""How many hits a search gives where nobody says."""


@dataclass(frozen=True, slots=True)
class Query:
    """`min_confidence` filters and never adds to a score. `with_superseded` also finds what was true before.

    `also`: further words to look for, which count a third of those of the text.
    `as_of_us` finds what was held at that time instead: learned by then, and then neither superseded nor retracted; 0: now.
    """

    text: str
    limit: int = LIMIT
    method: Method = METHOD
    min_confidence: float = 0.0
    with_superseded: bool = False
    as_of_us: int = 0
    also: str = ""


@dataclass(frozen=True, slots=True)
class Voices:
    """The agents in a hive that vouch for a fact: the first first, and how far the most trusted of them is trusted, from 0 to
    2."""

    agents: tuple[str, ...]
    trust: float


@dataclass(frozen=True, slots=True)
class Hit:
    """A fact found for a query: its score, the raw figures behind it, and what each of them added.

    `rivals` are facts that can't be true beside it, as far as their words tell. `voices`: None for one that this memory learned
    itself.
    """

    fact: Fact
    score: float
    components: ComponentScores
    contributions: Contributions = field(default=Contributions())
    rivals: tuple[Fact, ...] = ()
    voices: Voices | None = None
