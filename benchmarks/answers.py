"""How often does the reader without a model answer, does it quote the evidence, and does it decline what memory can't answer?

Two worlds, each through the agent as people use it, with keyword search and a store in RAM. The demo: its own questions, four of
them unanswerable. LoCoMo: every conversation is asked its own questions, and those of another conversation with the names of the
speakers exchanged, so that everything but the topic fits; these ought to be declined. (A few can be answered all the same: two
people may both have a dog.) The settings of `cognition.relevance` were fitted to the conversations "chosen on"; those "held out"
were not, but they were watched, so they are a check and no blind test.

A third world is generated: `--generated SEED` asks the questions of a corpus of 1,000 turns of 20 agents, whose labels say which
words an answer must have. What is tuned is tuned on seeds 1 to 3.

    python -m benchmarks.answers [--data DATA] [--generated SEED] [--embed MODEL] [--json FILE]
"""

import argparse
import asyncio
import re
from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import groupby, pairwise
from pathlib import Path

from benchmarks.harness import Row, parser_of, told
from hive_mind.agents.agent import LearningAgent
from hive_mind.cognition.extractive import ExtractiveReader
from hive_mind.embed import Embedder
from hive_mind.evals.answering import GivenAnswer
from hive_mind.evals.arms import candidate_of
from hive_mind.evals.datasets import Document, Scope
from hive_mind.evals.datasets.conversations import load_locomo
from hive_mind.evals.demo import documents, outcome, questions
from hive_mind.evals.generating import generate
from hive_mind.evals.metrics import answered_figures
from hive_mind.memory.intake import statement
from hive_mind.model.ids import fact_id
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import memory_with, open_embedder

CHOSEN_ON = frozenset(("26", "30", "41"))
QUOTES = 3


def shares(tally: Counter[str]) -> dict[str, float]:
    """Of counts, which can be added."""
    return {
        "questions": tally["questions"],
        "answered": percent(tally["answered"], tally["questions"]),
        f"evidence among the first {QUOTES} quotes": percent(tally["evidence"], tally["questions"]),
        "quotes per answer": tally["quotes"] / max(1, tally["answered"]),
        "other conversation's questions": tally["others"],
        "other conversation's declined": percent(tally["others declined"], tally["others"]),
        "adversarial questions": tally["adversarial"],
        "adversarial declined": percent(tally["adversarial declined"], tally["adversarial"]),
    }


async def asked_its_own(agent: LearningAgent, scope: Scope) -> Counter[str]:
    tally, turns = Counter[str](), {document.id: fact_of(document) for document in scope.documents}
    for question in scope.questions:
        answer = await agent.answer_question(question.text)
        if question.category == "adversarial":
            tally.update({"adversarial": 1, "adversarial declined": not answer.is_known})
            continue
        relevant = {turns[turn] for turn, judged in question.relevant.items() if judged > 0}
        is_quoted = any(hit.fact.id in relevant for hit in answer.sources[:QUOTES])
        tally.update({"questions": 1, "answered": answer.is_known, "evidence": is_quoted, "quotes": len(answer.sources)})
    return tally


async def asked_those_of(agent: LearningAgent, scope: Scope, other: Scope) -> Counter[str]:
    tally, exchanged = Counter[str](), exchange(other, scope)
    for question in other.questions:
        if question.category != "adversarial":
            answer = await agent.answer_question(exchanged(question.text))
            tally.update({"others": 1, "others declined": not answer.is_known})
    return tally


async def keep_turns(agent: LearningAgent, scope: Scope, source: str = "") -> None:
    """Every turn that has a word, as a fact of this source or of its own."""
    worded = [turn for turn in scope.documents if any(map(str.isalnum, turn.text))]
    for own, turns in groupby(worded, key=lambda turn: source or turn.source):
        await agent.memory.store_facts([candidate_of(turn) for turn in turns], source=own)


def exchange(other: Scope, scope: Scope) -> Callable[[str], str]:
    """Puts the speakers of one conversation in place of another's."""
    theirs, ours = (sorted({turn.speaker for turn in some.documents}) for some in (other, scope))
    names = re.compile(rf"\b(?:{'|'.join(map(re.escape, theirs))})\b")
    named = dict(zip(theirs, ours, strict=True))
    return lambda text: names.sub(lambda match: named[match.group()], text)


def fact_of(document: Document) -> str:
    return fact_id(statement(candidate_of(document)))


