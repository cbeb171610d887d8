"""The judge at an agent's gate, as a worker runs it: its rules, its desk over its ledger, and what it does when rules change.

The ledger is shared, so that people decide from the command line while the agent runs. Facts shared before a rule was there
are looked at again once, when the agent starts with other rules than the last time: the ledger remembers which they were.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from hashlib import sha256

import msgspec

from hive_mind.agents.desk import LedgerDesk
from hive_mind.agents.judging.decision_log import LedgerLog, log_of
from hive_mind.agents.judging.desk_effects import run_desk
from hive_mind.agents.judging.fact_judge import FactJudge, confirmed_by
from hive_mind.agents.judging.gate_reviewer import GateReviewer
from hive_mind.agents.judging.model_judge import JudgeModels, Pace
from hive_mind.agents.judging.rules_at_work import HiveMember, HiveRules, rules_of
from hive_mind.errors import BackendError, HiveError
from hive_mind.judge.calibration import JudgeTally
from hive_mind.judge.judge_settings import JudgeSettings, ReviewConfig
from hive_mind.judge.rules import RulesAtWork
from hive_mind.ledger.base import Ledger
from hive_mind.memory.distributed import DistributedCognitiveMemory
from hive_mind.model.entry import Entry

_log = logging.getLogger(__name__)

_STREAM, _ENTRY = "gate/rules", "rules"
_AGAIN_S = 5.0


class Reviewing:
    """Judges what one agent would share, from `open` to `close`, and closes the ledger that it opened."""

    def __init__(
        self,
        config: ReviewConfig,
        agent: str,
        memory: DistributedCognitiveMemory,
        member: HiveMember,
        open_ledger: Callable[[], Awaitable[Ledger]],
        models: JudgeModels,
    ) -> None:
        self._open_ledger, self._models = open_ledger, models
        self._config, self._agent, self._memory, self._member = config, agent, memory, member
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
        ledger = await self._open_ledger()
        desk = LedgerDesk(ledger)
        try:
            reviewer = await self._reviewer_of(ledger, desk)
        except BaseException:
            await ledger.close()
            raise
        self._ledger, self.reviewer = ledger, reviewer
        self._memory.reviewed_by(reviewer)
        self._work = asyncio.create_task(self._judge(ledger, reviewer), name=f"judging what {self._agent} would share")

    async def close(self) -> None:
        """Ask and follow no longer. Undecided facts stay home. Closing twice is fine."""
        if self._work is not None:
            self._work.cancel()
            await asyncio.wait([self._work])
        if self._ledger is not None:
            await self._ledger.close()

    async def _reviewer_of(self, ledger: Ledger, desk: LedgerDesk) -> GateReviewer:
        config, is_by_model = self._config.model, self._config.facts == "model"
        model = await self._models.judging(config.name, Pace(config.calls_per_minute)) if is_by_model else None
        judge = FactJudge(
            self._agent,
            model,
            log_of(ledger, config) if model else LedgerLog(ledger),
            config.settings if model else JudgeSettings(),
            confirmed_by(self._agent, self._member),
        )
        await judge.load()
        self.tally = judge.tally if model else None
        asks_people = self._config.facts == "people"
        reviewer = GateReviewer(self._agent, desk, self._memory.reconsider, self.rules.now, judge, asks_people=asks_people)
        try:
            await reviewer.recall()
        except HiveError:
            if model:
                # Or what a person took back would be shared again, because the model lets it pass.
                raise
            # `_judge` tries again, and says so; until then what a person would be asked about stays home.
        return reviewer

    async def _judge(self, ledger: Ledger, reviewer: GateReviewer) -> None:
        while True:
            try:
                await reviewer.recall()
                rules = await self._look_again(ledger, None)
                self._trouble = ""
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(reviewer.run())
                    tasks.create_task(run_desk(self._agent, self._config.desk, ledger, self._member))
                    while True:
                        # Rules that people approve for the hive, or take back, decide here from then on.
                        rules = await self._look_again(ledger, rules)
            except* Exception as failed:  # noqa: BLE001 - the worker goes on and says so
                # Nothing is lost: what is not judged stays home. But nobody is asked either, so it is reported.
                errors = _single(failed)
                self._trouble = f"its facts can't be judged: {errors[0]}"
                is_known = all(isinstance(error, HiveError) for error in errors)
                _log.error(
                    "%s: %s; tried again in %g s", self._agent, self._trouble, _AGAIN_S, exc_info=None if is_known else failed
                )
            await asyncio.sleep(_AGAIN_S)

    async def _look_again(self, ledger: Ledger, former: RulesAtWork | None) -> RulesAtWork:
        """At everything, as soon as others are at work than these, if they are not those of the last time; which they are now."""
        now = await self.rules.changed_from(former)
        judges = self._config.facts, [rule.model_dump(mode="json") for rule in now.rules.rules], now.unreadable
        digest = sha256(msgspec.json.encode(judges, order="deterministic")).digest()
        entries = await ledger.read(_STREAM)
        if entries and entries[-1].body == digest:
            return now
        if entries or now.rules.rules or self._config.facts != "rules":
            await self._memory.reconsider()
        with suppress(BackendError):
            await ledger.append(_STREAM, len(entries), [Entry(_ENTRY, digest, 0)])
        return now


def _single(group: BaseExceptionGroup[BaseException]) -> list[BaseException]:
    """The errors themselves, however deep."""
    return [
        leaf
        for exception in group.exceptions
        for leaf in (_single(exception) if isinstance(exception, BaseExceptionGroup) else [exception])
    ]
