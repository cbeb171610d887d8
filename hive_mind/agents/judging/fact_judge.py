"""The judgements of an agent's facts: by a language model, some twenty to a call, each verdict kept before it counts; by rules.

Former judgements are read from the log when the agent starts, so nothing is paid for twice. A verdict is about the words of a
fact, who said them and when, and what stands before them; a further source or a change of confidence does not call for another.
From whatever goes wrong follows a judgement, too: that a person has to decide.
"""

import json
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any, Literal

from msgspec import structs

from hive_mind.agents.judging.decision_log import AUDIT, LedgerLog, fact_judgment_id
from hive_mind.agents.judging.model_judge import ModelJudge, Verdicts, broken
from hive_mind.agents.judging.rules_at_work import HiveMember
from hive_mind.clocks import wall_clock_ms
from hive_mind.cognition import instructions_of
from hive_mind.cognition.replies import FactVerdict, fact_verdicts_reply
from hive_mind.errors import HiveError
from hive_mind.judge.calibration import JudgeTally
from hive_mind.judge.items import Context, Item, fitted
from hive_mind.judge.judgment import FACT, Judged, JudgeSettings, Judgment, JudgmentAction, Signal
from hive_mind.judge.pipeline import MODEL, Case, Need, next_judgment
from hive_mind.judge.rules import RuleSet
from hive_mind.llm.base import Usage
from hive_mind.model.evidence import LISTS, HiveFact, said_of
from hive_mind.model.fact import Fact
from hive_mind.model.ids import fact_id, item_id

_log = logging.getLogger(__name__)

FACTS_MAX = 20
"""judged by one call"""
CONFIRMATIONS = "confirmations"
AGAIN_S = 600.0
"""after which a fact that a model could not judge is put to it again, where no person could be asked either"""

# More of one fact is nothing that a model judges beside nineteen others.
_TEXT_CHARS_MAX = 4_000
_REASON_CHARS_MAX = 300
_REPLY_TOKENS_PER_FACT = 150
_LONG_AGO_S = float("-inf")
_DEFAULTS = JudgeSettings()
_ACTIONS = {"share": JudgmentAction.ACCEPT, "keep": JudgmentAction.RETRY, "ask": JudgmentAction.ESCALATE}

_PASSED = Judgment(action=JudgmentAction.ACCEPT, reasoning="", cause="agreement")

EVERY_FACT = "people judge every fact of this agent"
_TITLE_CHARS = 120
_OF_A_FACT = (
    ("on yes", "the fact is shared with the hive"),
    ("on no", "the fact stays with its agent, which finds it all the same"),
)
_OF_AN_AUDIT = (
    ("on yes", "the fact stays shared, and its agent is rated well"),
    ("on no", "the fact is taken back for all, and its agent is rated badly"),
)

Confirmed = Callable[[Sequence[Fact]], Awaitable[Mapping[str, float]]]
"""By the ids of those of these facts that others have said: how much that says for each, from 0 to 1."""


