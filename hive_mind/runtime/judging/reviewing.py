"""The judge at an agent's gate, as a worker runs it: its rules, its desk over its ledger, and what it does when rules change.

The ledger is shared, so that people decide from the command line while the agent runs. Facts shared before a rule was there
are looked at again once, when the agent starts with other rules than the last time: the ledger remembers which they were.
"""

import asyncio
import logging
from contextlib import suppress
from hashlib import sha256

import msgspec

from hive_mind import backends
from hive_mind.agents.desk import LedgerDesk
from hive_mind.agents.judging.gate_reviewer import GateReviewer
from hive_mind.agents.judging.judge_tally import JudgeTally
from hive_mind.errors import BackendError, HiveError, InvalidInput
from hive_mind.hive.member import Member
from hive_mind.hive.policy.registry import Registry
from hive_mind.judge.hive_rules import KIND, RulesAtWork, rule_of, together
from hive_mind.judge.rules import EvaluationRule, RuleSet
from hive_mind.ledger.base import Ledger
from hive_mind.memory.distributed import DistributedCognitiveMemory
from hive_mind.model.entry import Entry
from hive_mind.runtime.judging.desk_post import DeskPost
from hive_mind.runtime.judging.desk_rules import DeskRules
from hive_mind.runtime.judging.desk_trust import DeskTrust
from hive_mind.runtime.judging.judging_model import OpenModel, open_judge
from hive_mind.runtime.members.member import RunningMember
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import open_ledger
from hive_mind.runtime.workers.config import ReviewConfig

_log = logging.getLogger(__name__)

_STREAM, _ENTRY = "gate/rules", "rules"
_AGAIN_S = 5.0


