"""The first two of three levels: is a file of the right form (syntactic), and does it make sense for these data (semantic)?

The third, whether it is better than what is in use, needs the index and is in `deployment`. Nothing is changed here, and all
mistakes are reported at once, each with its place, its cause and its remedy. Errors keep a file from being used; warnings name
settings without effect. Contradictions in collections and golden sets, and what the documents do not bear out, are found here,
those of configurations in `contradictions`.
"""

from collections.abc import Collection as Some
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from itertools import islice
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel

from hive_mind.counted import counted, did_you_mean
from hive_mind.errors import Problem, WorkspaceError
from hive_mind.forms import Finding, Form, Tree
from hive_mind.forms import Path as FormPath
from hive_mind.forms.reading import PROBLEMS_MAX, located
from hive_mind.retrieval import BUILT_IN, QUESTIONS_MIN, Collection, Golden, GoldenQuery, RetrievalConfig
from hive_mind.retrieval.contradictions import (
    Facets,
    combination,
    config_findings,
    contents,
    contradictions,
    filter_findings,
)
from hive_mind.retrieval.documents import left_out
from hive_mind.retrieval.workspace import ACTIVE, COLLECTION, CONFIG, GOLDEN, Workspace

_REPORTED_MAX = 20

# Comparing letter by letter with ten thousand names takes seconds.


def collection_findings(collection: Collection) -> Iterator[Finding]:
    """Mistakes that show without its documents."""
    chunking = collection.chunking
    tokens, overlap = chunking.max_tokens, chunking.overlap_tokens
    if overlap >= tokens:
        message = f"is {overlap} and max_tokens is {tokens}: chunks would never advance; lower it, a tenth is usual"
        yield Finding(("chunking", "overlap_tokens"), message)
    elif overlap * 2 > tokens:
        message = f"is {overlap} and max_tokens is {tokens}: most text is found twice; a tenth is usual"
        yield Finding(("chunking", "overlap_tokens"), message, is_warning=True)
    if chunking.strategy == "by_heading" and chunking.format == "plain":
        message = "is plain, where no line is a heading; use markdown, or strategy fixed"
        yield Finding(("chunking", "format"), message)
    if chunking.strategy == "fixed" and chunking.heading_level != 2:
        message = "has no effect with strategy fixed; use by_heading, or remove it"
        yield Finding(("chunking", "heading_level"), message, is_warning=True)
    listed = collection.filterable_fields
    for number, name in enumerate(listed):
        declared = collection.fields.get(name)
        if name in listed[:number]:
            yield Finding(("filterable_fields", number), f"{name} is in the list twice; keep one of them")
        elif declared and "filterable" in declared.model_fields_set and not declared.filterable:
            yield Finding(("filterable_fields", number), f"{name} can filter here and can't in fields.{name}; keep one of them")
    for name, field in collection.fields.items():
        if field.filterable and field.type == "text":
            message = "is text, whose values hardly ever repeat, and can filter; make it a keyword, or not filterable"
            yield Finding(("fields", name, "type"), message, is_warning=True)


def documents_findings(collection: Collection, documents: Iterable[tuple[str, Mapping[str, Iterable[str]]]]) -> Iterator[Finding]:
    """Statements that its documents, given with id and fields, do not bear out."""
    types = {name: field.type for name, field in collection.known_fields.items()}
    names: set[str] = set()
    is_empty, reported = True, 0
    for document, values in documents:
        is_empty = False
        names.update(name for name, field_values in values.items() if any(field_values))
        for name, type in types.items():
            wrong = next((value for value in values.get(name, ()) if not _is(type, value)), None)
            if wrong is not None and reported < _REPORTED_MAX:
                reported += 1
                yield Finding(
                    _place(collection, name), f'is a {type} and in {document} it is "{wrong[:40]}"; correct one of them'
                )
    if is_empty:
        yield Finding(("documents_dir",), f"no document lies in {collection.documents_dir} (.md, .txt, .rst); put some there")
        return
    for name in types:
        if name not in names and name not in BUILT_IN:
            name_in_fact = f"no document has {name}; write it in their front matter, or remove it"
            yield Finding(_place(collection, name), name_in_fact, is_warning=True)
        elif name == "category" and name not in names:
            yield Finding(_place(collection, name), "no document lies in a folder, which would be its category", is_warning=True)


def _place(collection: Collection, name: str) -> tuple[str | int, ...]:
    if name in collection.fields:
        return ("fields", name)
    return ("filterable_fields", collection.filterable_fields.index(name))


def _is(type: str, value: str) -> bool:
    try:
        if type == "number":
            float(value)
        elif type == "date":
            date.fromisoformat(value[:10])
    except ValueError:
        return False
    return True


def golden_findings(golden: Golden, documents: Some[str], left_out: Mapping[str, str]) -> Iterator[Finding]:
    """All of it. `documents` are the ids there are, `left_out` those that no index takes, with why."""
    for field in ("id", "query"):
        first: dict[str, int] = {}
        for number, query in enumerate(golden.queries):
            value = query.id if field == "id" else " ".join(query.query.casefold().split())
            if value and value in first:
                place = f"queries[{first[value]}]"
                problem = f"{query.id} is also the id of {place}" if field == "id" else f"is the same question as {place}"
                yield Finding(("queries", number, field), f"{problem}; give it another, or remove it")
            first.setdefault(value, number)
    for number, query in enumerate(golden.queries):
        yield from _labels(("queries", number), query, documents, left_out)
    yield from _whole(golden)


