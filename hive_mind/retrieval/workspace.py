"""A workspace: the folder that holds everything about retrieval. Here are its paths, the reading of its files, and one
configuration made of another.

    collections/NAME.json  configs/NAME.json  configs/active.json  documents/…  evals/golden.json
    results/<config>-<time>.json  history.jsonl  index/

Names become paths, and documents are found by paths that files give, so nothing is taken that leads out of the folder.

A configuration is handed around as a tree of what somebody decided; defaults are left out, except those a reader looks for first.
Changes are written into it, and the result is read like any file. One for an agent's memory is the same ranking, as far as a
memory has what it speaks of: options without a meaning there are reported, never silently ignored.
"""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import BaseModel

from hive_mind.counted import did_you_mean
from hive_mind.errors import InvalidInput, Problem, WorkspaceError
from hive_mind.forms import Form
from hive_mind.forms.reading import Read, read, text_of, tree_of
from hive_mind.ranking.pipeline import RankingSettings
from hive_mind.regex import regex
from hive_mind.retrieval import FIELD_NAME, NAME, Active, Collection, Golden, RetrievalConfig, TextForm
from hive_mind.retrieval.documents import Listing, listed

_PATTERNS = {
    NAME: "has to be 1 to 64 letters, digits, '.', '_' and '-', with a letter or digit first",
    FIELD_NAME: "has to be 1 to 64 letters, digits, '_' and '-', with a letter first",
}
_HELP = "docs/howto/retrieval.md"
_BEGIN = "begin with `hive-mind retrieval init`"

CONFIG: Final = Form("configuration", RetrievalConfig, _BEGIN, _HELP, "json", levels="three", patterns=_PATTERNS)
COLLECTION: Final = Form("collection", Collection, _BEGIN, _HELP, "json", levels="three", patterns=_PATTERNS)
# Room for some ten thousand questions.
GOLDEN: Final = Form("golden set", Golden, _BEGIN, _HELP, "json", 20_000_000, 500_000, levels="three", patterns=_PATTERNS)
ACTIVE: Final = Form("active configuration", Active, _BEGIN, _HELP, "json", levels="three", patterns=_PATTERNS)

_ACTIVE = "active"
# A project like that of document 000 has its workspace in this folder, beside its programs.
_INNER = "workspace"

