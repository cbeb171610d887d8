"""Write the configurations of deploy/compose.yaml from its manifest: `python -m tests.unit.deploy.compose_configs`."""

from pathlib import Path

import msgspec

from hive_mind.control.manifests.reading import read_text
from hive_mind.control.planning.desired import desired
from hive_mind.control.platforms.in_containers import HOME, RUN
from hive_mind.control.state import FleetState

FOLDER = Path(__file__).parents[3] / "deploy" / "compose"
# One network, so a port each.
_FIRST_PORT = 8081


def configs() -> dict[str, str]:
    """Files by name, as they should be."""
    manifest = read_text((FOLDER / "hive.yaml").read_text("utf-8"), FOLDER, "hive.yaml").manifest
    wanted = desired(manifest, str(FOLDER), HOME, FleetState(), {}, run=RUN).processes
    return {
        f"{name}.json": msgspec.structs.replace(config, seen=msgspec.structs.replace(config.seen, port=port)).packed().decode()
        + "\n"
        for port, (name, config) in enumerate(sorted(wanted.items()), _FIRST_PORT)
    }


if __name__ == "__main__":
    for name, text in configs().items():
        (FOLDER / name).write_text(text, "utf-8")
