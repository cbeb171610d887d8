"""`spec.retrieval.config`: a configuration that a retrieval workspace measured and deployed, for what a fleet's agents remember.

What it says becomes ordinary fields of the manifest, so code that runs, renders or compares them knows nothing of a file. That is
read whenever the manifest is used: where it changed, those fields did.
"""

from collections.abc import Iterator
from pathlib import Path

from hive_mind.control.manifests.checking import leads_out
from hive_mind.control.manifests.manifest import RANKED, HiveManifest
from hive_mind.errors import InvalidInput, WorkspaceError
from hive_mind.forms.finding import Finding
from hive_mind.retrieval.files.configuration import Retrieval, RetrievalConfig
from hive_mind.retrieval.files.memory_settings import beyond_a_memory, config_in, ranking_settings


def with_its_file(manifest: HiveManifest, folder: Path) -> HiveManifest:
    """The same with what the file says; `folder` is that of the manifest. Raises `WorkspaceError` or `InvalidInput`."""
    if not manifest.spec.retrieval.config:
        return manifest
    ranked = ranking_settings(_config(manifest, folder))
    retrieval = manifest.spec.retrieval.model_copy(update={name: getattr(ranked, name) for name in RANKED})
    return manifest.model_copy(update={"spec": manifest.spec.model_copy(update={"retrieval": retrieval})})


def file_findings(manifest: HiveManifest, folder: Path) -> Iterator[Finding]:
    """What is wrong with the file, as mistakes of the field that names it."""
    if leads_out(manifest.spec.retrieval.config):
        return
    path = ("spec", "retrieval", "config")
    try:
        with_its_file(manifest, folder)
    except WorkspaceError as error:
        for one in error.problems:
            yield Finding(path, one.told(error.file))
    except InvalidInput as error:
        yield Finding(path, str(error))


def without_effect(manifest: HiveManifest, folder: Path) -> tuple[str, ...]:
    """What of the file a fleet does not heed, one clause each. Raises `WorkspaceError` or `InvalidInput`."""
    if not manifest.spec.retrieval.config:
        return ()
    config, usual = _config(manifest, folder), Retrieval()
    asked = [name for name in ("method", "top_k") if getattr(config.retrieval, name) != getattr(usual, name)]
    return (*(f"retrieval.{name}: it is given with each question" for name in asked), *beyond_a_memory(config))


def _config(manifest: HiveManifest, folder: Path) -> RetrievalConfig:
    written = manifest.spec.retrieval.config
    try:
        file = folder / Path(written).expanduser()
        is_there = file.is_file()
    except (OSError, ValueError, RuntimeError) as error:
        raise InvalidInput(f"is no path of a file: {error}") from error
    if not is_there:
        raise InvalidInput(f"no file is there, seen from {folder}; correct the path, or make the file")
    return config_in(file)
