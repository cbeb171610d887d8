"""The rules that decide now at an agent's gate: read anew whenever the registry of its hive says something else."""

import asyncio

from hive_mind.hive.member import Member
from hive_mind.hive.policy.registry import Registry
from hive_mind.judge.hive_rules import KIND, RulesAtWork, together
from hive_mind.judge.rules import EvaluationRule, RuleSet

_LOOK_S = 0.2


class HiveRules:
    """`given`: those of the manifest. Those of the hive are known as soon as there is a node."""

    def __init__(self, given: tuple[EvaluationRule, ...], member: Member) -> None:
        self.given, self._member = given, member
        self._seen = self._read = -1
        self._now = RulesAtWork(RuleSet(given), is_known=False)

    def now(self) -> RulesAtWork:
        """What is at work; the same object until that changes, and as cheap as a comparison."""
        if self._member.is_ready and self._member.node.registry.version != self._seen:
            self._read_anew(self._member.node.registry)
        return self._now

    async def changed_from(self, former: RulesAtWork | None) -> None:
        """Return when they are known, and others are at work than these."""
        # Any member may have written them; a look costs nothing.
        while self.now() is former or not self.now().is_known:  # noqa: ASYNC110
            await asyncio.sleep(_LOOK_S)

    def _read_anew(self, registry: Registry) -> None:
        self._seen, version = registry.version, registry.version_of(KIND)
        if version != self._read:
            self._read, self._now = version, together(self.given, registry.with_prefix(f"{KIND}/"))
