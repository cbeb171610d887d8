"""How often does the reader without a model answer, does it quote the evidence, and does it decline what memory can't answer?

Two worlds, each through the agent as people use it, with keyword search and a store in RAM. The demo: its own questions, four of
them unanswerable. LoCoMo: every conversation is asked its own questions, and those of another conversation with the names of the
speakers exchanged, so that everything but the topic fits; these ought to be declined. (A few can be answered all the same: two
people may both have a dog.) The settings of `cognition.relevance` were fitted to the conversations "chosen on"; those "held out"
were not, but they were watched, so they are a check and no blind test.

A third world is generated: `--generated SEED` asks the questions of a corpus of 1,000 turns of 20 agents, whose labels say which
words an answer must have. What is tuned is tuned on seeds 1 to 3.

    python -m benchmarks.answers [--data DATA] [--generated SEED] [--embed MODEL] [--output json]
"""

import argparse
import asyncio
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import groupby, pairwise
from pathlib import Path

from benchmarks.harness import parser_of
from hive_mind.agents.agent import LearningAgent
from hive_mind.cognition.extractive import ExtractiveReader
from hive_mind.embed.base import Embedder
from hive_mind.evals.answering import GivenAnswer
from hive_mind.evals.arms.keeping import candidate_of
from hive_mind.evals.datasets import Document, Scope, load_locomo
from hive_mind.evals.demo import documents, outcome, questions
from hive_mind.evals.generating import generate
from hive_mind.evals.metrics import answered_figures
from hive_mind.memory.intake import statement
from hive_mind.model.ids import fact_id
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import memory_with, open_embedder

CHOSEN_ON = frozenset(("26", "30", "41"))
QUOTES = 3


@dataclass
class Tally:
    """Counts; shares are worked out at the end so that tallies can be added."""

    questions: int = 0
    answered: int = 0
    evidence: int = 0
    quotes: int = 0
    adversarial: int = 0
    adversarial_declined: int = 0
    others: int = 0
    others_declined: int = 0

    def __add__(self, other: "Tally") -> "Tally":
        mine, theirs = asdict(self), asdict(other)
        return Tally(**{name: mine[name] + theirs[name] for name in mine})

    def shares(self) -> dict[str, float]:
        return {
            "questions": self.questions,
            "answered": percent(self.answered, self.questions),
            f"evidence among the first {QUOTES} quotes": percent(self.evidence, self.questions),
            "quotes per answer": round(self.quotes / max(1, self.answered), 2),
            "other conversation's questions": self.others,
            "other conversation's declined": percent(self.others_declined, self.others),
            "adversarial questions": self.adversarial,
            "adversarial declined": percent(self.adversarial_declined, self.adversarial),
        }


@dataclass
class Kind:
    """The demo's questions of one kind. `declined` is right for the unanswerable and a miss for all others."""

    questions: int = 0
    right: int = 0
    declined: int = 0


@dataclass
class Demo:
    """All kinds, those that can be answered together, and the others."""

    kinds: dict[str, Kind] = field(default_factory=dict)

    def add(self, kind: str, is_right: bool, is_known: bool) -> None:
        together = "unanswerable" if kind == "unanswerable" else "answerable together"
        for name in dict.fromkeys((kind, together)):
            row = self.kinds.setdefault(name, Kind())
            row.questions += 1
            row.right += is_right
            row.declined += not is_known


class Conversation:
    """One conversation in a memory of its own, every turn a fact."""

    def __init__(self, scope: Scope, agent: LearningAgent) -> None:
        self.scope, self.agent = scope, agent
        self.turns = {document.id: fact_of(document) for document in scope.documents}
        self.speakers = sorted({document.speaker for document in scope.documents})

    async def learn(self) -> None:
        worded = [d for d in self.scope.documents if any(character.isalnum() for character in d.text)]
        await self.agent.memory.store_facts([candidate_of(document) for document in worded], source=self.scope.name)

    async def asked_its_own(self) -> Tally:
        tally = Tally()
        for question in self.scope.questions:
            answer = await self.agent.answer_question(question.text)
            if question.category == "adversarial":
                tally += Tally(adversarial=1, adversarial_declined=not answer.is_known)
                continue
            relevant = {self.turns[turn] for turn, judged in question.relevant.items() if judged > 0}
            found = any(hit.fact.id in relevant for hit in answer.sources[:QUOTES])
            tally += Tally(questions=1, answered=answer.is_known, evidence=found, quotes=len(answer.sources))
        return tally

    async def asked_those_of(self, other: "Conversation") -> Tally:
        tally = Tally()
        ours = dict(zip(other.speakers, self.speakers, strict=True))
        names = re.compile(rf"\b(?:{'|'.join(map(re.escape, ours))})\b")
        for question in other.scope.questions:
            if question.category != "adversarial":
                exchanged = names.sub(lambda match: ours[match.group()], question.text)
                answer = await self.agent.answer_question(exchanged)
                tally += Tally(others=1, others_declined=not answer.is_known)
        return tally