class FactJudge:
    """Judges the facts of one agent by a model, where it has one, and keeps what rules decide. `load` it before anything else.

    `settings` may be exchanged at any time.
    """

    def __init__(
        self,
        agent: str,
        model: ModelJudge | None,
        log: LedgerLog,
        settings: JudgeSettings = _DEFAULTS,
        confirmed: Confirmed | None = None,
        *,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self.settings = replace(settings, has_model=model is not None)
        self.model, self.log = model, log
        self.tally = JudgeTally(threshold=settings.threshold)
        self.audits: dict[str, Judged] = {}
        """By fact: what was accepted and a person is to look at, and was not asked about yet."""
        self._agent, self._confirmed, self._clock_s = agent, confirmed, clock_s
        # All by the digest of a fact: judgements of the model, why it failed and when, ids of rules, what is to be flushed.
        self._judgments: dict[str, Judgment] = {}
        self._failed: dict[str, tuple[str, float]] = {}
        self._rules: dict[str, str] = {}
        self._noted: dict[str, Judged] = {}

    async def load(self) -> None:
        """Know what was judged before. Raises what a ledger raises."""
        async for case in self.log.each():
            if case.kind == FACT and not case.model:
                self._rules[case.case] = case.judgment.rule
            elif case.kind == FACT and self.model:
                self._take(case)

    def judgment(self, fact: Fact) -> Judgment | None:
        """The model's judgement of a fact, or of one that passed only that; None where there is none yet."""
        return self._judgments.get(_digest(fact))

    def try_again(self, fact: Fact) -> None:
        """Let what could not be judged be judged again, if that is some time ago."""
        digest = _digest(fact)
        if self._clock_s() >= self._failed.get(digest, ("", _LONG_AGO_S))[1] + AGAIN_S:
            self._judgments.pop(digest, None)

    async def judge(self, facts: Sequence[Fact]) -> list[Judged]:
        """Judge at most `FACTS_MAX` facts by one call, or more where a reply can't be used; as sure as people's decisions say one
        has to be, with signals weighed by them. Raises what a ledger raises.
        """
        if (model := self.model) is None:
            return []
        self.settings = await self.log.taught(self.settings)
        self.tally.threshold = self.settings.threshold_of(FACT)
        fitting = [fact for fact in facts if len(fact.content) + len(fact.before) <= _TEXT_CHARS_MAX]
        verdicts = await _asked(model, fitting) if fitting else Verdicts(model=model.name)
        signals = dict(zip((fact.id for fact in fitting), verdicts.signals, strict=True))
        confirmed = await self._confirmed(facts) if self._confirmed else {}
        judgments = []
        for fact in facts:
            signal = signals.get(fact.id) or broken(f"it is longer than {_TEXT_CHARS_MAX:,} characters")
            judged = self._judged(fact, [signal, *_confirmations(confirmed.get(fact.id, 0.0))])
            judgments.append(await self._keep(verdicts.noted_on(judged)))
            # The whole cost stands at the first, so that sums are right.
            verdicts = replace(verdicts, usage=Usage(), usd=None if verdicts.usd is None else 0.0)
        return judgments

    def _judged(self, fact: Fact, signals: Sequence[Signal]) -> Judged:
        # Rules had their say before.
        judgment = next_judgment(Case(names_of(fact, self._agent), kind=FACT), RuleSet(), self.settings, signals)
        # The signal that it needs was given.
        assert not isinstance(judgment, Need)  # noqa: S101 - see above
        return structs.replace(self._record(fact, judgment), weights=dict(self.settings.weights_of(FACT)))

    def _record(self, fact: Fact, judgment: Judgment) -> Judged:
        named_judgment = structs.replace(judgment, id=fact_judgment_id(self._agent, fact.id))
        result = dict(names_of(fact, self._agent))
        return Judged(judgment=named_judgment, case=_digest(fact), goal=fact.id, kind=FACT, result=result)

    async def _keep(self, judged: Judged) -> Judged:
        """The same failure again is nothing new."""
        former = self._failed.get(judged.case, ("", 0.0))[0]
        if judged.judgment.cause != "broken" or judged.judgment.reasoning != former or judged.input_tokens:
            judged = await self.log.keep(judged)
            self.tally.count(judged)
        self._take(judged, self._clock_s())
        return judged

    def _take(self, judged: Judged, now_s: float = _LONG_AGO_S) -> None:
        judgment = judged.judgment
        if judgment.cause == "broken":
            self._failed[judged.case] = judgment.reasoning, now_s
        # Most pass, and of those nothing more has to be known: an agent may have a hundred thousand of them.
        is_passed = judgment.action is JudgmentAction.ACCEPT and not judged.audit
        self._judgments[judged.case] = _PASSED if is_passed else judgment
        if judged.audit:
            self.audits[judged.goal] = judged

    def note(self, fact: Fact, judgment: Judgment) -> bool:
        """Remember a decision of rules, once for each rule: whether that is new, and to be flushed."""
        digest = _digest(fact)
        if self._rules.get(digest) == judgment.rule:
            return False
        self._rules[digest] = judgment.rule
        self._noted[digest] = self._record(fact, judgment)
        return True

    @property
    def has_noted(self) -> bool:
        """Whether something is to be flushed."""
        return bool(self._noted)

    async def flush(self) -> None:
        """Keep what rules decided; that they let a fact pass without its text. Raises what a ledger raises."""
        passed = []
        for judged in list(self._noted.values()):
            if judged.judgment.action is JudgmentAction.ACCEPT and not judged.judgment.rule:
                passed.append(judged)
            else:
                await self.log.keep(judged)
                self.tally.count(judged)
                self._noted.pop(judged.case, None)
        await self.log.keep_passed(passed)
        for judged in passed:
            self._noted.pop(judged.case, None)


async def _asked(model: ModelJudge, facts: Sequence[Fact]) -> Verdicts:
    size = len(facts)
    data = "\n".join(_shown(number, fact) for number, fact in enumerate(facts, 1))

    def read(reply: str) -> Sequence[Signal]:
        verdicts = fact_verdicts_reply(reply, size)
        return [_signal(verdicts.get(number)) for number in range(1, size + 1)]

    return await model.verdicts(instructions_of("judge_facts"), data, read, size, _REPLY_TOKENS_PER_FACT * (size + 1))


def confirmed_by(agent: str, member: HiveMember) -> Confirmed:
    """Confirmation by what other agents have shared already: 1 − ½ᵏ for k sources that this agent has not, by trust."""

    def sources(hive_fact: HiveFact, own_sources: Sequence[str]) -> float:
        trust = member.member.node.policy.at(member.now()).trust
        roots: dict[str, float] = {}
        for row in hive_fact.provenance:
            if row.agent != agent and row.root not in own_sources:
                roots[row.root] = max(roots.get(row.root, 0.0), min(trust(row.agent), 1.0))
        return sum(roots.values())

    async def confirmed(facts: Sequence[Fact]) -> Mapping[str, float]:
        try:
            hive_facts = await member.runner.fetch([(fact.id, "") for fact in facts])
        except HiveError as error:
            _log.info("%s: the hive does not say what others confirm: %s", agent, error)
            return {}
        own_sources = {fact.id: fact.sources for fact in facts}
        return {fact.id: 1.0 - 0.5**k for fact in hive_facts if (k := sources(fact, own_sources.get(fact.id, ()))) > 0.0}

    return confirmed


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
        return broken("it says nothing about this one")
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


def fact_item(agent: str, fact: Fact, judgment: Judgment, *, is_by_model: bool) -> Item:
    """The question whether a fact may be shared."""
    why = judgment.reasoning if judgment.action is JudgmentAction.ESCALATE else EVERY_FACT
    group = judgment.rule or (judgment.cause if is_by_model else "every fact")
    # A fact is what it says: its id is the digest of the case.
    record = Judged(judgment=judgment, case=fact.id, goal=fact.id, result=dict(names_of(fact, agent)))
    return _item(FACT, agent, record, (("why", why), *_OF_A_FACT), group)


def audit_item(agent: str, judged: Judged) -> Item:
    """The question whether a model was right to let a fact pass; nothing waits for the answer."""
    why = f"shared already, by the judgement of {judged.model}: {judged.judgment.reasoning}"
    return _item(AUDIT, agent, judged, (("why", why), *_OF_AN_AUDIT), "audit")


def _item(kind: Literal["fact", "audit"], agent: str, judged: Judged, context: Context, group: str) -> Item:
    names = {"text": "", "concept": "", "sources": (), "before": ""} | judged.result
    texts_shown = {"fact": names["text"], "concept": names["concept"], "sources": "\n".join(map(str, names["sources"]))}
    texts_shown["before"] = names["before"]
    return Item(
        id=item_id(kind, f"{agent}/{judged.goal}", judged.case),
        kind=kind,
        agent=agent,
        subject=judged.goal,
        title=str(names["text"])[:_TITLE_CHARS],
        opened_ms=wall_clock_ms(),
        context=fitted([*context, *((name, str(text)) for name, text in texts_shown.items() if text)]),
        signals=judged.judgment.signals,
        cites=(judged.goal,),
        group=group,
    )


def names_of(fact: Fact, agent: str) -> Mapping[str, Any]:
    """The names of a fact that conditions of rules see as `result`."""
    record = said_of(fact) | {name: list(getattr(fact, name)) for name in LISTS}
    return {"text": record.pop("content"), **record, "confidence": fact.confidence, "sources": list(fact.sources), "agent": agent}


def text_before(fact: Fact) -> Fact:
    """The text before a fact, as if it were one: mostly it is."""
    return replace(fact, id=fact_id(fact.before), content=fact.before, before="")
