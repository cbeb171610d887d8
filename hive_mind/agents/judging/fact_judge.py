"""A language model as the judge of an agent's facts: some twenty to a call, each verdict kept before it counts.

Former judgements are read from the log when the agent starts, so nothing is paid for twice. A verdict is about the words of a
fact, who said them and when, and what stands before them; a further source or a change of confidence does not call for another.
From whatever goes wrong follows a judgement, too: that a person has to decide.
"""

import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple

from msgspec.structs import replace

from hive_mind.agents.judging.decision_log import LedgerLog
from hive_mind.agents.judging.fact_items import fact_judgment_id, names_of
from hive_mind.agents.judging.model_judge import ASKING_ERRORS, CheckedModel, broken
from hive_mind.cognition.budget import Spending, usd_of
from hive_mind.cognition.prompts import instructions_of
from hive_mind.cognition.replies import FactVerdict, fact_verdicts_reply
from hive_mind.errors import ModelOutputError
from hive_mind.judge.calibration import JudgeTally
from hive_mind.judge.case import FACT, Case
from hive_mind.judge.judge_settings import JudgeSettings
from hive_mind.judge.judgment import Judged, Judgment, JudgmentAction, Signal
from hive_mind.judge.pipeline import MODEL, Need, next_judgment
from hive_mind.judge.rules import RuleSet
from hive_mind.llm.base import Usage
from hive_mind.model.fact import Fact

FACTS_MAX = 20
"""judged by one call"""
CONFIRMATIONS = "confirmations"
AGAIN_S = 600.0
"""after which a fact that a model could not judge is put to it again, where no person could be asked either"""

# More of one fact is nothing that a model judges beside nineteen others.
_TEXT_CHARS_MAX = 4_000
_REASON_CHARS_MAX = 300
_REPLY_TOKENS_PER_FACT = 150
_ACTIONS = {"share": JudgmentAction.ACCEPT, "keep": JudgmentAction.RETRY, "ask": JudgmentAction.ESCALATE}

Confirmed = Callable[[Sequence[Fact]], Awaitable[Mapping[str, float]]]
"""By the ids of those of these facts that others have said: how much that says for each, from 0 to 1."""


async def nobody(facts: Sequence[Fact]) -> Mapping[str, float]:
    del facts
    return {}


_PASSED = Judgment(action=JudgmentAction.ACCEPT, reasoning="", cause="agreement")


class _Said(NamedTuple):
    """The signals of a call on each fact, and its cost."""

    signals: Sequence[Signal]
    usage: Usage
    usd: float | None


