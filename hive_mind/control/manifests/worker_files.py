"""`agents[].worker`: workers that are kept in files of their own. What they say is read when a manifest is used.

Code that runs, renders or compares manifests gets the text of the file: where a file changed, the worker did.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from hive_mind.agents.workers import bundled, text_of
from hive_mind.control.manifests.checking import leads_out
from hive_mind.control.manifests.manifest import Agent, HiveManifest
from hive_mind.errors import InvalidInput, WorkerFileError
from hive_mind.forms import reading
from hive_mind.forms.finding import Finding
from hive_mind.runs.graphs.worker_file import WORKER, worker_of


def with_workers(manifest: HiveManifest, folder: Path) -> HiveManifest:
    """The same with what worker files say, as JSON; `folder` is the manifest's. Raises `WorkerFileError` or `InvalidInput`."""
    if not any(agent.worker for agent in manifest.spec.agents):
        return manifest
    agents = [_with_worker(agent, folder) for agent in manifest.spec.agents]
    return manifest.model_copy(update={"spec": manifest.spec.model_copy(update={"agents": agents})})


def worker_findings(manifest: HiveManifest, folder: Path) -> Iterator[Finding]:
    """What is wrong with the files, as mistakes of the fields that name them."""
    for number, agent in enumerate(manifest.spec.agents):
        if agent.worker and not leads_out(agent.worker):
            try:
                _with_worker(agent, folder)
            except WorkerFileError as error:
                for one in error.problems:
                    yield Finding(("spec", "agents", number, "worker"), one.told(error.file))
            except (InvalidInput, OSError, ValueError) as error:
                yield Finding(("spec", "agents", number, "worker"), str(error))


def _with_worker(agent: Agent, folder: Path) -> Agent:
    if not agent.worker or agent.worker.startswith("{"):
        return agent
    spec = worker_of(*_text(agent.worker, folder))
    told = spec.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    return agent.model_copy(update={"worker": json.dumps(told, sort_keys=True)})


def _text(given: str, folder: Path) -> tuple[str, str]:
    """The text of a worker, and what its file is called."""
    file = folder / given
    if given in bundled() and not file.exists():
        return text_of(given), given
    if not file.is_file():
        known = ", ".join(bundled())
        raise InvalidInput(f"there is no file {given!r}, seen from {folder}; give one of kind Worker, or one of {known}")
    text, problems = reading.text_of(file, WORKER)
    if problems:
        raise WorkerFileError(problems, str(file))
    return text, str(file)