def percent(part: int, whole: int) -> float:
    return round(100 * part / whole, 1) if whole else 0.0


def settings_with(model: str) -> Settings:
    """An agent that also searches by meaning with this model; by words alone without one."""
    return Settings(store="memory", embed="sentence_transformers" if model else "none", embed_model=model)


def agent_named(name: str, settings: Settings, embedder: Embedder) -> LearningAgent:
    return LearningAgent(name, memory_with(settings, name, embedder), ExtractiveReader())


async def demo_rows(settings: Settings, embedder: Embedder) -> list[Row]:
    """By kind, and those that can be answered together. `declined` is right for the unanswerable and a miss for all others."""
    tallies: dict[str, Counter[str]] = defaultdict(Counter)
    agent = agent_named("demo", settings, embedder)
    for content in documents():
        await agent.learn_from_content(content)
    for question in questions():
        result = outcome(question, (), await agent.answer_question(question.question))
        for kind in {question.kind, "unanswerable" if question.kind == "unanswerable" else "answerable together"}:
            tallies[kind].update({"questions": 1, "right": result.is_right, "declined": not result.is_known})
    return [{"what": f"demo, {kind}", **tally} for kind, tally in tallies.items()]


async def locomo_rows(data: Path, settings: Settings, embedder: Embedder) -> list[Row]:
    scopes = load_locomo(data / "locomo").scopes
    tallies: dict[str, Counter[str]] = {}
    # Each is asked the next one's questions, the last one the first one's.
    for scope, other in pairwise([*scopes, scopes[0]]):
        agent = agent_named(f"conversation-{scope.name}", settings, embedder)
        await keep_turns(agent, scope, scope.name)
        tallies[scope.name] = await asked_its_own(agent, scope)
        if other is not scope:
            tallies[scope.name] += await asked_those_of(agent, scope, other)
    parts = {
        "chosen on": [name for name in tallies if name in CHOSEN_ON],
        "held out": [name for name in tallies if name not in CHOSEN_ON],
        "all": list(tallies),
    }
    tallies |= {part: sum((tallies[name] for name in names), Counter()) for part, names in parts.items()}
    return [{"what": f"LoCoMo, {name}", **shares(tally)} for name, tally in tallies.items()]


async def generated_row(seed: int, settings: Settings, embedder: Embedder) -> Row:
    """Shares of the answerable questions of a generated corpus, in percent, and of those that nothing answers."""
    (scope,) = generate(1_000, 20, seed).scopes
    agent = agent_named(scope.name, settings, embedder)
    await keep_turns(agent, scope)
    answers = [(one, await agent.answer_question(one.text)) for one in scope.questions]
    known = [(one, answer.is_known, answered_figures(one, GivenAnswer(answer.text, answer.is_known))) for one, answer in answers]
    asked = [(is_known, figures) for one, is_known, figures in known if one.is_answerable]
    rest = [is_known for one, is_known, _ in known if not one.is_answerable]
    return {
        "what": f"generated, seed {seed}",
        "questions": len(asked),
        "answered": percent(sum(is_known for is_known, _ in asked), len(asked)),
        "with all required words": percent(sum(figures["required_hit"] == 1 for _, figures in asked), len(asked)),
        "with a word of another": percent(sum(figures["forbidden_hit"] == 1 for _, figures in asked), len(asked)),
        "that nothing answers": len(rest),
        "declined of these": percent(len(rest) - sum(rest), len(rest)),
    }


async def measured(options: argparse.Namespace) -> list[Row]:
    settings = settings_with(options.embed or "")
    embedder = await open_embedder(settings)
    try:
        rows = await demo_rows(settings, embedder)
        if options.generated is not None:
            rows.append(await generated_row(options.generated, settings, embedder))
        return rows + (await locomo_rows(options.data, settings, embedder) if options.data else [])
    finally:
        await embedder.close()


def main() -> None:
    parser = parser_of(__doc__, "json")
    parser.add_argument("--data", type=Path, help="folder with locomo/; without it only the demo is measured")
    parser.add_argument("--generated", type=int, metavar="SEED", help="also a generated corpus of this seed")
    parser.add_argument(
        "--embed", metavar="MODEL", help="also search by meaning, with this sentence-transformers model or folder"
    )
    options = parser.parse_args()
    told(asyncio.run(measured(options)), options.json)


if __name__ == "__main__":
    main()
