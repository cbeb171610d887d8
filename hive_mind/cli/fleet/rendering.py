"""`hive-mind apply --render`: what Compose or a cloud needs to run the fleet, as files to look at, to keep, and to apply."""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from hive_mind.cli.output import say, show
from hive_mind.counted import counted
from hive_mind.errors import InvalidInput

if TYPE_CHECKING:
    from hive_mind.control.manifests.reading import Source
    from hive_mind.runtime.workers.config import WorkerConfig

# Where containers keep what they keep, and say where they are.
_HOME, _RUN = "/var/lib/hive-mind", "/run/hive-mind"
_NEXT = {
    "compose": "next: do what {0}/compose.yaml says in its head, then: docker compose -f {0}/compose.yaml up --wait",
    "kubernetes": "next: kubectl apply -k {}",
    "containerapps": "next: az deployment group create -g GROUP -f deploy/azure/main.bicep -p @{}/parameters.json",
}
_SUFFIXES = frozenset({".yaml", ".yml", ".json", ".bicep", ".bicepparam"})


async def render_into(source: "Source", folder: Path) -> None:
    """Write the files. Other files of the folder stay. Raises `ConfigError`."""
    try:
        files = rendered(source, _texts_in(folder))
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
    except OSError as error:
        raise InvalidInput(f"{folder} can't be written to: {error}") from error
    for name in files:
        show(str(folder / name))
    say(f"{counted(len(files), 'file')} written, nothing was started. Keep them: to render again goes on from them")
    say(_NEXT[source.manifest.spec.platform.kind].format(folder))


def rendered(source: "Source", before: "Mapping[str, str]") -> "Mapping[str, str]":
    """Texts by file name. `before` are those of last time: a hive is founded once. Raises `ConfigError`."""
    kind = source.manifest.spec.platform.kind
    if kind not in _NEXT:
        raise InvalidInput(f"--render is for platform compose, containerapps or kubernetes; this fleet's is {kind}")
    # They have the same two functions.
    platform = import_module(f"hive_mind.control.platforms.{kind}")
    files: Mapping[str, str] = platform.render(source, _configs(source, platform.configs_in(before)), before)
    return files


def _texts_in(folder: Path) -> dict[str, str]:
    """What is in the folder and may have been rendered."""
    found = (path for path in sorted(folder.rglob("*")) if path.suffix in _SUFFIXES and path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_text("utf-8", "replace") for path in found}


def _configs(source: "Source", before: "Mapping[str, WorkerConfig]") -> "Mapping[str, WorkerConfig]":
    from hive_mind.control.manifests.expansion import expanded
    from hive_mind.control.manifests.sources import SourceReader
    from hive_mind.control.planning.desired import desired
    from hive_mind.control.rendered import remembered

    wanted = {agent.name: agent.sources for agent in expanded(source.manifest)}
    sources = SourceReader().read(wanted, source.folder)
    return desired(source.manifest, source.folder, _HOME, remembered(before), sources, run=_RUN).processes
