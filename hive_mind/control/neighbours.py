"""Other fleets of the same home: an agent has one database, so it belongs to one of them."""

from hive_mind.control.manifests.expansion import expanded
from hive_mind.control.manifests.reading import Source
from hive_mind.control.state import FleetFolder, fleets
from hive_mind.errors import ManifestError, Problem


def refuse_taken_names(source: Source, folder: FleetFolder) -> None:
    """Raises `ManifestError` for agents that another fleet has, whether it runs or not."""
    mine = {agent.name for agent in expanded(source.manifest)}
    problems = []
    for other in fleets(folder.home):
        taken = sorted(mine & agents_of(FleetFolder(folder.home, other))) if other != folder.fleet else []
        if taken:
            named = ", ".join(taken[:5]) + (f" and {len(taken) - 5} more" if len(taken) > 5 else "")
            what = f"fleet {other!r} has {named} already: call them otherwise, purge that fleet, or use another home"
            problems.append(Problem("spec.agents", 0, what))
    if problems:
        raise ManifestError(problems, source.name)


def agents_of(folder: FleetFolder) -> set[str]:
    """Agents that a fleet has now; all that an archive brought, as long as that was not applied."""
    state = folder.state()
    allocated = {agent for nodes in state.allocation.values() for names in nodes.values() for agent in names}
    return allocated or set(state.agents)
