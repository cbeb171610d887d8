"""From a file to a manifest, or to everything that is wrong with it at once, each with its line, its path and what to do.

A manifest with a fault in its form is mended where that is possible (the field left out, a name made up), so that what
contradicts itself elsewhere is found in the same go. The mended one is never given to anybody.

Besides: another number of agents, written into a manifest that was applied before, and a first manifest to go on from.
"""

import copy
import dataclasses
import pathlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import yaml
from pydantic_core import ErrorDetails

from hive_mind.control.manifests import API_VERSION, MANIFEST, HiveManifest
from hive_mind.control.manifests.checking import contradictions
from hive_mind.control.manifests.expansion import names_of
from hive_mind.control.manifests.named_files import file_findings, missing, text_findings, unresolved, with_named_files
from hive_mind.errors import InvalidInput, ManifestError, Problem, RuleError, WorkerFileError, WorkspaceError
from hive_mind.forms import Finding, Path, Tree, spelled
from hive_mind.forms.reading import PROBLEMS_MAX, in_order, located, news, suggested, text_of, tree_of, validated, worded
from hive_mind.hive.topology.spec import SPECS, TopologyName, reads
from hive_mind.runtime.settings import refuse_unwritable_name

_COMMENT = "# Written by `hive-mind scale`: comments of the manifest it was made from are lost.\n"


@dataclass(frozen=True, slots=True)
class Source:
    """A manifest with the text it was read from. Relative paths in it are seen from `folder`."""

    manifest: HiveManifest
    text: str
    folder: pathlib.Path
    name: str
    """Of the file."""


def read_manifest(path: pathlib.Path, home: pathlib.Path | None = None) -> Source:
    """A manifest to be applied. References, files and sources it names have to be there. Raises `ManifestError`.

    `home` has the credentials it refers to; without one it is that of the settings.
    """
    text, problems = text_of(path, MANIFEST)
    if problems:
        raise ManifestError(problems, str(path))
    return read_text(text, path.absolute().parent, str(path), is_to_be_applied=True, home=home)


def refuse_unresolved(source: Source, home: pathlib.Path) -> None:
    """Its references have to stand for something, or what is stopped could not be started again. Raises `ManifestError`."""
    tree, _ = tree_of(source.text, MANIFEST)
    if tree is None:
        return
    _refuse(unresolved(source.manifest, tree, source.folder, home), tree, source)


def settled(source: Source) -> Source:
    """The same with what the files it names say by now: its retrieval configuration, its rules. Raises `ManifestError`."""
    try:
        manifest = with_named_files(source.manifest, source.folder)
    except (WorkspaceError, RuleError, WorkerFileError, InvalidInput):
        tree, _ = tree_of(source.text, MANIFEST)
        if tree is not None:
            _refuse(file_findings(source.manifest, source.folder), tree, source)
        raise
    return dataclasses.replace(source, manifest=manifest)


def _refuse(findings: Iterable[Finding], tree: Tree, source: Source) -> None:
    if faults := [located(finding, tree, MANIFEST) for finding in islice(findings, PROBLEMS_MAX)]:
        raise ManifestError(in_order(faults), source.name)


def read_text(
    text: str, folder: pathlib.Path, name: str, *, is_to_be_applied: bool = False, home: pathlib.Path | None = None
) -> Source:
    """A manifest without a file. One that was applied before may name what is gone by now. Raises `ManifestError`."""
    if is_to_be_applied:
        # It is remembered with the fleet.
        refuse_unwritable_name(folder, "rename the folder, or put the manifest into another")
    tree, problems = tree_of(text, MANIFEST)
    if tree is None:
        raise ManifestError(problems, name)
    if not isinstance(tree.value, dict):
        shape = Problem("manifest", tree.line, "has to be a mapping that begins with apiVersion: hive-mind/v1")
        raise ManifestError([shape, *problems], name)
    manifest, errors = validated(tree.value, MANIFEST)
    news_errors = news(errors, problems, MANIFEST)
    faults = [*problems, *(worded(error, tree, MANIFEST) for error in news_errors)]
    hive_manifest = manifest or (_mended(tree.value, errors) if len(errors) <= PROBLEMS_MAX else None)
    findings = _findings(hive_manifest, tree, folder if is_to_be_applied else None, home)
    # Paths of which nothing can be said for now: those that are wrong, and those that were meant by a wrong key.
    meant_paths = {
        spelled((*error["loc"][:-1], word))
        for error in news_errors
        if error["type"] == "extra_forbidden" and (word := suggested(error["loc"], MANIFEST))
    }
    broken = frozenset({fault.path for fault in faults} | {spelled(error["loc"]) for error in news_errors} | meant_paths)
    faults += [located(finding, tree, MANIFEST) for finding in islice(findings, PROBLEMS_MAX) if not _rests_on(finding, broken)]
    if faults or manifest is None:
        raise ManifestError(in_order(faults), name)
    source = Source(manifest, text, folder, name)
    return settled(source) if is_to_be_applied else source