def _labels(path: FormPath, query: GoldenQuery, documents: Some[str], left_out: Mapping[str, str]) -> Iterator[Finding]:
    if not query.query.strip():
        yield Finding((*path, "query"), "is empty; give it a value")
    if not query.relevant and not query.distractors:
        yield Finding(path, "names neither relevant documents nor distractors, so nothing can be measured; name some")
    for field, names in (("relevant", query.relevant), ("distractors", query.distractors)):
        before: set[str] = set()
        for number, name in enumerate(names):
            if name in left_out:
                yield Finding((*path, field, number), f"{name} can't be found: it {left_out[name]}; fix it, or remove it")
            elif message := _wrong(name, before, documents):
                yield Finding((*path, field, number), message)
            before.add(name)
    relevant = set(query.relevant)
    for number, name in enumerate(query.distractors):
        if name in relevant:
            message = f"{name} is relevant too, in queries[{path[-1]}].relevant; a document is one or the other"
            yield Finding((*path, "distractors", number), message)


def _wrong(name: str, before: Some[str], documents: Some[str]) -> str:
    if name in before:
        return f"{name} is in the list twice; keep one of them"
    if name in documents:
        return ""
    if name.startswith(("/", "~")) or ".." in name.replace("\\", "/").split("/"):
        return "leads out of the collection's folder; name documents by their path below it"
    suggestion = did_you_mean(name, documents, "correct its path below the collection's folder, or take it out")
    return f"there is no document {name[:80]}; {suggestion}"


def _whole(golden: Golden) -> Iterator[Finding]:
    without = [number for number, query in enumerate(golden.queries) if query.split is None]
    if without and len(without) < len(golden.queries):
        message = f"has no split and others do; write train or test ({len(without)} without)"
        yield Finding(("queries", without[0], "split"), message)
    for part in ("train", "test") if not without else ():
        if (count := sum(query.split == part for query in golden.queries)) < QUESTIONS_MIN:
            few = f"only {count} of the questions are for {part}; at least {QUESTIONS_MIN}"
            yield Finding(("queries",), f"{few} are needed for an interval, better 30", is_warning=True)
    if len(golden.queries) < QUESTIONS_MIN:
        message = (
            f"only {counted(len(golden.queries), 'question')}: differences will look like chance; at least {QUESTIONS_MIN} are "
            f"needed for an interval, better 30, and with {QUESTIONS_MIN - 1} only a gain at each of them counts"
        )
        yield Finding(("queries",), message, is_warning=True)
    if not any(query.distractors for query in golden.queries):
        yield Finding(("queries",), "no question names distractors, so contamination can't be seen; name some", is_warning=True)
    if not any(query.relevant for query in golden.queries):
        yield Finding(("queries",), "no question has a relevant document, so nothing can be found; name some")


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
        listing = contents(workspace, collection)
    except WorkspaceError as error:
        findings += [Finding((problem.path,), problem.message) for problem in error.problems]
    else:
        findings += documents_findings(collection, ((document.id, document.fields) for document in listing.documents))
        findings += [
            Finding(("documents_dir",), f"{skipped.id} is left out: it {skipped.why}", is_warning=True)
            for skipped in listing.skipped[:20]
        ]
    return Checked(file, collection, _findings(findings, tree, COLLECTION))


def check_golden(workspace: Workspace, collection: Collection) -> Checked[Golden]:
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
    return _findings([Finding(("config",), _missing("configuration", active.config, workspace.configs()))], tree, ACTIVE)


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
        return _findings([Finding(("collection",), error.problems[0].message), *contradictions(config, tree)], tree, CONFIG)
    sense = semantic(config, collection, held_contents.facets if held_contents else facets or {}, has_embeddings, tree)
    if not held_contents or any(finding.level == "error" and finding.path.startswith("filters") for finding in sense):
        return sense
    return (*sense, *_findings(combination(config, (document.fields for document in held_contents.documents)), tree, CONFIG))


def _collection_of(config: RetrievalConfig, workspace: Workspace) -> Collection:
    """The collection that is searched. Raises `WorkspaceError`, in words about the configuration, if it does not exist."""
    name, names = config.collection, workspace.collections()
    if name not in names:
        raise WorkspaceError([Problem("collection", 0, _missing("collection", name, names))])
    try:
        collection = workspace.collection(name)
        workspace.documents_folder(collection)
    except WorkspaceError as error:
        first = error.problems[0]
        message = f"collections/{name}.json can't be used: {first.path}: {first.message}"
        raise WorkspaceError([Problem("collection", 0, message)]) from error
    return collection


def _read(workspace: Workspace, file: Path, form: Form[M]) -> tuple[M | None, Tree | None, tuple[FileFinding, ...]]:
    reading = workspace.read(file, form)
    problems = (FileFinding("error", problem.path, problem.line, problem.message) for problem in reading.problems)
    return reading.value, reading.tree, tuple(problems)


def _named(name: str, file: Path) -> list[Finding]:
    message = f"is {name} and the file is {file.name}; make them equal, or results can't be distinguished"
    return [] if name == file.stem else [Finding(("name",), message)]


def _missing(kind: str, name: str, names: tuple[str, ...]) -> str:
    choices = f"there are {', '.join(names[:20])}" if names else "there is none yet; see docs/howto/retrieval.md"
    return f"there is no {kind} {name}; " + did_you_mean(name, names, choices)


def _findings(findings: Iterable[Finding], tree: Tree | None, form: Form[Any]) -> tuple[FileFinding, ...]:
    return _in_order(
        FileFinding("warning" if finding.is_warning else "error", place.path, place.line, place.message)
        for finding in islice(findings, PROBLEMS_MAX)
        for place in [located(finding, tree or _NOWHERE, form)]
    )


def _in_order(findings: Iterable[FileFinding]) -> tuple[FileFinding, ...]:
    return tuple(sorted(dict.fromkeys(findings), key=lambda finding: (finding.line, finding.path)))