class FactJudge:
    """Judges the facts of one agent. `load` it before anything else; `settings` may be exchanged at any time."""

    def __init__(
        self,
        agent: str,
        model: CheckedModel,
        log: LedgerLog,
        settings: JudgeSettings,
        confirmed: Confirmed = nobody,
        *,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self.settings = settings
        self._clock_s = clock_s
        self.tally = JudgeTally(threshold=settings.threshold)
        self.audits: dict[str, Judged] = {}
        """By fact: what was accepted and a person is to look at, and was not asked about yet."""
        self._failed: dict[str, str] = {}
        self._failed_s: dict[str, float] = {}
        self._agent, self._model, self.log, self._confirmed = agent, model, log, confirmed
        self._kept: dict[str, Judgment] = {}

    async def load(self) -> None:
        """Know what was judged before. Raises what a ledger raises."""
        async for case in self.log.each():
            if case.kind == FACT and case.model:
                self._take(case)

    def judgment(self, fact: Fact) -> Judgment | None:
        """The judgement of a fact, or of one that passed only that; None where there is none yet."""
        return self._kept.get(_digest(fact))

    def try_again(self, fact: Fact) -> None:
        """Let what could not be judged be judged again, if that is some time ago."""
        digest = _digest(fact)
        judgment = self._kept.get(digest)
        if judgment and self._clock_s() >= self._failed_s.get(digest, 0.0) + AGAIN_S:
            self._failed[digest] = self._kept.pop(digest).reasoning

    async def learn(self) -> None:
        """Be as sure as people's decisions say one has to be, and weigh signals by them. Raises what a ledger raises."""
        self.settings = await self.log.taught(self.settings)
        self.tally.threshold = self.settings.threshold_of(FACT)

    async def until_free(self) -> None:
        """When facts can be judged: waiting until then gathers a larger batch."""
        await self._model.until_free()

    async def judge(self, facts: Sequence[Fact]) -> list[Judged]:
        """Judge at most `FACTS_MAX` facts by one call, or more where a reply can't be used. Raises what a ledger raises."""
        fitting = [fact for fact in facts if len(fact.content) + len(fact.before) <= _TEXT_CHARS_MAX]
        answer = await self._asked(fitting) if fitting else _Said((), Usage(), None)
        signals = dict(zip((fact.id for fact in fitting), answer.signals, strict=True))
        confirmed = await self._confirmed(facts)
        judgments = []
        for number, fact in enumerate(facts):
            signal = signals.get(fact.id) or broken(ModelOutputError(f"it is longer than {_TEXT_CHARS_MAX:,} characters"))
            # The whole cost stands at the first, so that sums are right.
            cost = answer if number == 0 else _Said((), Usage(), 0.0 if answer.usd is not None else None)
            judged = self._judged(fact, [signal, *_confirmations(confirmed.get(fact.id, 0.0))], cost)
            judgments.append(await self._keep(judged))
        return judgments

    async def _keep(self, judged: Judged) -> Judged:
        """The same failure again is nothing new."""
        judgment = judged.judgment
        if judgment.cause != "broken" or self._failed.get(judged.case) != judgment.reasoning or judged.input_tokens:
            judged = await self.log.keep(judged)
            self.tally.count(judged)
        if judgment.cause == "broken":
            self._failed_s[judged.case] = self._clock_s()
        self._take(judged)
        return judged

    def _take(self, judged: Judged) -> None:
        judgment = judged.judgment
        is_asked = judged.audit > 0.0 or judgment.action is JudgmentAction.ESCALATE
        # Most pass, and of those nothing more has to be known: an agent may have a hundred thousand of them.
        self._kept[judged.case] = judgment if is_asked or judgment.action is not JudgmentAction.ACCEPT else _PASSED
        if judged.audit:
            self.audits[judged.goal] = judged

    async def _asked(self, facts: Sequence[Fact]) -> _Said:
        spent: list[Spending] = []
        data = "\n".join(_shown(number, fact) for number, fact in enumerate(facts, 1))
        size = len(facts)
        try:
            verdicts = await self._model.ask(
                instructions_of("judge_facts"),
                data,
                lambda reply: fact_verdicts_reply(reply, size),
                spent,
                _REPLY_TOKENS_PER_FACT * (size + 1),
            )
            signals = [_signal(verdicts.get(number)) for number in range(1, size + 1)]
        except ASKING_ERRORS as error:
            signals = [broken(error)] * size
        usage = sum((spending.used for spending in spent), Usage())
        return _Said(signals, usage, usd_of(self._model.name, usage))

    def _judged(self, fact: Fact, signals: Sequence[Signal], cost: _Said) -> Judged:
        # Rules had their say before.
        judgment = next_judgment(Case(names_of(fact, self._agent), kind=FACT), RuleSet(), self.settings, signals)
        # The signal that it needs was given.
        assert not isinstance(judgment, Need)  # noqa: S101 - see above
        record = _record(self._agent, fact, judgment)
        return replace(
            record,
            model=self._model.name,
            input_tokens=cost.usage.input_tokens,
            output_tokens=cost.usage.output_tokens,
            usd=cost.usd,
            weights=dict(self.settings.weights_of(FACT)),
        )


class NotedRulings:
    """The decisions of rules about an agent's facts, kept once for each rule; and that they let a fact pass, without its text."""

    def __init__(self, agent: str, log: LedgerLog, tally: JudgeTally | None = None) -> None:
        self._agent, self._log, self._tally = agent, log, tally or JudgeTally()
        self._known: dict[str, str] = {}
        self._noted: dict[str, Judged] = {}

    async def load(self) -> None:
        """Know what was noted before. Raises what a ledger raises."""
        async for case in self._log.each():
            if case.kind == FACT and not case.model:
                self._known[case.case] = case.judgment.rule

    def note(self, fact: Fact, judgment: Judgment) -> bool:
        """Whether that is new, and to be flushed."""
        digest = _digest(fact)
        if self._known.get(digest) == judgment.rule:
            return False
        self._known[digest] = judgment.rule
        self._noted[digest] = _record(self._agent, fact, judgment)
        return True

    async def flush(self) -> None:
        """Keep it. Raises what a ledger raises."""
        noted, passed = list(self._noted.items()), list[Judged]()
        for digest, judged in noted:
            if judged.judgment.action is JudgmentAction.ACCEPT and not judged.judgment.rule:
                passed.append(judged)
            else:
                await self._log.keep(judged)
                self._tally.count(judged)
                self._noted.pop(digest, None)
        await self._log.keep_passed(passed)
        for judged in passed:
            self._noted.pop(judged.case, None)

    @property
    def has_noted(self) -> bool:
        """Whether something is to be flushed."""
        return bool(self._noted)


def _record(agent: str, fact: Fact, judgment: Judgment) -> Judged:
    named_judgment = replace(judgment, id=fact_judgment_id(agent, fact.id))
    return Judged(judgment=named_judgment, case=_digest(fact), goal=fact.id, kind=FACT, result=dict(names_of(fact, agent)))


def _digest(fact: Fact) -> str:
    return sha256(json.dumps([fact.content, fact.before, fact.speaker, fact.said_at]).encode()).hexdigest()


def _shown(number: int, fact: Fact) -> str:
    record = {
        "text": fact.content,
        "before": fact.before,
        "about": fact.concept,
        "speaker": fact.speaker,
        "said_at": fact.said_at,
    }
    return json.dumps({"number": number, **{name: text for name, text in record.items() if text}}, ensure_ascii=False)


def _signal(verdict: FactVerdict | None) -> Signal:
    if verdict is None:
        return broken(ModelOutputError("it says nothing about this one"))
    return Signal(
        name=MODEL,
        origin=MODEL,
        action=_ACTIONS[verdict.action],
        confidence=verdict.confidence,
        reasoning=" ".join(verdict.reasoning.split())[:_REASON_CHARS_MAX],
    )


def _confirmations(share: float) -> list[Signal]:
    if share <= 0.0:
        return []
    reasoning = "others have shared it, too"
    return [Signal(name=CONFIRMATIONS, origin=CONFIRMATIONS, action=JudgmentAction.ACCEPT, confidence=share, reasoning=reasoning)]
