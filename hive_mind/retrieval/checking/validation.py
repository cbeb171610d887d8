"""The first two of three levels: is a file of the right form (syntactic), and does it make sense for these data (semantic)?

The third, whether it is better than what is in use, needs the index and is in `gate`. Nothing is changed here, and all mistakes
are reported at once, each with its place, its cause and its remedy. Errors keep a file from being used; warnings name settings
without effect.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel

from hive_mind.errors import Problem, WorkspaceError
from hive_mind.forms.form import Form
from hive_mind.forms.reading import PROBLEMS_MAX, located, read
from hive_mind.forms.tree import Finding as Unlocated
from hive_mind.forms.tree import Tree
from hive_mind.retrieval.checking.collections import collection_findings, documents_findings, golden_findings
from hive_mind.retrieval.checking.configurations import combination, config_findings, contradictions, filter_findings
from hive_mind.retrieval.checking.describing import Facets, contents
from hive_mind.retrieval.files.collection import Collection, Golden
from hive_mind.retrieval.files.configuration import RetrievalConfig
from hive_mind.retrieval.files.documents import left_out
from hive_mind.retrieval.files.workspace import ACTIVE, COLLECTION, CONFIG, GOLDEN, Workspace
from hive_mind.suggestions import did_you_mean

Level = Literal["error", "warning"]
M = TypeVar("M", bound=BaseModel)
_NOWHERE = Tree(None, 0)


@dataclass(frozen=True, slots=True)
class FileFinding:
    """Something wrong in a file. `line` is 1-based, 0 where it is not known; `path` is like "retrieval.top_k"."""

    level: Level
    path: str
    line: int
    message: str


@dataclass(frozen=True, slots=True)
class Checked(Generic[M]):
    """A file with all that was found. `value` is None where its form is wrong already."""

    file: Path
    value: M | None
    findings: tuple[FileFinding, ...]

    @property
    def errors(self) -> tuple[FileFinding, ...]:
        """The findings that keep it from being used."""
        return tuple(finding for finding in self.findings if finding.level == "error")

    def accepted(self) -> M:
        """The value. Raises `WorkspaceError` with every error there is."""
        if self.value is None or self.errors:
            raise WorkspaceError((Problem(error.path, error.line, error.message) for error in self.errors), str(self.file))
        return self.value


def semantic(
    config: RetrievalConfig, collection: Collection, facets: Facets, has_embeddings: bool, tree: Tree | None = None
) -> tuple[FileFinding, ...]:
    """Settings that make no sense together, or not for these documents. Lines are those of `tree`, where it is given."""
    findings = [
        *config_findings(config, collection, has_embeddings=has_embeddings, tree=tree),
        *filter_findings(config, collection, facets),
    ]
    return _findings(findings, tree, CONFIG)


def check_config(
    workspace: Workspace, name: str, *, has_embeddings: bool, facets: Facets | None = None
) -> Checked[RetrievalConfig]:
    """A configuration of a workspace, both levels. Without the facets of an index its documents are read."""
    file = workspace.existing(workspace.config_file(name))
    return _check_config_file(workspace, file, has_embeddings=has_embeddings, facets=facets)


def check_collection(workspace: Workspace, name: str) -> Checked[Collection]:
    file = workspace.existing(workspace.collection_file(name))
    collection, tree, wrong = _read(workspace, file, COLLECTION)
    if collection is None:
        return Checked(file, None, wrong)
    findings = [*_named(collection.name, file), *collection_findings(collection)]
    try:
        held = contents(workspace, collection)
    except WorkspaceError as error:
        findings += [Unlocated((problem.path,), problem.message) for problem in error.problems]
    else:
        findings += documents_findings(collection, ((document.id, document.fields) for document in held.documents))
        findings += [
            Unlocated(("documents_dir",), f"{one.id} is left out: it {one.why}", is_warning=True) for one in held.skipped[:20]
        ]
    return Checked(file, collection, _findings(findings, tree, COLLECTION))


def check_golden(workspace: Workspace, collection: Collection) -> Checked[Golden]:
    """The golden set against the documents of a collection."""
    file = workspace.golden_file
    golden, tree, wrong = _read(workspace, file, GOLDEN)
    if golden is None:
        return Checked(file, None, wrong)
    golden = workspace.identified(golden)
    listing = workspace.documents(collection)
    ids = dict.fromkeys(listed_file.id for listed_file in listing.seen)
    findings = golden_findings(golden, ids.keys(), left_out(listing, golden.documents))
    return Checked(file, golden, _findings(findings, tree, GOLDEN))


def check_active(workspace: Workspace, *, has_embeddings: bool) -> tuple[FileFinding, ...]:
    """The configuration in use, as it was deployed: documents may have changed since. Empty if none is in use."""
    file = workspace.active_file
    if not workspace.has_active:
        return ()
    if workspace.is_active_a_configuration():
        return _check_config_file(workspace, file, has_embeddings=has_embeddings, facets=None).findings
    active, tree, wrong = _read(workspace, file, ACTIVE)
    if active and active.deployed and tree:
        sense = _sense(workspace, active.deployed, tree.parts["deployed"], has_embeddings=has_embeddings, facets=None)
        return tuple(replace(finding, path=f"deployed.{finding.path}") for finding in sense if finding.level == "error")
    if active is None or active.config in workspace.configs():
        return wrong
    return _findings([Unlocated(("config",), _missing("configuration", active.config, workspace.configs()))], tree, ACTIVE)


def _check_config_file(
    workspace: Workspace, file: Path, *, has_embeddings: bool, facets: Facets | None
) -> Checked[RetrievalConfig]:
    config, tree, wrong = _read(workspace, file, CONFIG)
    if config is None:
        return Checked(file, None, wrong)
    findings = [] if file == workspace.active_file else _named(config.name, file)
    sense = _sense(workspace, config, tree, has_embeddings=has_embeddings, facets=facets)
    return Checked(file, config, _in_order([*_findings(findings, tree, CONFIG), *sense]))


def _sense(
    workspace: Workspace, config: RetrievalConfig, tree: Tree | None, *, has_embeddings: bool, facets: Facets | None
) -> tuple[FileFinding, ...]:
    """Settings that make no sense in it; where there is no collection to ask, those that show without one."""
    try:
        collection = _collection_of(config, workspace)
        held_contents = contents(workspace, collection) if facets is None else None
    except WorkspaceError as error:
        return _findings([Unlocated(("collection",), error.problems[0].message), *contradictions(config, tree)], tree, CONFIG)
    sense = semantic(config, collection, held_contents.facets if held_contents else facets or {}, has_embeddings, tree)
    if not held_contents or any(finding.level == "error" and finding.path.startswith("filters") for finding in sense):
        return sense
    return (*sense, *_findings(combination(config, (document.fields for document in held_contents.documents)), tree, CONFIG))


def _collection_of(config: RetrievalConfig, workspace: Workspace) -> Collection:
    """The collection that is searched. Raises `WorkspaceError`, in words about the configuration, if it does not exist."""
    name, known = config.collection, workspace.collections()
    if name not in known:
        raise WorkspaceError([Problem("collection", 0, _missing("collection", name, known))])
    try:
        collection = workspace.collection(name)
        workspace.documents_folder(collection)
    except WorkspaceError as error:
        first = error.problems[0]
        message = f"collections/{name}.json can't be used: {first.path}: {first.message}"
        raise WorkspaceError([Problem("collection", 0, message)]) from error
    return collection


def _read(workspace: Workspace, file: Path, form: Form[M]) -> tuple[M | None, Tree | None, tuple[FileFinding, ...]]:
    text, problems = workspace.text_of(file, form)
    got = None if problems else read(text, form)
    found_problems = got.problems if got else problems
    return (
        got.value if got else None,
        got.tree if got else None,
        tuple(FileFinding("error", problem.path, problem.line, problem.message) for problem in found_problems),
    )


def _named(name: str, file: Path) -> list[Unlocated]:
    message = f"is {name} and the file is {file.name}; make them equal, or results can't be distinguished"
    return [] if name == file.stem else [Unlocated(("name",), message)]


def _missing(kind: str, name: str, known: tuple[str, ...]) -> str:
    there = f"there are {', '.join(known[:20])}" if known else "there is none yet; see docs/howto/retrieval.md"
    return f"there is no {kind} {name}; " + did_you_mean(name, known, there)


def _findings(findings: Iterable[Unlocated], tree: Tree | None, form: Form[Any]) -> tuple[FileFinding, ...]:
    return _in_order(
        FileFinding("warning" if finding.is_warning else "error", place.path, place.line, place.message)
        for finding in islice(findings, PROBLEMS_MAX)
        for place in [located(finding, tree or _NOWHERE, form)]
    )


def _in_order(findings: Iterable[FileFinding]) -> tuple[FileFinding, ...]:
    return tuple(sorted(dict.fromkeys(findings), key=lambda finding: (finding.line, finding.path)))
