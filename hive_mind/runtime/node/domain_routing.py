"""A hive whose questions are put by their words to the groups that know about such things first.

Changes in which order and how deep groups are asked, and never what can be found.
"""

from hive_mind.memory.base import Hive
from hive_mind.model.gathered import Gathered
from hive_mind.model.probe import Probe


class ByDomain:
    """See `memory.base.Hive`."""

    def __init__(self, hive: Hive) -> None:
        self._hive = hive
        self.promote, self.retract, self.fetch, self.facts = hive.promote, hive.retract, hive.fetch, hive.facts
        self.write, self.tally = hive.write, hive.tally

    async def ask(self, probe: Probe, *, confidence_min: float = 0.0, domains: tuple[str, ...] = ()) -> Gathered:
        """Candidates of the whole hive; the domains are the question's own words, unless others are given."""
        return await self._hive.ask(probe, confidence_min=confidence_min, domains=domains or probe.terms)