_NAME = regex(NAME.strip("^$"))

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Workspace:
    """Where everything is. Reading raises `WorkspaceError` with all that is wrong with a file."""

    root: Path

    @classmethod
    def open(cls, folder: Path) -> "Workspace":
        """The workspace that a folder is, or has as its `workspace/`. Raises `InvalidInput` for any other folder."""
        for place in (folder, folder / _INNER):
            if (place / "collections").is_dir() or (place / "configs").is_dir():
                return cls(place)
        raise InvalidInput(f"{folder} is not a workspace: make one with `hive-mind retrieval init`, or name another folder")

    @property
    def golden_file(self) -> Path:
        return self.root / "evals" / "golden.json"

    @property
    def active_file(self) -> Path:
        return self.root / "configs" / f"{_ACTIVE}.json"

    @property
    def results(self) -> Path:
        return self.root / "results"

    @property
    def history_file(self) -> Path:
        """The file of deployments: person, time and reason, one line each."""
        return self.root / "history.jsonl"

    @property
    def index(self) -> Path:
        return self.root / "index"

    def config_file(self, name: str) -> Path:
        """Where a configuration is kept. Raises `InvalidInput` for a name that can't be a file's."""
        if name == _ACTIVE:
            raise InvalidInput(f"configuration {name!r} can't be used: configs/{_ACTIVE}.json says which one is in use")
        return self.root / "configs" / f"{_checked(name, 'configuration')}.json"

    def collection_file(self, name: str) -> Path:
        """Where a collection is kept. Raises `InvalidInput` for a name that can't be a file's."""
        return self.root / "collections" / f"{_checked(name, 'collection')}.json"

    def configs(self) -> tuple[str, ...]:
        return _names(self.root / "configs", without=_ACTIVE)

    def collections(self) -> tuple[str, ...]:
        return _names(self.root / "collections")

    def config(self, name: str) -> RetrievalConfig:
        return self._value(self.existing(self.config_file(name)), CONFIG)

    def active(self) -> RetrievalConfig | None:
        """The configuration in use; None where none was deployed yet."""
        deployment = self.deployment()
        if deployment is None:
            return None
        if deployment.deployed:
            return deployment.deployed
        try:
            return self.config(deployment.config)
        except InvalidInput as error:
            way_out = "correct the name there, or take that file away and deploy another configuration"
            raise InvalidInput(f"configs/{_ACTIVE}.json names what is not there: {error}; {way_out}") from error

    def deployment(self) -> Active | None:
        """The configuration in use and its deployment. A configuration in its place counts as deployed by nobody."""
        if not self.has_active:
            return None
        if self.is_active_a_configuration():
            config = self._value(self.active_file, CONFIG)
            return Active(config=config.name, deployed=config)
        return self._value(self.active_file, ACTIVE)

    @property
    def has_active(self) -> bool:
        """Whether anything is said about what is in use; a link that leads nowhere is a mistake, not silence."""
        return self.active_file.exists() or self.active_file.is_symlink()

    def is_active_a_configuration(self) -> bool:
        """Whether the active file is one, as in the public layout. Ours names one."""
        text, problems = self.text_of(self.active_file, ACTIVE)
        tree = None if problems else tree_of(text, ACTIVE)[0]
        return tree is not None and "name" in tree.parts and "config" not in tree.parts

    def collection(self, name: str) -> Collection:
        return self._value(self.existing(self.collection_file(name)), COLLECTION)

    def golden(self) -> Golden:
        """The questions. Documents may be given by their path in the workspace too."""
        return self.identified(self._value(self.golden_file, GOLDEN))

    def identified(self, golden: Golden) -> Golden:
        """The same questions, with documents that were given by their path in the workspace called by their ids."""
        return golden.renamed(self._ids())

    def documents(self, collection: Collection) -> Listing:
        """The documents of a collection, as its folder shows them: not read yet, in the order of their ids."""
        return listed(self.documents_folder(collection))

    def documents_folder(self, collection: Collection) -> Path:
        """Where a collection's documents are. Raises `WorkspaceError` for a folder that is not there, or not in here.

        Its name may be as seen from the project: "workspace/documents".
        """
        folder = self.root / self._inside(collection.documents_dir)
        if "\0" in collection.documents_dir:
            raise self._of_documents(collection, "is not a path; correct the name")
        if not folder.resolve().is_relative_to(self.root.resolve()):
            raise self._of_documents(collection, "leads out of the workspace; put the documents, or a copy of them, inside")
        if not _is_there(folder, is_folder=True):
            raise self._of_documents(collection, f"there is no folder {collection.documents_dir}; make it, or correct the name")
        return folder

    def text_of(self, file: Path, form: Form[Any]) -> tuple[str, tuple[Problem, ...]]:
        """The text of a file of this workspace, or what is wrong with it. Raises `InvalidInput` for a missing file."""
        if not file.resolve().is_relative_to(self.root.resolve()):
            raise InvalidInput(f"{file} is a link that leads out of the workspace; put a copy there instead")
        if not file.exists():
            raise InvalidInput(f"{file} does not exist: write it (see {form.help}), or {form.begin}")
        if not (file.is_file() or file.is_dir()):
            # A pipe would be waited for.
            raise InvalidInput(f"{file} can't be read: it must be a regular file")
        return text_of(file, form)

    def existing(self, file: Path) -> Path:
        """The same file. Raises `InvalidInput`, with similar names, for a missing one."""
        if file.exists():
            return file
        names, kind = _names(file.parent, without=_ACTIVE), file.parent.name
        choices = f"there are {', '.join(names[:20])}" if names else "there is none yet; begin with `hive-mind retrieval init`"
        raise InvalidInput(f"there is no {file.stem} in {kind}/; " + did_you_mean(file.stem, names, choices))

    def read(self, file: Path, form: Form[M]) -> Read[M]:
        """The value of a file, or why there is none. Raises `InvalidInput` for a missing file."""
        text, problems = self.text_of(file, form)
        return Read(None, None, problems) if problems else read(text, form)

    def _value(self, file: Path, form: Form[M]) -> M:
        reading = self.read(file, form)
        if reading.value is None:
            raise WorkspaceError(reading.problems, str(file))
        return reading.value

    def _ids(self) -> Callable[[str], str]:
        """From the path of a document in the workspace, or in its project, to its id; an id stays what it is."""
        written = set[str]()
        for name in self.collections():
            # One whose file can't be read says nothing.
            with suppress(WorkspaceError):
                written.add(self.collection(name).documents_dir.strip("/"))
        written.discard("")
        inside = set(map(self._inside, written))
        folders = {*written, *inside, *(f"{self.root.resolve().name}/{folder}" for folder in inside)}

        def id_of(path: str) -> str:
            plain = path.removeprefix("./")
            for folder in sorted(folders, key=len, reverse=True):
                inner = plain.removeprefix(f"{folder}/")
                if inner != plain and not _is_there(self.root / folder / plain):
                    return inner
            return plain

        return id_of

    def _inside(self, folder: str) -> str:
        """A folder's path below the workspace, where it is written as seen from the project around the workspace."""
        inner = folder.removeprefix("./").removeprefix(f"{self.root.resolve().name}/")
        is_seen_from_project = not _is_there(self.root / folder, is_folder=True) and _is_there(self.root / inner, is_folder=True)
        return inner if is_seen_from_project else folder

    def _of_documents(self, collection: Collection, message: str) -> WorkspaceError:
        file = self.collection_file(collection.name)
        tree = tree_of(self.text_of(file, COLLECTION)[0], COLLECTION)[0] if file.exists() else None
        line = tree.at(("documents_dir",))[0].line if tree else 0
        return WorkspaceError([Problem("documents_dir", line, message)], str(file))


