"""The rules that decide now: those of a manifest, and those that people approved for the hive, read anew when either changes."""

import asyncio
from collections.abc import Awaitable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from hive_mind.agents.judging.desk_pages import DeskPages
from hive_mind.errors import InvalidInput, RuleError
from hive_mind.forms.reading import text_of
from hive_mind.hive.effects import Now
from hive_mind.judge.judgment import ReviewConfig
from hive_mind.judge.rules import KIND, RULES, EvaluationRule, RulesAtWork, RuleSet, rule_of, together
from hive_mind.judge.rules import rules_of as rules_of_text
from hive_mind.model.evidence import HiveFact

if TYPE_CHECKING:
    from hive_mind.hive.member import Member

_LOOK_S = 0.2


class HiveRequests(Protocol):
    """The requests of a judge to its hive. Each raises `HiveError`."""

    def write(self, entries: Sequence[tuple[str, str]], by: str) -> Awaitable[Sequence[str]]:
        """Put entries into the registry; why each is refused, or ""."""

    def fetch(self, wanted: Sequence[tuple[str, str]]) -> Awaitable[Sequence[HiveFact]]:
        """Facts that others have shared."""

    def tell(self, to: Sequence[str], kind: str, data: bytes) -> Awaitable[object]:
        """Send it to nodes: durable when it returns, and it reaches each once."""


class HiveMember(Protocol):
    """The place of an agent in its hive, as its judge sees it."""

    @property
    def member(self) -> "Member": ...
    @property
    def desk_pages(self) -> DeskPages: ...
    @property
    def runner(self) -> HiveRequests: ...
    def now(self) -> Now:
        """The clocks of its machine."""


def rules_of(config: ReviewConfig) -> RuleSet:
    """The rules of a configuration. Raises `InvalidInput` for one that can't be used."""
    try:
        return RuleSet(map(rule_of, config.rules))
    except InvalidInput as error:
        raise InvalidInput(f"a rule can't be used: {error}") from None


def rules_in(file: Path) -> tuple[EvaluationRule, ...]:
    """The rules of a file. Raises `RuleError` and `InvalidInput`."""
    text, problems = text_of(file, RULES)
    if problems:
        raise RuleError(problems, str(file))
    return rules_of_text(text, str(file))


class HiveRules:
    """The rules that decide now: read anew whenever the registry of the hive says something else.

    `given`: those of the manifest. Those of the hive, where there is one, are known as soon as there is a node.
    """

    def __init__(self, given: Iterable[EvaluationRule] = (), member: "Member | None" = None) -> None:
        self._now = RulesAtWork(RuleSet(given), is_known=member is None)
        self._given, self._member = self._now.rules.rules, member
        self._seen = self._read = -1

    def now(self) -> RulesAtWork:
        """The rules at work; the same object until they change, and as cheap as a comparison."""
        if self._member and self._member.is_ready and self._member.node.registry.version != self._seen:
            registry = self._member.node.registry
            self._seen, version = registry.version, registry.version_of(KIND)
            if version != self._read:
                self._read, self._now = version, together(self._given, registry.with_prefix(f"{KIND}/"))
        return self._now

    async def known(self, former: RulesAtWork | None = None) -> RulesAtWork:
        """The rules at work, as soon as the hive has said which it has, and they are others than `former`."""
        # Any member may have written them; a look costs nothing.
        while (now := self.now()) is former or not now.is_known:  # noqa: ASYNC110
            await asyncio.sleep(_LOOK_S)
        return now
