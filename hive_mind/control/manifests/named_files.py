"""Files that a manifest names: rules (`spec.ruleFiles`), workers (`agents[].worker`) and a measured configuration of retrieval
(`spec.retrieval.config`). Their contents become ordinary fields of the manifest when it is used.

So code that runs, renders or compares manifests knows nothing of files: where a file changed, the fields did.
"""

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from hive_mind.agents import workers
from hive_mind.agents.judging.functions import parted
from hive_mind.agents.judging.rules_at_work import rules_in
from hive_mind.control.manifests.checking import leads_out
from hive_mind.control.manifests.manifest import RANKED, Agent, HiveManifest
from hive_mind.control.manifests.sources import matching
from hive_mind.errors import InvalidInput, RuleError, WorkerFileError, WorkspaceError
from hive_mind.forms.reading import text_of
from hive_mind.forms.tree import Finding
from hive_mind.retrieval.files.changing import beyond_a_memory, config_in, ranking_settings
from hive_mind.retrieval.files.configuration import Retrieval, RetrievalConfig
from hive_mind.runs.graphs.worker_file import WORKER, worker_of


def with_named_files(manifest: HiveManifest, folder: Path) -> HiveManifest:
    """The same with what its files say; `folder` is that of the manifest.

    Raises `RuleError`, `WorkerFileError`, `WorkspaceError` or `InvalidInput`.
    """
    return _with_functions(_with_workers(_with_rules(_with_retrieval(manifest, folder), folder), folder), folder)


def file_findings(manifest: HiveManifest, folder: Path) -> Iterator[Finding]:
    """Mistakes in the files, as mistakes of the fields that name them."""
    yield from _retrieval_findings(manifest, folder)
    yield from _rule_findings(manifest, folder)
    yield from _worker_findings(manifest, folder)
    yield from _function_findings(manifest, folder)


def without_effect(manifest: HiveManifest, folder: Path) -> tuple[str, ...]:
    """Parts of its retrieval configuration that a fleet ignores, one clause each. Raises `WorkspaceError` or `InvalidInput`."""
    if not manifest.spec.retrieval.config:
        return ()
    config, usual = _config(manifest, folder), Retrieval()
    names = [name for name in ("method", "top_k") if getattr(config.retrieval, name) != getattr(usual, name)]
    return (*(f"retrieval.{name}: it is given with each question" for name in names), *beyond_a_memory(config))


def _changed(manifest: HiveManifest, **fields: object) -> HiveManifest:
    return manifest.model_copy(update={"spec": manifest.spec.model_copy(update=fields)})


def _with_rules(manifest: HiveManifest, folder: Path) -> HiveManifest:
    files = [file for pattern in manifest.spec.rule_files for file in _files(pattern, folder)]
    rules = [*manifest.spec.rules, *(rule for file in files for rule in rules_in(file))]
    return _changed(manifest, rules=rules, rule_files=[]) if files else manifest


def _rule_findings(manifest: HiveManifest, folder: Path) -> Iterator[Finding]:
    first = {rule.id: "spec.rules" for rule in manifest.spec.rules}
    for number, pattern in enumerate(manifest.spec.rule_files):
        if not leads_out(pattern):
            for message in _wrong(pattern, folder, first, has_facts=manifest.spec.judge.facts != "off"):
                yield Finding(("spec", "ruleFiles", number), message)


def _wrong(pattern: str, folder: Path, first: dict[str, str], *, has_facts: bool) -> Iterator[str]:
    try:
        files = _files(pattern, folder)
    except (InvalidInput, OSError, ValueError) as error:
        yield str(error)
        return
    for file in files:
        try:
            rules = rules_in(file)
        except RuleError as error:
            yield from (problem.in_file(error.file) for problem in error.problems)
        except InvalidInput as error:
            yield str(error)
        else:
            repeated_ids = [rule.id for rule in rules if first.setdefault(rule.id, str(file)) != str(file)]
            yield from (f"{file}: rule {id} stands in {first[id]}, too; choose another id" for id in repeated_ids)
            idle = [rule.id for rule in rules if rule.on == "fact" and not has_facts]
            yield from (f"{file}: rule {id} is about facts, which nobody judges here; set judge.facts" for id in idle)


