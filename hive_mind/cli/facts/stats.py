"""`hive-mind stats`: what an agent's memory holds, in figures."""

from hive_mind.cli.asking.asked import asked_agent
from hive_mind.cli.facts.facts_asked import AskedFacts
from hive_mind.cli.fleet.agents import AnyEmbeddingAgent
from hive_mind.cli.options import Format, Group
from hive_mind.cli.output import plain, show, show_json, show_table
from hive_mind.counted import counted
from hive_mind.model.aggregation import MemoryStatistics
from hive_mind.runtime.agent_files import database_path

group = Group()


@group.called_as("hive-mind stats", "hive-mind stats --agent archive --output json")
async def stats(at: AnyEmbeddingAgent) -> None:
    """Count what the agent knows."""
    settings = at.settings()
    async with asked_agent(settings, at.fleet, at.agent) as agent:
        figures = await AskedFacts(agent).statistics()
    if at.output is Format.JSON:
        show_json({"agent": agent.name} | plain(figures))
        return
    show(f"Agent {agent.name!r} in {database_path(settings, agent.name)}", style="bold")
    show_table(["", "", ""], _rows(figures), right=[1])
    if figures.concepts:
        show("\nMost frequent concepts", style="bold")
        show_table(["", ""], [(str(count), concept) for concept, count in figures.concepts], right=[0])


def _rows(figures: MemoryStatistics) -> list[tuple[str, str, str]]:
    embedding = f"by {figures.embedding}, {figures.dimension} dimensions" if figures.embedding else "keyword search only"
    lacking = (
        f"; {counted(figures.without_vector, 'fact has', 'facts have')} none: hive-mind reembed" if figures.without_vector else ""
    )
    return [
        ("facts", f"{figures.facts:,}", "current, found by a search"),
        ("confirmed", f"{figures.confirmed:,}", "of them vouched for by more than one source"),
        ("superseded", f"{figures.superseded:,}", "replaced by something newer, or no longer said by their source"),
        ("retracted", f"{figures.retracted:,}", "taken back"),
        ("episodes", f"{figures.episodes:,}", "texts learned, kept word for word"),
        ("sources", f"{figures.sources:,}", "files or people who vouch"),
        ("entities", f"{figures.entities:,}", "names mentioned"),
        ("vectors", f"{figures.vectors:,}", embedding + lacking),
    ]
