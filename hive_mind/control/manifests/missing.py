"""Mistakes in a text of a manifest wherever it stands: malformed references, and secrets in plain text.

A secret is given by reference, so that the manifest can be kept, shown and compared. No message repeats what may be one.

Things that a manifest names and the world lacks, or does not allow: variables, files, sources, packages.

Values are looked at and dropped.
"""

import pathlib
from collections.abc import Iterator
from fnmatch import fnmatchcase

from hive_mind import backends
from hive_mind.bus.address import address_of
from hive_mind.control.manifests.bus_checking import is_in_cloud
from hive_mind.control.manifests.checking import leads_out
from hive_mind.control.manifests.manifest import HiveManifest
from hive_mind.control.manifests.sources import is_linked_out, matching
from hive_mind.errors import BackendError, BackendNotInstalled, InvalidInput
from hive_mind.forms.tree import Finding, Path, Tree
from hive_mind.memory.gate.sensitive import credential_in
from hive_mind.regex import regex
from hive_mind.runtime.secrets.references import Reference, references_in, resolved_here
from hive_mind.runtime.settings import variable

# Sections whose texts are resolved where they are used. Elsewhere a reference would stay as it is.
_RESOLVED = frozenset("bus embedding llm mcp notify observability".split())
_RESOLVED_OF_AGENT = frozenset("prompt model env".split())
_SECRET = frozenset((("bus", "credential"), ("bus", "searchesCredential"), ("embedding", "key"), ("llm", "key")))
# In a connection string of Azure: which key it is, not the key.
_NAME_OF_A_KEY = "SharedAccessKeyName="
_REFERENCE = regex(r"(?<!\$)\$\{[^{}]*\}")


def texts(tree: Tree, path: Path = ()) -> Iterator[tuple[Path, str]]:
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


def _references(path: Path, text: str) -> Iterator[Finding]:
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


def _is_resolved(path: Path) -> bool:
    match path:
        case ("spec", "agents", int(), "triggers", int(), "token"):
            return True
        case ("spec", "agents", int(), field, *_):
            return field in _RESOLVED_OF_AGENT
        case ("spec", section, *_):
            return section in _RESOLVED
        case _:
            return False


def _is_key(path: Path) -> bool:
    return path[:1] == ("spec",) and (path[1:] in _SECRET or path[-3::2] == ("triggers", "token"))


def _holds_secret(path: Path, text: str) -> bool:
    around = _REFERENCE.sub("", text)
    if _is_key(path):
        parts = (part for part in around.split(";") if not part.startswith(_NAME_OF_A_KEY))
        return bool(text) and (around == text or any(map(credential_in, parts)))
    is_named = path[-2:-1] in (("env",), ("labels",))
    return bool(credential_in(f"{path[-1]}={around}" if is_named else around))


def missing(manifest: HiveManifest, tree: Tree, folder: pathlib.Path, home: pathlib.Path | None = None) -> Iterator[Finding]:
    """All of it. Things that a container has to find in its own world are not looked for in this one."""
    yield from unresolved(manifest, tree, folder, home)
    yield from _not_allowed(manifest)
    yield from _unmatched(manifest, folder)


def unresolved(manifest: HiveManifest, tree: Tree, folder: pathlib.Path, home: pathlib.Path | None = None) -> Iterator[Finding]:
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


def _unmatched(manifest: HiveManifest, folder: pathlib.Path) -> Iterator[Finding]:
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
                yield Finding(("spec", "agents", number, "sources", at), str(error))
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
