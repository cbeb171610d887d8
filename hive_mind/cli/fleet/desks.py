"""At whose desk people decide for an agent: in a fleet whose facts are judged, at one for all of them."""

from pathlib import Path

from hive_mind.cli.fleet.fleets import fleets_in


def desks_in(home: Path) -> dict[str, str]:
    """The agent that has the desk, by agent; of fleets that have none, nothing. Raises `InvalidInput` for a damaged file."""
    found: dict[str, str] = {}
    for fleet in fleets_in(home):
        found |= _of(home, fleet)
    return found


def _of(home: Path, fleet: str) -> dict[str, str]:
    # They bring libraries that take long to load.
    from hive_mind.control.state import FleetFolder
    from hive_mind.runtime.workers.config import read_config

    configs = [read_config(path) for path in sorted(FleetFolder(home, fleet).config.glob("*.json"))]
    return {agent.name: one.review.desk.agent for one in configs if one.review.desk.agent for agent in one.agents}
