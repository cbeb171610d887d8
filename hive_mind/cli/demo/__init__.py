"""`hive-mind demo`: learn a small invented world, ask about it, and show how well the questions were answered.

Needs nothing, and keeps nothing unless a folder is given. With several agents each learns a part of the little world, and one
answers from what all of them shared.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from hive_mind.agents.agent import LearningAgent
from hive_mind.cli import options
from hive_mind.cli.asking.quick_ask import show_answer
from hive_mind.cli.options import Format, Group, settings_for
from hive_mind.cli.output import plain, progress, show, show_json, show_prose, show_table
from hive_mind.cognition.extractive import ExtractiveReader
from hive_mind.counted import counted
from hive_mind.errors import InvalidInput
from hive_mind.evals.arms import names_of
from hive_mind.evals.demo import DemoQuestion, DemoResult, Summary, documents, outcome, questions, summaries
from hive_mind.hive.topology.spec import NAMES, is_shared, spec_of
from hive_mind.model.gathered import Answer
from hive_mind.model.query import Query
from hive_mind.runtime.members.fleet import FleetPlan, open_fleet
from hive_mind.runtime.replies import answer_reply
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import open_agent, open_embedder
from hive_mind.safe_files import PassingFolder

_BORROWED_MAX = 3

Result = tuple[DemoQuestion, Answer, DemoResult]


async def show_fleet(plan: FleetPlan, settings: Settings, keep: Path | None, *, is_text: bool) -> None:
    """Learn apart, ask together, measure."""
    embedder = await open_embedder(settings)
    try:
        async with await open_fleet(settings, plan, embedder) as fleet:
            agents = {name: LearningAgent(name, memory, ExtractiveReader()) for name, memory in fleet.memories.items()}
            contents = documents()
            agents_by_source: dict[str, str] = {}
            with progress("documents") as report:
                for number, content in enumerate(contents):
                    name, agent = list(agents.items())[number % len(agents)]
                    report(number, len(contents), f"{name}: {content.source}")
                    await agent.learn_from_content(content)
                    agents_by_source[content.source] = name
            await fleet.settled()
            asker = next(iter(agents))
            results = [(question, *await ask(agents[asker], question)) for question in questions()]
            facts_by_agent = {name: (await memory.get_statistics()).facts for name, memory in fleet.memories.items()}
            topology = fleet.plan.build_topology()
            figures = {
                "topology": plan.topology,
                "agents": facts_by_agent,
                "nodes": list(topology.nodes) if topology else [],
                "asked_at_once": len(topology.read_set(plan.node_of(plan.agents[0]))) if topology else 0,
                "summary": plain(summaries(result for _, _, result in results)),
                "questions": [plain_result(*result) for result in results],
            }
    finally:
        await embedder.close()
    if not is_text:
        show_json(figures)
        return
    _show(plan, figures, agents_by_source, asker, results)
    if keep:
        show(f"\nKept in {keep}.", style="dim")


def _show(
    plan: FleetPlan, report: dict[str, object], agents_by_source: dict[str, str], asker: str, results: Sequence[Result]
) -> None:
    show(f"hive-mind demo, {plan.topology}", style="bold")
    show_prose(f"{counted(len(plan.agents), 'agent')} each learned a part of the documents. {spec_of(plan.topology).about}")
    agents = report["agents"]
    assert isinstance(agents, dict)  # noqa: S101 - made above
    for name, facts in agents.items():
        sources = [source for source, learner in agents_by_source.items() if learner == name]
        show(f"  {name}: {counted(facts, 'fact')} from {', '.join(sources)}")
    show(f"\n{asker} answers, also from what it never read:")
    for question, answer, _ in _from_others(results, agents_by_source, asker)[:_BORROWED_MAX]:
        show_question(question, answer)
        learners = dict.fromkeys(agents_by_source[s] for hit in answer.sources for s in hit.fact.sources if s in agents_by_source)
        show(f"learned by {', '.join(learners)}", style="cyan")
    show_summary(summaries(result for _, _, result in results))


def _from_others(results: Sequence[Result], agents_by_source: dict[str, str], asker: str) -> list[Result]:
    """Right answers that rest on what another agent read."""
    return [
        result
        for result in results
        if result[2].is_right and result[1].sources and agents_by_source.get(result[1].sources[0].fact.sources[0], asker) != asker
    ]


AGENT = "demo"

# A relative date, a code with a near twin, other words than the question has, a figure that changed, and what nobody ever said.
_SHOWN = ("q06", "q20", "q13", "q32", "q35")

_INTRODUCTION = """\
One agent reads {documents} short documents of an invented tidal power cooperative: chats, notes, an incident log. \
It uses no language model{but}: it keeps statements word for word, finds them by {by}, and quotes them."""

Keep = Annotated[Path | None, typer.Option(help="Keep the demo's agent in this folder, to ask it more.", show_default=False)]


Bus = Annotated[str, typer.Option("--bus", help="Run every agent as a process of its own, over this bus.", show_default=False)]


group = Group()


@group.called_as(
    "hive-mind demo",
    "hive-mind demo --topology sharded --agents 6",
    "hive-mind demo --bus redis://127.0.0.1:6379 --processes 4",
    "hive-mind demo --keep demo-home",
    "hive-mind demo --embed sentence_transformers",
)
async def demo(
    keep: Keep = None,
    topology: Annotated[str, typer.Option(help=f"How several agents share: {', '.join(NAMES)}.")] = "single",
    agents: Annotated[int, typer.Option(min=2, max=50, help="How many agents, where they share.")] = 4,
    bus: Bus = "",
    processes: Annotated[int, typer.Option(min=2, max=16, help="How many processes, with --bus.")] = 4,
    embed: Annotated[str, typer.Option("--embed", help="sentence_transformers or openai, to find by meaning as well.")] = "none",
    model: options.Model = None,
    output: options.Output = Format.TEXT,
) -> None:
    """See it work in a few seconds: learn an example, answer questions, measure.

    With a --topology in which agents share, several of them each learn a part of it, and one answers from what all have shared.
    With --bus each of them is a process of its own. Databases are temporary unless --keep says where to put them. Nothing else is
    needed or touched.
    """
    # They bring what reads workers and manifests, which only this command needs.
    from hive_mind.cli.demo.processes import ProcessesPlan, review, show_processes, show_review

    is_text = output is Format.TEXT
    if topology not in NAMES:
        raise InvalidInput(f"there is no topology {topology!r}; known: {', '.join(NAMES)}")
    with _folder(keep) as home:
        if bus:
            over = topology if is_shared(topology) else "sharded"
            await show_processes(ProcessesPlan(bus, over, names_of(processes), _settings(home, embed, model)), is_text=is_text)
            return
        if is_shared(topology):
            plan = FleetPlan(topology, names_of(agents), group_size=2)
            await show_fleet(plan, _settings(home, embed, model), keep, is_text=is_text)
            return
        async with await open_agent(_settings(home, embed, model), AGENT) as agent:
            counts = await _learn(agent)
            if is_text:
                _show_learned(counts, keep)
            answered_questions = [(question, *await ask(agent, question)) for question in questions()]
        reviewed = await review(_settings(home, embed, model), home)
    summary = summaries(result for _, _, result in answered_questions)
    if not is_text:
        show_json(
            counts
            | {
                "summary": plain(summary),
                "questions": [plain_result(*triple) for triple in answered_questions],
                "run": reviewed.document,
            }
        )
        return
    for question, answer, _ in (triple for name in _SHOWN for triple in answered_questions if triple[0].id == name):
        show_question(question, answer)
    show_summary(summary)
    show_review(reviewed)
    _show_next(keep)


def _settings(home: Path, embed: str, model: str | None) -> Settings:
    return replace(settings_for(home, embed, model), store="sqlite", ann="exact", llm="")


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    if keep is None:
        with PassingFolder() as folder:
            yield folder.path
        return
    if keep.exists() and not keep.is_dir():
        raise InvalidInput(f"{keep} is a file: give a folder to keep the demo in")
    yield keep


async def _learn(agent: LearningAgent) -> dict[str, object]:
    started = time.perf_counter()
    contents = documents()
    with progress("documents") as report:
        for number, content in enumerate(contents):
            report(number, len(contents), content.source)
            await agent.learn_from_content(content)
    statistics = await agent.memory.get_statistics()
    seconds = round(time.perf_counter() - started, 2)
    return {"documents": len(contents), "facts": statistics.facts, "seconds": seconds, "embedding": statistics.embedding}


def _show_learned(counts: dict[str, object], keep: Path | None) -> None:
    show("hive-mind demo", style="bold")
    model = counts["embedding"]
    but, by = ("", f"keywords and by meaning ({model})") if model else (" and no embeddings", "keywords")
    show_prose(_INTRODUCTION.format(documents=counts["documents"], but=but, by=by))
    where = f"kept in {keep}" if keep else "in a temporary database"
    show(f"\nLearned {counts['facts']} facts in {counts['seconds']} s, each with its source and time, {where}.")


def _show_next(keep: Path | None) -> None:
    show("\nWhat to type next", style="bold")
    ask_more = (
        f'hive-mind ask "What happened in INC-2025-011?" --agent {AGENT} --home {keep}'
        if keep
        else "hive-mind demo --keep demo-home"
    )
    rows = [
        (ask_more, "ask this world more" if keep else "the same, kept, so that you can ask more"),
        ("hive-mind learn notes/", "learn texts of your own"),
        ('hive-mind ask "…"', "and ask about them"),
        ("hive-mind doctor", "see how to get search by meaning, and answers by a model"),
    ]
    show_table(["", ""], [(f"  {call}", meaning) for call, meaning in rows])


MEASURED_HITS = 5
_SOURCES_SHOWN = 2

_LEGEND = """\
found@5: share of the evidence that is among the first five facts found. MRR: 1 / place of the first of it, averaged. \
answered: the answer holds what was asked for. "don't know": the agent declined to answer, which is right for the \
unanswerable questions and a miss for the others."""


async def ask(agent: LearningAgent, question: DemoQuestion) -> tuple[Answer, DemoResult]:
    """Put one question to an agent and judge its answer."""
    answer = await agent.answer_question(question.question)
    hits = await agent.memory.search_facts(Query(question.question, MEASURED_HITS))
    return answer, outcome(question, hits, answer)


def show_question(question: DemoQuestion, answer: Answer) -> None:
    """A question, its answer, and the first facts that rests on."""
    show(f"\nQ  {question.question}", style="bold")
    reply = plain(answer_reply(answer, ""))
    show_answer(reply | {"sources": reply["sources"][:_SOURCES_SHOWN]}, own="")


def show_summary(summary: Sequence[Summary]) -> None:
    """A line per kind of question."""
    show(f"\nHow well it found and answered all {summary[-1].questions} questions", style="bold")
    titles = ["kind", "questions", f"found@{MEASURED_HITS}", "MRR", "answered", "“don't know”"]
    show_table(titles, [_row(line) for line in summary], right=range(1, len(titles)))
    show_prose(_LEGEND, style="dim")


def _row(summary: Summary) -> tuple[str, ...]:
    recall, rank = ("–" if value is None else f"{value:.2f}" for value in (summary.recall, summary.reciprocal_rank))
    return summary.kind, str(summary.questions), recall, rank, str(summary.right), str(summary.unknown)


def plain_result(question: DemoQuestion, answer: Answer, result: DemoResult) -> dict[str, object]:
    return {
        "id": question.id,
        "kind": question.kind,
        "question": question.question,
        "answer": answer.text,
        "sources": [list(hit.fact.sources) for hit in answer.sources],
        "recall": result.recall,
        "reciprocal_rank": result.reciprocal_rank,
        "is_right": result.is_right,
    }