def _names(folder: Path, without: str = "") -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in folder.glob("*.json") if path.stem != without and _NAME.fullmatch(path.stem)))


def _checked(name: str, kind: str) -> str:
    if not _NAME.fullmatch(name):
        raise InvalidInput(f"{kind} {name[:70]!r} can't be used: take 1 to 64 letters, digits, '.', '_' and '-', no path")
    return name


def _is_there(path: Path, *, is_folder: bool = False) -> bool:
    """Whether a path leads to something. A name that no file system takes leads nowhere."""
    try:
        return path.is_dir() if is_folder else path.exists()
    except (OSError, ValueError):
        return False


SettingPath = tuple[str, ...]
# Sections whose fields are each a decision of their own. The others are switched on or off as a whole.
_OF_FIELDS = frozenset(("retrieval", "filters", "text", "boosts"))
Changes = Mapping[SettingPath, Any]
"""New values by where they stand; None takes a value out."""


def written(config: RetrievalConfig) -> dict[str, Any]:
    tree: dict[str, Any] = config.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    decided = tree.pop("retrieval", {})
    fields: dict[str, Any] = {"method": config.retrieval.method, "top_k": config.retrieval.top_k}
    if config.retrieval.method == "hybrid" or "rrf_k" in decided:
        # Left out, it would be guessed from the other fields.
        fields["fusion"] = config.retrieval.fusion
    head = {"name": tree.pop("name"), "collection": config.collection, "retrieval": {**fields, **decided}}
    tree.pop("collection", None)
    return {**head, **tree}


def config_text(config: RetrievalConfig) -> str:
    return json.dumps(written(config), indent=2, ensure_ascii=False)


def changed(config: RetrievalConfig, changes: Changes) -> tuple[RetrievalConfig | None, tuple[Problem, ...]]:
    tree = written(config)
    for path, value in changes.items():
        _put(tree, path, value)
    found_read = read(json.dumps(tree, indent=2), CONFIG)
    return found_read.value, found_read.problems


def differences(config: RetrievalConfig, retrieval_config: RetrievalConfig) -> tuple[SettingPath, ...]:
    """Where two configurations differ: a whole section where it can be switched off, else a field."""
    left, right = written(config), written(retrieval_config)
    return tuple(path for path in _places(left, right) if _at(left, path) != _at(right, path))


def without(config: RetrievalConfig, path: SettingPath, retrieval_config: RetrievalConfig) -> RetrievalConfig | None:
    """A configuration with one place as it is in the other; None where that makes none."""
    return changed(config, {path: _at(written(retrieval_config), path)})[0]


