"""Which facts a reader that begins to work in a folder should have seen: few, current, and none that commands it. Pure.

There is no question yet, so what speaks for a fact is that it is from that folder or names it, then how many vouch for it, then
how new it is.
"""

from collections.abc import Iterable
from pathlib import PurePath

from hive_mind.memory.gate.instructions import instruction_in
from hive_mind.memory.gate.sensitive import credential_in
from hive_mind.memory.gate.stated_secrets import states_secret
from hive_mind.model.fact import Fact
from hive_mind.ornament import ornament

# A page at most: more is not read, and takes the room of the work.
FACTS_MAX = 12
CHARACTERS_MAX = 300
# Only these are checked for commands and secrets: that is the longest part of it.
_LOOKED_AT = 4 * FACTS_MAX
# Further sources than these say nothing more.
_SOURCES_COUNTED = 3


def worth_knowing(facts: Iterable[Fact], folder: PurePath) -> list[Fact]:
    """The best first, at most `FACTS_MAX`, each once."""
    best = sorted((fact for fact in facts if fact.is_current), key=lambda fact: _rank(fact, folder), reverse=True)
    return [fact for fact, _ in zip(filter(_is_harmless, best[:_LOOKED_AT]), range(FACTS_MAX), strict=False)]


def _rank(fact: Fact, folder: PurePath) -> tuple[bool, int, int]:
    is_here = any(PurePath(source).is_relative_to(folder) for source in fact.sources) or _names(fact, folder.name)
    return is_here, min(len(fact.sources), _SOURCES_COUNTED), fact.learned_at_us


def _names(fact: Fact, name: str) -> bool:
    return bool(name) and name.casefold() in fact.content.casefold()


@ornament(lambda _: False)
def _is_harmless(fact: Fact) -> bool:
    return not (instruction_in(fact.content) or credential_in(fact.content) or states_secret(fact.content))
