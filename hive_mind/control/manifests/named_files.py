"""Things that a manifest names: files, variables, sources and packages, and whether the world has them and allows them.

The contents of files (`spec.ruleFiles`, `agents[].worker`, `spec.retrieval.config`) become ordinary fields of the manifest when
it is used, so code that runs, renders or compares manifests knows nothing of files. A secret is given by reference, so that the
manifest can be kept, shown and compared: no message repeats what may be one.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path

from hive_mind import backends
from hive_mind.agents import runs
from hive_mind.agents.judging import parted
from hive_mind.agents.judging.rules_at_work import rules_in
from hive_mind.bus.address import address_of
from hive_mind.control.manifests import RANKED, Agent, HiveManifest
from hive_mind.control.manifests.bus_checking import is_in_cloud
from hive_mind.control.manifests.checking import leads_out
from hive_mind.control.manifests.sources import is_linked_out, matching
from hive_mind.errors import (
    BackendError,
    BackendNotInstalled,
    InvalidInput,
    RuleError,
    WorkerFileError,
    WorkspaceError,
    reason_of,
    sentence_of,
)
from hive_mind.forms import Finding, Tree
from hive_mind.forms import Path as TreePath
from hive_mind.forms.reading import text_of
from hive_mind.memory.gate.sensitive import credential_in
from hive_mind.regex import regex
from hive_mind.retrieval import Retrieval, RetrievalConfig
from hive_mind.retrieval.workspace import beyond_a_memory, config_in, ranking_settings
from hive_mind.runs.worker_file import WORKER, worker_of
from hive_mind.runtime.secrets import Reference, references_in, resolved_here
from hive_mind.runtime.settings import variable

# Sections whose texts are resolved where they are used. Elsewhere a reference would stay as it is.
_RESOLVED = frozenset("bus embedding llm mcp notify observability".split())
_RESOLVED_OF_AGENT = frozenset("prompt model env".split())
_SECRET = frozenset((("bus", "credential"), ("bus", "searchesCredential"), ("embedding", "key"), ("llm", "key")))
# In a connection string of Azure: which key it is, not the key.
_NAME_OF_A_KEY = "SharedAccessKeyName="
_REFERENCE = regex(r"(?<!\$)\$\{[^{}]*\}")


def texts(tree: Tree, path: TreePath = ()) -> Iterator[tuple[TreePath, str]]:
    if isinstance(tree.value, str):
        yield path, tree.value
    for step, part in tree.parts.items():
        yield from texts(part, (*path, step))


def text_findings(tree: Tree) -> Iterator[Finding]:
    for path, text in texts(tree):
        yield from _references(path, text)
        if not _holds_secret(path, text):
            continue
        if _is_key(path):
            yield Finding(
                path, "has to be a reference, so that no secret is kept here: ${env:NAME}, ${credential:NAME} or ${file:PATH}"
            )
        else:
            remedy = "keep it with hive-mind credentials set NAME, and write ${credential:NAME}, or ${env:NAME} or ${file:PATH}"
            yield Finding(path, f"holds a credential; {remedy}")


def references(text: str) -> tuple[Reference, ...]:
    """References in a text; empty where one is malformed, which is reported elsewhere."""
    try:
        return references_in(text)
    except InvalidInput:
        return ()


def _references(path: TreePath, text: str) -> Iterator[Finding]:
    if "${" not in text:
        return
    if not _is_resolved(path):
        yield Finding(path, "a reference has no effect here; write the value itself")
        return
    try:
        found_references = references_in(text)
    except InvalidInput as error:
        yield Finding(path, str(error))
        return
    for reference in found_references:
        if reference.kind == "file" and leads_out(reference.name):
            yield Finding(path, f"{reference} leads out of the manifest's folder; if that is meant, write the whole path from /")


def _is_resolved(path: TreePath) -> bool:
    match path:
        case ("spec", "agents", int(), "triggers", int(), "token"):
            return True
        case ("spec", "agents", int(), field, *_):
            return field in _RESOLVED_OF_AGENT
        case ("spec", section, *_):
            return section in _RESOLVED
        case _:
            return False


def _is_key(path: TreePath) -> bool:
    return path[:1] == ("spec",) and (path[1:] in _SECRET or path[-3::2] == ("triggers", "token"))


def _holds_secret(path: TreePath, text: str) -> bool:
    around = _REFERENCE.sub("", text)
    if _is_key(path):
        parts = (part for part in around.split(";") if not part.startswith(_NAME_OF_A_KEY))
        return bool(text) and (around == text or any(map(credential_in, parts)))
    is_named = path[-2:-1] in (("env",), ("labels",))
    return bool(credential_in(f"{path[-1]}={around}" if is_named else around))


def missing(manifest: HiveManifest, tree: Tree, folder: Path, home: Path | None = None) -> Iterator[Finding]:
    """All of it. Things that a container has to find in its own world are not looked for in this one."""
    yield from unresolved(manifest, tree, folder, home)
    yield from _not_allowed(manifest)
    yield from _unmatched(manifest, folder)


def unresolved(manifest: HiveManifest, tree: Tree, folder: Path, home: Path | None = None) -> Iterator[Finding]:
    """References that stand for nothing here."""
    if is_in_cloud(manifest):
        return
    for path, text in texts(tree):
        for reference in references(text) if "${" in text else ():
            if reference.kind == "file" and leads_out(reference.name):
                continue
            try:
                resolved_here(str(reference), folder, home)
            except (InvalidInput, BackendNotInstalled, BackendError) as error:
                yield Finding(path, str(error))


def refuse_uninstalled(manifest: HiveManifest) -> None:
    """Raises `BackendNotInstalled` for a bus whose packages are missing here, where the processes will be."""
    if is_in_cloud(manifest):
        return
    for url in filter(None, (manifest.spec.bus.url, manifest.spec.bus.searches)):
        if not url.startswith("${"):
            backends.load("bus", address_of(url).backend)


def _not_allowed(manifest: HiveManifest) -> Iterator[Finding]:
    allowed_names = variable(ALLOWED) or ""
    for number, agent in enumerate(manifest.spec.agents):
        # `contradictions` tells of what is no name, and of names of ours.
        names = [name for name in agent.env if name.isidentifier() and not name.startswith("HIVE_MIND_")]
        for name in names:
            if harm := _harm_of(name, allowed_names):
                yield Finding(("spec", "agents", number, "env", name), f"{harm} where you run hive-mind: {ALLOWED}={name}")


def _unmatched(manifest: HiveManifest, folder: Path) -> Iterator[Finding]:
    for number, agent in enumerate(manifest.spec.agents):
        for at, source in enumerate(agent.sources):
            if not source.strip() or "://" in source or leads_out(source):
                continue
            if is_linked_out(source, folder):
                message = "is a link out of the manifest's folder; if that is meant, write the whole path from /"
                yield Finding(("spec", "agents", number, "sources", at), message)
                continue
            try:
                is_there = any(True for _ in matching(source, folder))
            except (InvalidInput, OSError, ValueError) as error:
                # Looking through a whole disk takes seconds; once is enough.
                yield Finding(("spec", "agents", number, "sources", at), sentence_of(error))
                return
            if not is_there:
                message = f"nothing is there, relative to {folder}; correct the path, or create the file"
                yield Finding(("spec", "agents", number, "sources", at), message)


ALLOWED = "HIVE_MIND_ENV_ALLOWED"
"""More names, with commas between them; `*` stands for any letters."""

_VALUES = frozenset(
    "KEY TOKEN SECRET PASSWORD LOGIN USER USERNAME ID NAME REGION VERSION MODEL MODE LEVEL ORG ORGANIZATION PROJECT TENANT "
    "DEPLOYMENT TIMEOUT OFFLINE PARALLELISM THREADS LANG TZ".split()
)
_ADDRESSES = frozenset("URL URI ENDPOINT HOST PORT PROXY".split())


def _harm_of(name: str, allowed_names: str) -> str:
    """Why a manifest may not set this variable for a worker; "" where it may. `more`: names that the person who runs it allows.

    The names of plain values that libraries and tools read end in certain words. An address leads what a library sends, keys and
    questions and all, to somebody else (`HTTPS_PROXY`, `HF_ENDPOINT`, `OPENAI_BASE_URL`, …). Anything else may be read by the
    interpreter, the loader, a TLS library or a shell, and run other code in the worker or trust another certificate
    (`PYTHONPATH`, `LD_PRELOAD`, `BASH_ENV`, `SSL_CERT_FILE`, …); nobody knows all of those.
    """
    end = name.upper().rpartition("_")[2]
    patterns = (pattern.strip() for pattern in allowed_names.split(","))
    if end in _VALUES or any(fnmatchcase(name, pattern) for pattern in patterns if pattern):
        return ""
    if end in _ADDRESSES:
        return "may lead what its process sends, keys too, to another address; if that is meant, allow it"
    return "may make its process run other code; name it by what it is (_TOKEN, _LEVEL, …), or allow it"


def with_named_files(manifest: HiveManifest, folder: Path) -> HiveManifest:
    """The same with what its files say; `folder` is that of the manifest.

    Raises `RuleError`, `WorkerFileError`, `WorkspaceError` or `InvalidInput`.
    """
    manifest = _with_retrieval(manifest, folder)
    judge, fields = manifest.spec.judge, dict[str, object]()
    if files := [file for pattern in manifest.spec.rule_files for file in _files(pattern, folder)]:
        rules = [*manifest.spec.rules, *(rule for file in files for rule in rules_in(file))]
        fields |= {"rules": rules, "rule_files": []}
    if any(agent.worker for agent in manifest.spec.agents):
        fields["agents"] = [_with_worker(agent, folder, manifest) for agent in manifest.spec.agents]
    # Files are named from the root: a process has no folder of the manifest.
    functions = {
        name: f"{(folder / where).resolve()}:{function}" if where.endswith(".py") else place
        for name, place in judge.functions.items()
        for where, function in [parted(place)]
    }
    if functions != judge.functions:
        fields["judge"] = judge.model_copy(update={"functions": functions})
    return _changed(manifest, **fields)


def file_findings(manifest: HiveManifest, folder: Path) -> Iterator[Finding]:
    if not leads_out(manifest.spec.retrieval.config):
        yield from _failing(("spec", "retrieval", "config"), lambda: _with_retrieval(manifest, folder))
    first = {rule.id: "spec.rules" for rule in manifest.spec.rules}
    for number, pattern in enumerate(manifest.spec.rule_files):
        if not leads_out(pattern):
            for message in _wrong(pattern, folder, first, has_facts=manifest.spec.judge.facts != "off"):
                yield Finding(("spec", "ruleFiles", number), message)
    for number, agent in enumerate(manifest.spec.agents):
        if agent.worker and not leads_out(agent.worker):
            yield from _failing(("spec", "agents", number, "worker"), partial(_with_worker, agent, folder, manifest))
    for name, place in manifest.spec.judge.functions.items():
        with suppress(InvalidInput):
            # Nothing is loaded to look at it.
            where, _ = parted(place)
            if where.endswith(".py") and not leads_out(where) and not (folder / where).is_file():
                message = f"there is no file {where!r}, relative to {folder}; correct the path, or create the file"
                yield Finding(("spec", "judge", "functions", name), message)


def _failing(path: TreePath, read: Callable[[], object]) -> Iterator[Finding]:
    """The mistakes of a file that is named there."""
    try:
        read()
    except (WorkerFileError, WorkspaceError) as error:
        yield from (Finding(path, problem.in_file(error.file)) for problem in error.problems)
    except (InvalidInput, OSError, ValueError) as error:
        yield Finding(path, sentence_of(error))


def without_effect(manifest: HiveManifest, folder: Path) -> tuple[str, ...]:
    """Parts of its retrieval configuration that a fleet ignores, one clause each. Raises `WorkspaceError` or `InvalidInput`."""
    if not manifest.spec.retrieval.config:
        return ()
    config, usual = _config(manifest, folder), Retrieval()
    names = [name for name in ("method", "top_k") if getattr(config.retrieval, name) != getattr(usual, name)]
    return (*(f"retrieval.{name}: it is given with each question" for name in names), *beyond_a_memory(config))


def _changed(manifest: HiveManifest, **fields: object) -> HiveManifest:
    return manifest.model_copy(update={"spec": manifest.spec.model_copy(update=fields)})


def _wrong(pattern: str, folder: Path, first: dict[str, str], *, has_facts: bool) -> Iterator[str]:
    try:
        files = _files(pattern, folder)
    except (InvalidInput, OSError, ValueError) as error:
        yield sentence_of(error)
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


def _with_worker(agent: Agent, folder: Path, manifest: HiveManifest) -> Agent:
    if not agent.worker or agent.worker.startswith("{"):
        return agent
    spec = worker_of(*_worker_text(agent.worker, folder), functions=manifest.spec.judge.functions)
    form = spec.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    return agent.model_copy(update={"worker": json.dumps(form, sort_keys=True)})


def _worker_text(worker: str, folder: Path) -> tuple[str, str]:
    file = folder / worker
    if worker in runs.bundled() and not file.exists():
        return runs.text_of(worker), worker
    if not file.is_file():
        bundled_names = ", ".join(runs.bundled())
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


def _config(manifest: HiveManifest, folder: Path) -> RetrievalConfig:
    config = manifest.spec.retrieval.config
    try:
        file = folder / Path(config).expanduser()
        is_there = file.is_file()
    except (OSError, ValueError, RuntimeError) as error:
        raise InvalidInput(f"is not the path of a file: {reason_of(error)}") from error
    if not is_there:
        raise InvalidInput(f"no file is there, relative to {folder}; correct the path, or create the file")
    return config_in(file)