def values_written(config: RetrievalConfig) -> int:
    """How many values somebody had to decide: what says the same in fewer is easier to understand."""
    return _values(written(config))


def is_same(config: RetrievalConfig, retrieval_config: RetrievalConfig) -> bool:
    """Whether both search in the same way, whatever they are called."""
    return config.model_copy(update={"name": "x"}) == retrieval_config.model_copy(update={"name": "x"})


def _put(tree: dict[str, Any], path: SettingPath, value: Any) -> None:
    *above, last = path
    for name in above:
        inner = tree.setdefault(name, {})
        if not isinstance(inner, dict):
            inner = tree[name] = {}
        tree = inner
    if value is None:
        tree.pop(last, None)
    else:
        tree[last] = value


def _values(tree: Any) -> int:
    if isinstance(tree, dict):
        return sum(map(_values, tree.values()))
    return len(tree) if isinstance(tree, list) else 1


def _places(left: dict[str, Any], right: dict[str, Any]) -> list[SettingPath]:
    paths: list[SettingPath] = []
    for name in dict.fromkeys([*left, *right]):
        if name in ("name", "collection"):
            continue
        if name in _OF_FIELDS:
            paths += [(name, field) for field in dict.fromkeys([*left.get(name, {}), *right.get(name, {})])]
        else:
            paths.append((name,))
    return paths


def _at(tree: dict[str, Any], path: SettingPath) -> Any:
    value: Any = tree
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


# A memory weighs confirmations to trust like this, and all of it by one strength (`ranking.pipeline`).
_CONFIRMATIONS_SHARE = 0.6


def config_in(file: Path) -> RetrievalConfig:
    """A configuration, or what `active.json` of a workspace says is in use. Raises `WorkspaceError` or `InvalidInput`."""
    if file.name == "active.json" and (active := Workspace(file.absolute().parent.parent).active()):
        return active
    text, problems = text_of(file, CONFIG)
    reading = Read(None, None, problems) if problems else read(text, CONFIG)
    if reading.value is None:
        raise WorkspaceError(reading.problems, str(file))
    return reading.value


def ranking_settings(config: RetrievalConfig) -> RankingSettings:
    """How a memory or a hive ranks by this configuration. Callers also pass its `method` and `top_k`."""
    retrieval = config.retrieval
    return RankingSettings(
        semantic_weight=retrieval.semantic_weight,
        evidence_strength=config.boosts.confirmations + config.boosts.trust,
        depth=max(retrieval.depth, retrieval.top_k),
        fusion=retrieval.fusion,
        rrf_k=retrieval.rrf_k,
        rerank=config.rerank.top_n if config.rerank.model else 0,
        rerank_model=config.rerank.model or RankingSettings().rerank_model,
    )


def beyond_a_memory(config: RetrievalConfig) -> tuple[str, ...]:
    """The parts of a configuration that a memory can't do, one clause each."""
    boosts = config.boosts
    total = boosts.confirmations + boosts.trust
    limits = {
        "filters: facts have no fields to filter by": bool(config.filters),
        "dynamic_k: a memory returns as many facts as are asked for": config.dynamic_k.enabled,
        "distraction_detection: a memory flags nothing": config.distraction_detection.enabled,
        "deduplicate 'document': in a memory each content is one fact already": config.deduplicate == "document",
        "retrieval.adaptive: a memory always puts exact matches of identifiers first and keeps one weight": (
            config.retrieval.adaptive != "anchors"
        ),
        "retrieval.keyword_only_identifiers: a memory embeds an identifier only where no fact names it": (
            not config.retrieval.keyword_only_identifiers
        ),
        "text: a memory indexes speaker, date and one text before": config.text != TextForm(),
        "boosts.recency: a memory ranks by relevance and evidence": boosts.recency > 0,
        "boosts: a memory weighs confirmations and trust 6 to 4, with the sum of both as strength": (
            boosts.trust > 0 and abs(boosts.confirmations - _CONFIRMATIONS_SHARE * total) > 1e-9
        ),
        "diversity: a memory ranks each fact by itself": config.diversity.enabled,
    }
    return tuple(sentence for sentence, is_so in limits.items() if is_so)