class Reviewing:
    """Judges what one agent would share, from `open` to `close`. `settings.store` "memory" keeps no ledger on disk either."""

    def __init__(
        self,
        config: ReviewConfig,
        settings: Settings,
        agent: str,
        memory: DistributedCognitiveMemory,
        member: RunningMember,
        open_model: OpenModel,
    ) -> None:
        self._open_model = open_model
        self._config, self._settings, self._agent, self._memory, self._member = config, settings, agent, memory, member
        self.rules = HiveRules(rules_of(config).rules, member.member)
        self._ledger: Ledger | None = None
        self._work: asyncio.Task[None] | None = None
        self.reviewer: GateReviewer | None = None
        self.tally: JudgeTally | None = None
        """Of the model that judges, where one does."""
        self._trouble = ""

    @property
    def trouble(self) -> str:
        """Why nothing is judged now, or not all: what was not judged stays home meanwhile."""
        return self._trouble or self.rules.now().unreadable

    async def open(self) -> None:
        """From now on nothing is shared that was not judged. Raises `BackendError` where the ledger can't be opened."""
        if self._ledger is not None:
            return
        ledger = await self._opened()
        desk = LedgerDesk(ledger)
        try:
            reviewer = await self._reviewer_of(ledger, desk)
        except BaseException:
            await ledger.close()
            raise
        self._ledger, self.reviewer = ledger, reviewer
        self._memory.reviewed_by(reviewer)
        member, at = self._member, self._config.desk
        post = DeskPost(self._agent, at, ledger, desk, member.post, member.runner.tell)
        self._work = asyncio.create_task(self._judge(ledger, reviewer, post), name=f"judging what {self._agent} would share")

    async def close(self) -> None:
        """Ask and follow no longer. Undecided facts stay home. Closing twice is fine."""
        if self._work is not None:
            self._work.cancel()
            await asyncio.wait([self._work])
        if self._ledger is not None:
            await self._ledger.close()

    async def _reviewer_of(self, ledger: Ledger, desk: LedgerDesk) -> GateReviewer:
        judge = None
        if self._config.facts == "model":
            limits = self._settings
            judge = await open_judge(self._config.model, self._agent, ledger, self._member, self._open_model, limits)
            self.tally = judge.tally
        asks_people = self._config.facts == "people"
        reviewer = GateReviewer(self._agent, desk, self._memory.reconsider, self.rules.now, asks_people=asks_people, judge=judge)
        try:
            await reviewer.recall()
        except HiveError:
            if judge:
                # Or what a person took back would be shared again, because the model lets it pass.
                raise
            # `_judge` tries again, and says so; until then what a person would be asked about stays home.
        return reviewer

    async def _opened(self) -> Ledger:
        if self._settings.store == "memory":
            found: Ledger = await backends.load("ledger", "memory").open()
            return found
        return await open_ledger(self._settings, self._agent, is_shared=True)

    async def _judge(self, ledger: Ledger, reviewer: GateReviewer, post: DeskPost) -> None:
        while True:
            try:
                await reviewer.recall()
                await self.rules.changed_from(None)
                rules = await self._look_again(ledger)
                self._trouble = ""
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(reviewer.run())
                    tasks.create_task(post.run())
                    tasks.create_task(self._follow_rules(ledger, rules))
                    if self._config.desk.agent == self._agent:
                        tasks.create_task(DeskRules(self._agent, LedgerDesk(ledger), self._member).run())
                        if reviewer.has_judge:
                            tasks.create_task(DeskTrust(self._agent, ledger, LedgerDesk(ledger), self._member).run())
            except* Exception as failed:  # noqa: BLE001 - the worker goes on and says so
                # Nothing is lost: what is not judged stays home. But nobody is asked either, so it is reported.
                errors = _single(failed)
                self._trouble = f"its facts can't be judged: {errors[0]}"
                is_known = all(isinstance(one, HiveError) for one in errors)
                _log.error(
                    "%s: %s; tried again in %g s", self._agent, self._trouble, _AGAIN_S, exc_info=None if is_known else failed
                )
            await asyncio.sleep(_AGAIN_S)

    async def _follow_rules(self, ledger: Ledger, rules: RulesAtWork) -> None:
        """Make rules that people approve for the hive, or take back, decide here from then on."""
        while True:
            await self.rules.changed_from(rules)
            rules = await self._look_again(ledger)

    async def _look_again(self, ledger: Ledger) -> RulesAtWork:
        """At everything, if the rules are not those of the last time; which they are now."""
        now = self.rules.now()
        judges = self._config.facts, [rule.model_dump(mode="json") for rule in now.rules.rules], now.unreadable
        digest = sha256(msgspec.json.encode(judges, order="deterministic")).digest()
        known = await ledger.read(_STREAM)
        if known and known[-1].body == digest:
            return now
        if known or now.rules.rules or self._config.facts != "rules":
            await self._memory.reconsider()
        with suppress(BackendError):
            await ledger.append(_STREAM, len(known), [Entry(_ENTRY, digest, 0)])
        return now


def _single(group: BaseExceptionGroup[BaseException]) -> list[BaseException]:
    """The errors themselves, however deep."""
    return [leaf for one in group.exceptions for leaf in (_single(one) if isinstance(one, BaseExceptionGroup) else [one])]


def rules_of(config: ReviewConfig) -> RuleSet:
    """The rules of a configuration. Raises `InvalidInput` for one that can't be used."""
    try:
        return RuleSet(map(rule_of, config.rules))
    except InvalidInput as error:
        raise InvalidInput(f"a rule can't be used: {error}") from None


_LOOK_S = 0.2


class HiveRules:
    """The rules that decide now: read anew whenever the registry of the hive says something else.

    `given`: those of the manifest. Those of the hive are known as soon as there is a node.
    """

    def __init__(self, given: tuple[EvaluationRule, ...], member: Member) -> None:
        self.given, self._member = given, member
        self._seen = self._read = -1
        self._now = RulesAtWork(RuleSet(given), is_known=False)

    def now(self) -> RulesAtWork:
        """The rules at work; the same object until they change, and as cheap as a comparison."""
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
