"""The demo with several agents: each learns a part of the little world, and one answers from what all of them shared."""

from collections.abc import Sequence
from pathlib import Path

from hive_mind.agents.agent import LearningAgent
from hive_mind.cli.demo.results import ask, plain_result, show_question, show_summary
from hive_mind.cli.output import plain, progress, show, show_json, show_prose
from hive_mind.cognition.extractive import ExtractiveReader
from hive_mind.counted import counted
from hive_mind.evals.demo import DemoQuestion, documents, questions
from hive_mind.evals.demo.scoring import DemoResult, summaries
from hive_mind.hive.topology.spec import spec_of
from hive_mind.model.answer import Answer
from hive_mind.runtime.members.fleet import Fleet, FleetPlan, open_fleet
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import open_embedder

_SHOWN = 3

Result = tuple[DemoQuestion, Answer, DemoResult]


async def show_fleet(plan: FleetPlan, settings: Settings, keep: Path | None, *, is_text: bool) -> None:
    """Learn apart, ask together, measure."""
    embedder = await open_embedder(settings)
    try:
        async with await open_fleet(settings, plan, embedder) as fleet:
            agents = {name: LearningAgent(name, memory, ExtractiveReader()) for name, memory in fleet.memories.items()}
            learned = await _learn(agents)
            await fleet.settled()
            asker = next(iter(agents))
            results = [(question, *await ask(agents[asker], question)) for question in questions()]
            held = {name: (await memory.get_statistics()).facts for name, memory in fleet.memories.items()}
            report = _report(plan, fleet, held, results)
    finally:
        await embedder.close()
    if not is_text:
        show_json(report)
        return
    _show(plan, report, learned, asker, results)
    if keep:
        show(f"\nKept in {keep}.", style="dim")


async def _learn(agents: dict[str, LearningAgent]) -> dict[str, str]:
    """Learn all documents; the agent of each."""
    contents = documents()
    learned: dict[str, str] = {}
    with progress("documents") as report:
        for number, content in enumerate(contents):
            name, agent = list(agents.items())[number % len(agents)]
            report(number, len(contents), f"{name}: {content.source}")
            await agent.learn_from_content(content)
            learned[content.source] = name
    return learned


def _report(plan: FleetPlan, fleet: Fleet, held: dict[str, int], results: Sequence[Result]) -> dict[str, object]:
    topology = fleet.plan.build_topology()
    return {
        "topology": plan.topology,
        "agents": held,
        "nodes": list(topology.nodes) if topology else [],
        "asked_at_once": len(topology.read_set(plan.node_of(plan.agents[0]))) if topology else 0,
        "summary": plain(summaries(result for _, _, result in results)),
        "questions": [plain_result(*one) for one in results],
    }


def _show(plan: FleetPlan, report: dict[str, object], learned: dict[str, str], asker: str, results: Sequence[Result]) -> None:
    show(f"hive-mind demo, {plan.topology}", style="bold")
    show_prose(f"{counted(len(plan.agents), 'agent')} each learned a part of the documents. {spec_of(plan.topology).about}")
    held = report["agents"]
    assert isinstance(held, dict)  # noqa: S101 - made above
    for name, facts in held.items():
        sources = [source for source, learner in learned.items() if learner == name]
        show(f"  {name}: {counted(facts, 'fact')} from {', '.join(sources)}")
    show(f"\n{asker} answers, also from what it never read:")
    for question, answer, _ in _from_others(results, learned, asker)[:_SHOWN]:
        show_question(question, answer)
        learners = dict.fromkeys(learned[s] for hit in answer.sources for s in hit.fact.sources if s in learned)
        show(f"learned by {', '.join(learners)}", style="cyan")
    show_summary(summaries(result for _, _, result in results))


def _from_others(results: Sequence[Result], learned: dict[str, str], asker: str) -> list[Result]:
    """Right answers that rest on what another agent read."""
    return [
        one
        for one in results
        if one[2].is_right and one[1].sources and learned.get(one[1].sources[0].fact.sources[0], asker) != asker
    ]