def _findings(
    manifest: HiveManifest | None, tree: Tree, folder: pathlib.Path | None, home: pathlib.Path | None
) -> Iterator[Finding]:
    yield from text_findings(tree)
    if manifest is not None:
        yield from contradictions(manifest)
        if folder is not None:
            yield from missing(manifest, tree, folder, home)
            yield from file_findings(manifest, folder)


def _rests_on(finding: Finding, broken: Iterable[str]) -> bool:
    rests = [spelled(path) for path in (finding.path, *finding.rests_on)]
    return any(_is_part(rest, broken_path) or _is_part(broken_path, rest) for rest in rests for broken_path in broken)


def _is_part(inner: str, outer: str) -> bool:
    return inner == outer or inner.startswith((f"{outer}.", f"{outer}["))


def _mended(value: Any, errors: Iterable[ErrorDetails]) -> HiveManifest | None:
    """The same with what is wrong left out, or made up where it can't be; None where that does not help."""
    tree_value = copy.deepcopy(value)
    for error in errors:
        path = error["loc"]
        around, last = _inside(tree_value, path[:-1]), path[-1]
        if isinstance(around, dict):
            around.pop(last, None)
            around |= _made_up(path)
        elif isinstance(around, list) and isinstance(last, int):
            around[last] = _made_up((*path, "name")) or ""
    return validated(tree_value, MANIFEST)[0]


def _inside(value: Any, path: Path) -> Any:
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _made_up(path: Path) -> dict[str, str]:
    match path:
        case ("apiVersion",):
            return {"apiVersion": API_VERSION}
        case ("kind",):
            return {"kind": "Hive"}
        case ("metadata", "name"):
            return {"name": "unnamed"}
        case ("spec", "agents", int(number), "name") | ("spec", "topology", "groups", int(number), "name"):
            return {"name": f"unnamed-{number}"}
        case _:
            return {}


def scaled(source: Source, name: str | None, count: int) -> str:
    """The manifest's text with another `count`. `name`: a template, or one of its agents; None where there is only one template.

    Raises `InvalidInput`.
    """
    agents = source.manifest.spec.agents
    templates = {at: agent for at, agent in enumerate(agents) if agent.count is not None}
    names = ", ".join(agent.name for agent in templates.values()) or "none"
    if not templates:
        raise InvalidInput("no agent of this manifest has a count, so there is nothing to scale: add agents to it and apply it")
    if name is None:
        if len(templates) > 1:
            raise InvalidInput(f"choose the template to scale: {names}")
        return _with_count(source, next(iter(templates)), count)
    for at, agent in templates.items():
        if name in {agent.name, agent.name.replace("-{n}", ""), *names_of(agent)}:
            return _with_count(source, at, count)
    raise InvalidInput(f"there is no template {name!r} to scale; there are: {names}")


def _with_count(source: Source, at: int, count: int) -> str:
    data: Any = yaml.safe_load(source.text)
    data["spec"]["agents"][at]["count"] = count
    text: str = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=120)
    return _COMMENT + text


_HEAD = """\
# A fleet for hive-mind. Look at what would happen, then let it happen:
#     hive-mind plan -f {file}
#     hive-mind apply -f {file}
# Other fields: hive-mind file explain manifest
apiVersion: hive-mind/v1
kind: Hive
metadata:
  name: {name}
spec:
"""

_ALONE = "Every agent has its own memory and nobody shares."

_AGENTS = """\
  agents:
    - name: ada{group_of_ada}
      # sources: [notes/*.md]       # files, folders and globs to learn, relative to this file
    - name: reader-{{n}}              # reader-1, reader-2
      count: 2{group_of_readers}
"""

_TAIL = """\
  # Several processes need a bus. Left out, they get a private Redis server, if redis-server is installed.
  # bus: redis://127.0.0.1:6379
  embedding:
    kind: none                      # keywords only; sentence_transformers finds by meaning
  # llm:
  #   model: openai:gpt-5-mini      # without one, agents read and answer by quoting
  #   key: ${env:OPENAI_API_KEY}    # a secret is named here and never written out
"""


def first_manifest(topology: TopologyName, name: str, file: str) -> str:
    has_groups = reads(topology, "groups")
    agents = _AGENTS.format(
        group_of_ada="\n      group: north" if has_groups else "",
        group_of_readers="\n      group: south" if has_groups else "",
    )
    return _HEAD.format(name=name, file=file) + _topology(topology) + agents + _TAIL


def _topology(name: TopologyName) -> str:
    about, example = (SPECS[name].about, SPECS[name].example) if name in SPECS else (_ALONE, "")
    return f"  # {name}: {about}\n" + (f"  topology:\n    kind: {name}\n{example}" if example else f"  topology: {name}\n")