def fact_of(document: Document) -> str:
    return fact_id(statement(candidate_of(document)))


def percent(part: int, whole: int) -> float:
    return round(100 * part / whole, 1) if whole else 0.0


def agent_named(name: str, settings: Settings, embedder: Embedder) -> LearningAgent:
    return LearningAgent(name, memory_with(settings, name, embedder), ExtractiveReader())


async def demo_table(settings: Settings, embedder: Embedder) -> Demo:
    table = Demo()
    agent = agent_named("demo", settings, embedder)
    for content in documents():
        await agent.learn_from_content(content)
    for question in questions():
        result = outcome(question, (), await agent.answer_question(question.question))
        table.add(question.kind, result.is_right, result.is_known)
    return table


async def locomo_tables(data: Path, settings: Settings, embedder: Embedder) -> dict[str, Tally]:
    scopes = load_locomo(data / "locomo").scopes
    held = [Conversation(scope, agent_named(f"conversation-{scope.name}", settings, embedder)) for scope in scopes]
    tables: dict[str, Tally] = {}
    # Each is asked the next one's questions, the last one the first one's.
    for conversation, other in pairwise([*held, held[0]]):
        await conversation.learn()
        tally = await conversation.asked_its_own()
        if other is not conversation:
            tally += await conversation.asked_those_of(other)
        tables[conversation.scope.name] = tally
    return tables | together(tables)


async def generated_table(seed: int, settings: Settings, embedder: Embedder) -> dict[str, float]:
    """Shares of the answerable questions of a generated corpus, in percent, and of those that nothing answers."""
    (scope,) = generate(1_000, 20, seed).scopes
    agent = agent_named(scope.name, settings, embedder)
    for source, turns in groupby(scope.documents, key=lambda document: document.source):
        await agent.memory.store_facts([candidate_of(turn) for turn in turns], source=source)
    told = [(one, await agent.answer_question(one.text)) for one in scope.questions]
    known = [(one, answer.is_known, answered_figures(one, GivenAnswer(answer.text, answer.is_known))) for one, answer in told]
    asked = [(is_known, figures) for one, is_known, figures in known if one.is_answerable]
    rest = [is_known for one, is_known, _ in known if not one.is_answerable]
    return {
        "questions": len(asked),
        "answered": percent(sum(is_known for is_known, _ in asked), len(asked)),
        "with all required words": percent(sum(figures["required_hit"] == 1 for _, figures in asked), len(asked)),
        "with a word of another": percent(sum(figures["forbidden_hit"] == 1 for _, figures in asked), len(asked)),
        "that nothing answers": len(rest),
        "declined of these": percent(len(rest) - sum(rest), len(rest)),
    }


def together(tables: dict[str, Tally]) -> dict[str, Tally]:
    def added(names: Sequence[str]) -> Tally:
        return sum((tables[name] for name in names), Tally())

    chosen = [name for name in tables if name in CHOSEN_ON]
    held_out = [name for name in tables if name not in CHOSEN_ON]
    return {"chosen on": added(chosen), "held out": added(held_out), "all": added(list(tables))}


async def measured(options: argparse.Namespace) -> tuple[Demo, dict[str, Tally], dict[str, float]]:
    settings = Settings(
        store="memory", embed="sentence_transformers" if options.embed else "none", embed_model=options.embed or ""
    )
    embedder = await open_embedder(settings)
    try:
        demo = await demo_table(settings, embedder)
        made = await generated_table(options.generated, settings, embedder) if options.generated is not None else {}
        return demo, await locomo_tables(options.data, settings, embedder) if options.data else {}, made
    finally:
        await embedder.close()


def show(demo: Demo, locomo: dict[str, Tally]) -> None:
    print(f"{'demo':<22}{'questions':>10}{'right':>10}{'declined':>10}")
    for kind, row in demo.kinds.items():
        print(f"{kind:<22}{row.questions:>10}{row.right:>10}{row.declined:>10}")
    if not locomo:
        return
    print(f"\n{'LoCoMo (%)':<36}" + "".join(f"{name:>11}" for name in locomo))
    columns = [tally.shares() for tally in locomo.values()]
    for name in columns[0]:
        print(f"{name:<36}" + "".join(f"{column[name]:>11}" for column in columns))


def main() -> None:
    parser = parser_of(__doc__, "output")
    parser.add_argument("--data", type=Path, help="folder with locomo/; without it only the demo is measured")
    parser.add_argument("--generated", type=int, metavar="SEED", help="also a generated corpus of this seed")
    parser.add_argument(
        "--embed", metavar="MODEL", help="also search by meaning, with this sentence-transformers model or folder"
    )
    options = parser.parse_args()
    demo, locomo, made = asyncio.run(measured(options))
    if options.output == "json":
        shares = {name: tally.shares() for name, tally in locomo.items()}
        print(json.dumps({"demo": asdict(demo)["kinds"], "locomo": shares, "generated": made}, indent=1))
    else:
        show(demo, locomo)
        for name, value in made.items():
            print(f"generated: {name:<30}{value:>8}")


if __name__ == "__main__":
    main()
