"""The review of an agent's facts before they are shared: rules at once, a model, people at the desk. Nothing waits for them.

    rule accepts, or none speaks against it     shared
    rule says RETRY or REPLAN                   stays home: "rule no_pumps (pumps are ours)"
    rule says ESCALATE, or people judge all     stays home: "asked a person (7f3a91c2)", and an item lies on the desk
    a person approves / rejects                 shared / stays home with who said so, and why

A rule that breaks on a fact asks a person. A model is asked about facts that no rule decides, some twenty at once; a fact it is
too unsure of, and any failure of it, asks a person. A fact shared before there was a model stays so until it is
judged. Where the desk is full a fact awaits its turn. People's decisions are read from the ledger, so they hold after a restart,
and a decision of another process is followed as it comes.

The text before a fact travels with it, so the rules judge that text, too. It is decided as one: a person who said that a text
may go has said so for every fact it stands before.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from itertools import islice

from msgspec.structs import replace

from hive_mind.agents.desk import LedgerDesk, readable_view
from hive_mind.agents.judging.decision_log import AUDIT
from hive_mind.agents.judging.fact_judge import EVERY_FACT, FACTS_MAX, FactJudge, audit_item, fact_item, names_of, text_before
from hive_mind.errors import HiveError
from hive_mind.judge.items import Decision, Item, stream_of
from hive_mind.judge.judgment import FACT, PERSON, JudgeSettings, Judgment, JudgmentAction, Signal
from hive_mind.judge.pipeline import Case, Need, is_for_a_person, next_judgment
from hive_mind.judge.rules import RulesAtWork
from hive_mind.memory.gate.promotion import ALLOWED, Ruling
from hive_mind.model.fact import Fact, Sharing

_log = logging.getLogger(__name__)

Reconsider = Callable[[Sequence[str]], Awaitable[None]]

_ID_SHOWN = 8
_AGAIN_S = 1.0
_OUT = (Sharing.HELD, Sharing.SHARED)
_RULES_ALONE = JudgeSettings()


class GateReviewer:
    """A `Review` over rules and a desk, which stays its owner's. Where no rule decides, the model of `judge` does, or, with
    `asks_people`, a person.

    `run` it as long as facts are to be judged; `reconsider` is the memory's own. `rules` says which are at work now; when they
    change everything has to be reconsidered.
    """

    def __init__(
        self,
        agent: str,
        desk: LedgerDesk,
        reconsider: Reconsider,
        rules: Callable[[], RulesAtWork],
        judge: FactJudge,
        *,
        asks_people: bool = False,
    ) -> None:
        self._agent, self._desk, self._reconsider = agent, desk, reconsider
        self._rules, self._judge, self._asks_people = rules, judge, asks_people
        self._decided: dict[str, Decision] = {}
        self._asked: dict[str, str] = {}
        self._wanted: dict[str, Fact] = {}
        self._unjudged: dict[str, Fact] = {}
        self._behind: dict[str, set[str]] = {}
        self._pos = 0
        self._news, self._work = asyncio.Event(), asyncio.Event()

    def ruling(self, fact: Fact) -> Ruling | None:
        """By rules, a model's judgement and what people decided; None where a model or a person has to be asked first."""
        now, is_out = self._rules(), fact.sharing in _OUT
        if not now.is_known:
            return ALLOWED if is_out else None
        if now.unreadable and not is_out:
            return Ruling(now.unreadable)
        own_ruling = self._ruling(fact, is_whole=True)
        if own_ruling is None and is_out and self._judged(fact, is_whole=True) is None:
            self.want([fact])
            own_ruling = ALLOWED
        if own_ruling != ALLOWED or not self._is_read_apart(fact):
            return own_ruling
        text = text_before(fact)
        before = self._ruling(text)
        if before == ALLOWED:
            return ALLOWED
        self._behind.setdefault(text.id, set()).add(fact.id)
        return before and Ruling(f"the text before it: {before.refusal}")

    def want(self, facts: Sequence[Fact]) -> None:
        """Ask the model or people about these, when `run` comes to it."""
        for fact in facts:
            to_judge = self._judged(fact, is_whole=True) is None
            (self._unjudged if to_judge else self._wanted)[fact.id] = fact
        self._work.set()
        self._news.set()

    async def recall(self) -> None:
        """Know what people have decided so far. To be done before anything is ruled on: what is shared would be taken back."""
        for decision_read in await self._desk.decided(self._pos):
            await self._note(decision_read.decision)
            self._pos = decision_read.pos

    async def run(self) -> None:
        """Lay down what people are to decide, and have looked at again what they decided. Until it is cancelled.

        Run again it goes on with what was left.
        """
        self._news.set()
        self._work.set()
        await self.recall()
        # All at once: of an item that was opened again only the last decision may ever take effect.
        await self._have_reconsidered(self._depending_on(*self._decided))
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._follow())
            tasks.create_task(self._ask())
            tasks.create_task(self._have_judged())

    def _ruling(self, fact: Fact, *, is_whole: bool = False) -> Ruling | None:
        """`is_whole`: not only by rules."""
        judgment = self._judged(fact, is_whole=is_whole)
        if judgment is None:
            return None
        asks_people = is_whole and self._asks_people and judgment.cause not in ("person", "rule")
        if not (asks_people or is_for_a_person(judgment, self._judge.settings)):
            return ALLOWED if judgment.action is JudgmentAction.ACCEPT else Ruling(judgment.reasoning)
        if judgment.cause == "person":
            return Ruling(_said_no(self._decided[fact.id]))
        item_asked = self._asked.get(fact.id)
        return Ruling(f"asked a person ({item_asked[:_ID_SHOWN]})") if item_asked else None

    def _judged(self, fact: Fact, *, is_whole: bool) -> Judgment | None:
        """None where the model has to be asked first."""
        decision = self._decided.get(fact.id)
        signals = (
            [Signal(name=decision.by, origin=PERSON, action=decision.action, reasoning=decision.because)] if decision else []
        )
        settings = self._judge.settings if is_whole else _RULES_ALONE
        judgment = next_judgment(Case(names_of(fact, self._agent), kind=FACT), self._rules().rules, settings, signals)
        if isinstance(judgment, Need):
            return self._judge.judgment(fact)
        if is_whole and judgment.cause != "person" and self._judge.note(fact, self._asking(judgment)):
            self._work.set()
        return judgment

    def _asking(self, judgment: Judgment) -> Judgment:
        """As it is kept: where people judge every fact, what no rule decides is a question to them."""
        if not self._asks_people or judgment.cause == "rule":
            return judgment
        return replace(judgment, action=JudgmentAction.ESCALATE, cause="missing", reasoning=EVERY_FACT)

    async def _have_judged(self) -> None:
        """Keep what rules decided, and ask the model about the rest, in batches. Facts not judged yet stay home."""
        while True:
            await self._work.wait()
            self._work.clear()
            while self._unjudged or self._judge.has_noted:
                try:
                    await self._judge.flush()
                    if (model := self._judge.model) and self._unjudged:
                        # Waiting until then gathers a larger batch.
                        await model.until_free()
                        facts = list(islice(self._unjudged.values(), FACTS_MAX))
                        await self._judge.judge(facts)
                        self._news.set()
                        for fact in facts:
                            self._unjudged.pop(fact.id, None)
                        await self._have_reconsidered([fact.id for fact in facts])
                except HiveError as error:
                    _log.warning("agent %s: judgements can't be kept (%s); facts stay home until then", self._agent, error)
                    await asyncio.sleep(_AGAIN_S)

    async def _ask(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            ids_asked = []
            for fact in list(self._wanted.values()):
                if await self._is_asked(fact):
                    ids_asked.append(fact.id)
                    # Not before, so that nothing is left out where this is cut short.
                    self._wanted.pop(fact.id, None)
            if ids_asked:
                await self._have_reconsidered(ids_asked)
            # A sample of what the model lets pass. Nothing waits for it.
            for judged in list(self._judge.audits.values()):
                if await self._is_there(audit_item(self._agent, judged)):
                    self._judge.audits.pop(judged.goal, None)
            if self._wanted or self._judge.audits:
                # The desk is full, or can't be written: when there is room, or in a moment.
                await asyncio.sleep(_AGAIN_S)
                self._news.set()

    async def _is_asked(self, fact: Fact) -> bool:
        """Whether a person was asked about all that has to be decided first."""
        if self._ruling(fact, is_whole=True) is None:
            return await self._lay_down(fact, is_whole=True)
        is_open = self._is_read_apart(fact) and self._ruling(text_before(fact)) is None
        return not is_open or await self._lay_down(text_before(fact), is_whole=False)

    def _is_read_apart(self, fact: Fact) -> bool:
        """Whether the text before it is judged by itself: a person who decided on the fact was shown it."""
        return bool(fact.before) and fact.id not in self._decided

    async def _lay_down(self, fact: Fact, *, is_whole: bool) -> bool:
        judgment = self._judged(fact, is_whole=is_whole)
        if judgment is None:
            # The model is asked again.
            self.want([fact])
            return True
        item = fact_item(self._agent, fact, judgment, is_by_model=self._judge.model is not None)
        is_there = await self._is_there(item)
        if is_there:
            self._asked[fact.id] = item.id
        elif judgment.cause == "broken":
            # By the time that there is room the model may be well again.
            self._judge.try_again(fact)
        return is_there

    async def _is_there(self, item: Item) -> bool:
        try:
            return await self._desk.ask(item)
        except HiveError as error:
            _log.warning("agent %s: a person could not be asked about a fact (%s); tried again", self._agent, error)
            return False

    async def _follow(self) -> None:
        async for decision in self._desk.decisions(self._pos):
            if subject := await self._note(decision.decision):
                await self._have_reconsidered(self._depending_on(subject))
            self._pos = decision.pos

    async def _note(self, decision: Decision) -> str:
        """The fact it is about; "" where it is about nothing of this agent's that can be read: then the fact stays home."""
        view = await readable_view(self._desk.ledger, stream_of(decision.item))
        if view is None or view.item.kind not in (FACT, AUDIT) or view.item.agent != self._agent:
            return ""
        # It may have been opened and decided again since.
        self._decided[view.item.subject] = view.decision or decision
        self._asked[view.item.subject] = decision.item
        return view.item.subject

    def _depending_on(self, *subjects: str) -> list[str]:
        """These, and the facts that one of them stands before."""
        return [fact_id for subject in subjects for fact_id in (subject, *self._behind.get(subject, ()))]

    async def _have_reconsidered(self, fact_ids: Sequence[str]) -> None:
        try:
            await self._reconsider(fact_ids)
        except HiveError as error:
            # Everything that is not shared is looked at again when the memory wakes.
            _log.warning("agent %s: %d facts could not be looked at again: %s", self._agent, len(fact_ids), error)


def _said_no(decision: Decision) -> str:
    return f"{decision.by} said no" + (f": {decision.because}" if decision.because else "")
