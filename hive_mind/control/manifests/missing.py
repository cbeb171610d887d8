"""Things that a manifest names and the world lacks, or does not allow: variables, files, sources, packages.

Values are looked at and dropped.
"""

from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from hive_mind import backends
from hive_mind.bus.address import address_of
from hive_mind.control.manifests.bus_checking import is_in_cloud
from hive_mind.control.manifests.checking import leads_out
from hive_mind.control.manifests.manifest import HiveManifest
from hive_mind.control.manifests.sources import is_linked_out, matching
from hive_mind.control.manifests.texts import references, texts
from hive_mind.errors import BackendError, BackendNotInstalled, InvalidInput
from hive_mind.forms.tree import Finding, Tree
from hive_mind.runtime.secrets.references import resolved_here
from hive_mind.runtime.settings import variable


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
    more = variable(ALLOWED) or ""
    for number, agent in enumerate(manifest.spec.agents):
        # `contradictions` tells of what is no name, and of names of ours.
        names = [name for name in agent.env if name.isidentifier() and not name.startswith("HIVE_MIND_")]
        for name in names:
            if harm := _harm_of(name, more):
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


def _harm_of(name: str, more: str) -> str:
    """Why a manifest may not set this variable for a worker; "" where it may. `more`: names that the person who runs it allows.

    The names of plain values that libraries and tools read end in certain words. An address leads what a library sends, keys and
    questions and all, to somebody else (`HTTPS_PROXY`, `HF_ENDPOINT`, `OPENAI_BASE_URL`, …). Anything else may be read by the
    interpreter, the loader, a TLS library or a shell, and run other code in the worker or trust another certificate
    (`PYTHONPATH`, `LD_PRELOAD`, `BASH_ENV`, `SSL_CERT_FILE`, …); nobody knows all of those.
    """
    end = name.upper().rpartition("_")[2]
    patterns = (pattern.strip() for pattern in more.split(","))
    if end in _VALUES or any(fnmatchcase(name, pattern) for pattern in patterns if pattern):
        return ""
    if end in _ADDRESSES:
        return "may lead what its process sends, keys too, to another address; if that is meant, allow it"
    return "may make its process run other code; name it by what it is (_TOKEN, _LEVEL, …), or allow it"
