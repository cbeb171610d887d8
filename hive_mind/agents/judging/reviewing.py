"""The judge at an agent's gate, as a worker runs it: its rules, its desk over its ledger, and what it does when rules change.

The ledger is shared, so that people decide from the command line while the agent runs. Facts shared before a rule was there
are looked at again once, when the agent starts with other rules than the last time: the ledger remembers which they were.

The agent of a fleet's desk sees what all people decide, and has it take effect. A rule of the hive that decides otherwise than
they do is on trial again; only what was decided since it was approved speaks against it: its approver knew the rest. By an answer
to an audit a fact that is wrong is taken back for all, and its agent is rated; so is the agent of a run that was audited.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from hashlib import sha256

import msgspec

from hive_mind.agents.desk import LedgerDesk
from hive_mind.agents.judging.decision_log import AUDIT, is_decided, log_of, shown_precedent
from hive_mind.agents.judging.desk_pages import DeskExchange
from hive_mind.agents.judging.fact_judge import FactJudge, confirmed_by
from hive_mind.agents.judging.gate_reviewer import GateReviewer
from hive_mind.agents.judging.model_judge import JudgeModels, Pace
from hive_mind.agents.judging.rules_at_work import HiveMember, HiveRules, rules_of
from hive_mind.errors import BackendError, HiveError
from hive_mind.hive.policy.admission import rating_key
from hive_mind.hive.trust.trust_book import rating_value
from hive_mind.judge.calibration import TARGET, JudgeTally
from hive_mind.judge.items import NOBODY, ItemView
from hive_mind.judge.judgment import DeskConfig, JudgeSettings, JudgmentAction, ReviewConfig
from hive_mind.judge.rules import KIND, RulesAtWork, Trial, key_of, known, taken_back, tried, value_of
from hive_mind.ledger import Ledger
from hive_mind.memory.distributed import DistributedCognitiveMemory
from hive_mind.model.decoding import json_decoder
from hive_mind.model.entry import Entry

_log = logging.getLogger(__name__)

_STREAM, _ENTRY = "gate/rules", "rules"
_AGAIN_S, _TOGETHER_S = 5.0, 0.5
_TRUST_STREAM = "audited/"
# Decisions before these are no news.
_CASES_MAX = 1_000


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
        try:
            reviewer = await self._reviewer_of(ledger)
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

    async def _reviewer_of(self, ledger: Ledger) -> GateReviewer:
        config, is_by_model = self._config.model, self._config.facts == "model"
        model = await self._models.judging(config.name, Pace(config.calls_per_minute)) if is_by_model else None
        judge = FactJudge(
            self._agent,
            model,
            log_of(ledger, config),
            config.settings if model else JudgeSettings(),
            confirmed_by(self._agent, self._member),
        )
        await judge.load()
        self.tally = judge.tally if model else None
        asks_people = self._config.facts == "people"
        desk, reconsider = LedgerDesk(ledger), self._memory.reconsider
        reviewer = GateReviewer(self._agent, desk, reconsider, self.rules.now, judge, asks_people=asks_people)
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
                _, unforeseen = failed.split(HiveError)
                error: BaseException = unforeseen or failed
                while isinstance(error, BaseExceptionGroup):
                    error = error.exceptions[0]
                self._trouble = f"its facts can't be judged: {error}"
                _log.error("%s: %s; tried again in %g s", self._agent, self._trouble, _AGAIN_S, exc_info=unforeseen)
            await asyncio.sleep(_AGAIN_S)

    async def _look_again(self, ledger: Ledger, former: RulesAtWork | None) -> RulesAtWork:
        """At everything, as soon as others are at work than these, if they are not those of the last time; which they are now."""
        now = await self.rules.known(former)
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


async def run_desk(agent: str, at: DeskConfig, ledger: Ledger, member: HiveMember) -> None:
    """Exchange items with the desk, or as the desk with all agents; there decisions take effect on rules and trust, too.

    Until it is cancelled.
    """
    desk = LedgerDesk(ledger)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(DeskExchange(agent, at, ledger, desk, member.desk_pages, member.runner.tell).run())
        if at.agent == agent:
            tasks.create_task(DeskEffects(agent, desk, member).run())


class DeskEffects:
    """Follows one desk, which stays its owner's. `run` it while the agent is there."""

    def __init__(self, agent: str, desk: LedgerDesk, member: HiveMember) -> None:
        self._agent, self._desk, self._member = agent, desk, member
        self._views: dict[str, ItemView] = {}
        self._news = asyncio.Event()

    async def run(self) -> None:
        """Take each decision once, from the first on. Until it is cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._hold_against_rules())
            async for decided in self._desk.decisions():
                view = await self._desk.view(decided.decision.item)
                if view and is_decided(view):
                    self._views.pop(view.item.id, None)
                    self._views[view.item.id] = view
                    if len(self._views) > _CASES_MAX:
                        del self._views[next(iter(self._views))]
                    self._news.set()
                if view and view.decision and view.item.kind == AUDIT and view.decision.by not in NOBODY:
                    await self._take(view, is_right=view.decision.action is JudgmentAction.ACCEPT)

    async def _hold_against_rules(self) -> None:
        while True:
            await self._news.wait()
            # People decide on several at once.
            await asyncio.sleep(_TOGETHER_S)
            self._news.clear()
            for trial in self._refuted():
                await self._take_back(trial)

    def _refuted(self) -> list[Trial]:
        registry, trials = self._member.member.node.registry, list[Trial]()
        approved = registry.in_force(KIND)
        for rule in known(registry.with_prefix(f"{KIND}/")).values():
            # One that asks people is never contradicted by what they say.
            if rule.mode == "active" and rule.action is not JudgmentAction.ESCALATE:
                views = [view for view in self._views.values() if view.decided_ms >= approved[key_of(rule.id)].ms]
                trials += tried([rule], map(shown_precedent, views))
        return [trial for trial in trials if trial.is_refuted(TARGET)]

    async def _take_back(self, trial: Trial) -> None:
        rule, why = trial.rule, f"people agreed in {trial.rightly} of {trial.decided} cases"
        try:
            refusals = await self._member.runner.write([(key_of(rule.id), value_of(taken_back(rule, why)))], self._agent)
        except HiveError as error:
            _log.warning("%s: rule %s can't be taken back yet (%s): %s", self._agent, rule.id, why, error)
            await asyncio.sleep(_AGAIN_S)
            self._news.set()
        else:
            _log.warning("%s: rule %s is on trial again: %s", self._agent, rule.id, "; ".join(filter(None, refusals)) or why)

    async def _take(self, view: ItemView, *, is_right: bool) -> None:
        stream = _TRUST_STREAM + view.item.id
        noted = await self._desk.ledger.read(stream)
        if not noted:
            entries = self._meant(view, is_right=is_right)
            noted = [Entry("meant", msgspec.json.encode(entries), view.decided_ms)]
            await self._desk.ledger.append(stream, 0, noted)
        if len(noted) == 1:
            await self._write(json_decoder(list[tuple[str, str]])(noted[0].body))
            await self._desk.ledger.append(stream, 1, [Entry("told", b"", view.decided_ms)])

    def _meant(self, view: ItemView, *, is_right: bool) -> list[tuple[str, str]]:
        node, subject = self._member.member.node, view.item.agent
        entries = []
        # Of an audited run there is no fact to take back.
        if not is_right and not view.item.judged and node.policy.is_moderator(self._agent):
            entries.append((f"retracted/{view.item.subject}", "true"))
        if subject != self._agent:
            key, tuned = rating_key(self._agent, subject), node.settings.standing.trust
            entries.append(
                (key, rating_value(node.registry.get(key), is_right, node.policy.at(self._member.now()).hive_ms(), tuned))
            )
        return entries

    async def _write(self, entries: list[tuple[str, str]]) -> None:
        """Tried until the hive takes it."""
        while entries:
            try:
                refusals = await self._member.runner.write(entries, self._agent)
            except HiveError as error:
                _log.warning("%s: an audit's result can't be sent to the hive yet: %s", self._agent, error)
                await asyncio.sleep(_AGAIN_S)
            else:
                for refusal in filter(None, refusals):
                    _log.warning("%s: the hive refuses an audit's result: %s", self._agent, refusal)
                return