def _files(pattern: str, folder: Path) -> list[Path]:
    paths = sorted(matching(pattern, folder))
    if not paths:
        raise InvalidInput(f"nothing is there, relative to {folder}; correct the path, or create the file")
    return paths


def _with_functions(manifest: HiveManifest, folder: Path) -> HiveManifest:
    """Their files are named from the root: a process has no folder of the manifest."""
    judge = manifest.spec.judge
    if not any(parted(place)[0].endswith(".py") for place in judge.functions.values()):
        return manifest
    functions = {name: _from_root(place, folder) for name, place in judge.functions.items()}
    return _changed(manifest, judge=judge.model_copy(update={"functions": functions}))


def _from_root(place: str, folder: Path) -> str:
    where, name = parted(place)
    return f"{(folder / where).resolve()}:{name}" if where.endswith(".py") else place


def _function_findings(manifest: HiveManifest, folder: Path) -> Iterator[Finding]:
    """A file that is not there. Nothing is loaded to look at it."""
    for name, place in manifest.spec.judge.functions.items():
        with suppress(InvalidInput):
            where, _ = parted(place)
            if where.endswith(".py") and not leads_out(where) and not (folder / where).is_file():
                message = f"there is no file {where!r}, relative to {folder}; correct the path, or create the file"
                yield Finding(("spec", "judge", "functions", name), message)


def _with_workers(manifest: HiveManifest, folder: Path) -> HiveManifest:
    if not any(agent.worker for agent in manifest.spec.agents):
        return manifest
    return _changed(manifest, agents=[_with_worker(agent, folder, manifest) for agent in manifest.spec.agents])


def _worker_findings(manifest: HiveManifest, folder: Path) -> Iterator[Finding]:
    for number, agent in enumerate(manifest.spec.agents):
        path = ("spec", "agents", number, "worker")
        if agent.worker and not leads_out(agent.worker):
            try:
                _with_worker(agent, folder, manifest)
            except WorkerFileError as error:
                yield from (Finding(path, problem.in_file(error.file)) for problem in error.problems)
            except (InvalidInput, OSError, ValueError) as error:
                yield Finding(path, str(error))


def _with_worker(agent: Agent, folder: Path, manifest: HiveManifest) -> Agent:
    if not agent.worker or agent.worker.startswith("{"):
        return agent
    spec = worker_of(*_worker_text(agent.worker, folder), functions=manifest.spec.judge.functions)
    form = spec.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    return agent.model_copy(update={"worker": json.dumps(form, sort_keys=True)})


def _worker_text(worker: str, folder: Path) -> tuple[str, str]:
    """The text of a worker, and what its file is called."""
    file = folder / worker
    if worker in workers.bundled() and not file.exists():
        return workers.text_of(worker), worker
    if not file.is_file():
        bundled_names = ", ".join(workers.bundled())
        raise InvalidInput(
            f"there is no file {worker!r}, relative to {folder}; give one of kind Worker, or one of {bundled_names}"
        )
    text, problems = text_of(file, WORKER)
    if problems:
        raise WorkerFileError(problems, str(file))
    return text, str(file)


def _with_retrieval(manifest: HiveManifest, folder: Path) -> HiveManifest:
    if not manifest.spec.retrieval.config:
        return manifest
    ranked = ranking_settings(_config(manifest, folder))
    fields = {name: getattr(ranked, name) for name in RANKED}
    return _changed(manifest, retrieval=manifest.spec.retrieval.model_copy(update=fields))


def _retrieval_findings(manifest: HiveManifest, folder: Path) -> Iterator[Finding]:
    if leads_out(manifest.spec.retrieval.config):
        return
    path = ("spec", "retrieval", "config")
    try:
        _with_retrieval(manifest, folder)
    except WorkspaceError as error:
        yield from (Finding(path, problem.in_file(error.file)) for problem in error.problems)
    except InvalidInput as error:
        yield Finding(path, str(error))


def _config(manifest: HiveManifest, folder: Path) -> RetrievalConfig:
    config = manifest.spec.retrieval.config
    try:
        file = folder / Path(config).expanduser()
        is_there = file.is_file()
    except (OSError, ValueError, RuntimeError) as error:
        raise InvalidInput(f"is not the path of a file: {error}") from error
    if not is_there:
        raise InvalidInput(f"no file is there, relative to {folder}; correct the path, or create the file")
    return config_in(file)
