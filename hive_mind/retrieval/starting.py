"""A workspace to begin with: the example, or one of document 000's project.

The example was written for this project: forty documents of an invented product, questions about them, and a naive configuration.
Help pages and old changelogs use the words of the questions and answer something else, so a search through everything misleads;
what the documents say of themselves is enough to mend that.

A project is taken over into a folder of its own: converted, with every change listed. It is only read. Its index and its results
are left behind: both are made anew. Mistakes in a file beyond the differences of form stay, and `validate` shows them.
"""

import json
import re
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, get_args

from hive_mind.counted import first_of
from hive_mind.errors import InvalidInput, reason_of
from hive_mind.forms import Form, spelled
from hive_mind.forms import Path as FormPath
from hive_mind.forms.reading import tree_of, validated
from hive_mind.retrieval import NAME, FieldOf, write_whole
from hive_mind.retrieval.documents import DOCUMENT_SUFFIXES
from hive_mind.retrieval.workspace import COLLECTION, CONFIG, GOLDEN, Workspace

NAIVE = "v1-naive"


def init(folder: Path, *, has_embeddings: bool = True) -> Workspace:
    """Write the example into a folder that is empty or does not exist. Without embeddings it begins with the keyword method.

    The remains of an interrupted call are completed. Raises `InvalidInput` where anything else lies in the folder, and then
    changes nothing.
    """
    return begin(folder, example(has_embeddings=has_embeddings))


def begin(folder: Path, files: dict[str, str]) -> Workspace:
    """The same with other files, given by their path."""
    if folder.exists() and not folder.is_dir():
        raise InvalidInput(f"{folder} is a file; name a folder for the workspace")
    paths = sorted(path for path in folder.rglob("*") if not path.is_dir()) if folder.exists() else []
    strangers = [path.relative_to(folder).as_posix() for path in paths if not _is_ours(path, folder, files)]
    if strangers:
        raise InvalidInput(f"{folder} is not empty ({first_of(strangers)}), and nothing is overwritten: name another folder")
    for name, text in files.items():
        write_whole(folder / name, text)
    return Workspace.open(folder)


def example(*, has_embeddings: bool = True) -> dict[str, str]:
    """The files of the example by their path. The golden set comes last: nothing is measured in half a workspace."""
    texts = dict(_example_files(files("hive_mind.retrieval").joinpath("example"), ""))
    naive = f"configs/{NAIVE}.json"
    if not has_embeddings:
        texts[naive] = texts[naive].replace('"method": "hybrid"', '"method": "keyword"')
    return dict(sorted(texts.items(), key=lambda pair: (pair[0].startswith("evals/"), pair[0])))


def _example_files(folder: Traversable, prefix: str) -> list[tuple[str, str]]:
    texts: list[tuple[str, str]] = []
    for entry in folder.iterdir():
        if entry.is_dir():
            texts += _example_files(entry, f"{prefix}{entry.name}/")
        else:
            texts.append((prefix + entry.name, entry.read_text("utf-8")))
    return texts


def _is_ours(path: Path, folder: Path, texts: dict[str, str]) -> bool:
    text = texts.get(path.relative_to(folder).as_posix())
    return text is not None and path.read_bytes() == text.encode()


Object = dict[str, Any]

_TYPES = [type for type in get_args(FieldOf.model_fields["type"].annotation) if type != "text"]
_WHY = {"embedding": ": the model is chosen by HIVE_MIND_EMBED_MODEL or --model"}

_ACTIVE = "configs/active.json"
_LABELS = ("relevant", "distractors")


@dataclass(slots=True)
class Converted:
    """A file's value as it is now, and what was changed about it."""

    value: Object
    changes: list[str] = field(default_factory=list)

    def without_unknown(self, form: Form[Any]) -> "Converted":
        _, errors = validated(self.value, form)
        for error in errors:
            if error["type"] == "extra_forbidden":
                _take(self.value, error["loc"])
                self.changes.append(f"{spelled(error['loc'])} is left out{_WHY.get(str(error['loc'][-1]), ', nothing reads it')}")
        return self


def converted_collection(value: Object, documents_dir: str) -> Converted:
    """A collection whose documents lie in this folder of the workspace."""
    converted = Converted(dict(value))
    field_names = value.get("filterable_fields")
    if isinstance(field_names, dict):
        types = {name: declared.get("type") if isinstance(declared, dict) else "" for name, declared in field_names.items()}
        fields = {name: {"type": type if type in _TYPES else "keyword", "filterable": True} for name, type in types.items()}
        converted.value["fields"] = {**fields, **_object(value, "fields")}
        del converted.value["filterable_fields"]
        converted.changes.append(f"filterable_fields is not a list: {', '.join(fields)} declared under fields")
    if (written_dir := value.get("documents_dir", "documents")) != documents_dir:
        converted.value["documents_dir"] = documents_dir
        converted.changes.append(f"documents_dir {written_dir} is {documents_dir}, as seen from the workspace")
    return converted


def converted_golden(value: Object, documents_dirs: Sequence[str]) -> Converted:
    """Questions whose documents may be given by a path that begins with one of these folders."""
    converted = Converted(dict(value))
    queries = value.get("queries")
    if not isinstance(queries, list):
        return converted
    converted.value["queries"] = [
        query | {name: list(_ids(query[name], documents_dirs)) for name in _LABELS if isinstance(query.get(name), list)}
        if isinstance(query, dict)
        else query
        for query in queries
    ]
    if converted.value["queries"] != queries:
        converted.changes.append("documents are called by their path below the documents' folder")
    return converted


def _ids(paths: list[Any], folders: Sequence[str]) -> Iterator[Any]:
    for path in paths:
        inside = (
            path.removeprefix(f"{folder}/") for folder in folders if isinstance(path, str) and path.startswith(f"{folder}/")
        )
        yield next(inside, path)


def _object(value: Object, key: str) -> Object:
    inner = value.get(key)
    return inner if isinstance(inner, dict) else {}


def _take(value: Any, path: FormPath) -> None:
    *above, last = path
    for step in above:
        value = value[step]
    del value[last]


@dataclass(slots=True)
class TakenOver:
    """Files by their path in the new workspace, and what was changed, a line each."""

    files: dict[str, str] = field(default_factory=dict)
    changes: list[str] = field(default_factory=list)

    def take(self, name: str, text: str, converted: Converted, label: str = "") -> None:
        """A file; as it stands, comments and all, where nothing is changed."""
        self.files[name] = f"{json.dumps(converted.value, indent=2, ensure_ascii=False)}\n" if converted.changes else text
        self.changes += [f"{label or name}: {change}" for change in converted.changes]


def taken_over(source: Path) -> TakenOver:
    """Everything to be written. Raises `InvalidInput` for what is no workspace, and for a file that can't be read."""
    project, takeover = Workspace.open(source), TakenOver()
    folders: dict[str, Path] = {}
    named: set[str] = set()
    for name, text, value in _files(project, "collections", COLLECTION):
        documents_dir = str(value.get("documents_dir", "documents"))
        folder, place = _documents(project, f"collections/{name}.json", documents_dir)
        folders[folder] = place
        named |= {documents_dir.strip("/"), folder}
        takeover.take(f"collections/{name}.json", text, converted_collection(value, folder).without_unknown(COLLECTION))
    for name, text, value in _files(project, "configs", CONFIG):
        _take_config(takeover, name, text, value)
    if project.golden_file.exists():
        text, value = _read(project, project.golden_file, GOLDEN)
        # The longest first: one may lie in another.
        converted = converted_golden(value, sorted(named, key=len, reverse=True))
        takeover.take("evals/golden.json", text, converted.without_unknown(GOLDEN))
    for folder, place in folders.items():
        for path in sorted(place.rglob("*")):
            if path.suffix.lower() in DOCUMENT_SUFFIXES and path.is_file() and path.resolve().is_relative_to(place.resolve()):
                document_name = f"{folder}/{path.relative_to(place).as_posix()}"
                try:
                    takeover.files[document_name] = path.read_text("utf-8")
                except (OSError, UnicodeDecodeError) as error:
                    takeover.changes.append(f"{document_name} is left out: {reason_of(error)}")
        if not place.resolve().is_relative_to(source.resolve()):
            takeover.changes.append(f"{folder}/ is a copy of {place}, which lies beside the project")
    return takeover


def _take_config(takeover: TakenOver, file: str, text: str, value: Object) -> None:
    """The file is called as the configuration calls itself, unless another one is."""
    old, name = f"configs/{file}.json", str(value.get("name", ""))
    if old == _ACTIVE and not name:
        # It only names the one in use, as ours does.
        takeover.files[old] = text
        return
    new = old if old == _ACTIVE or not re.fullmatch(NAME, name) else f"configs/{name}.json"
    if new in takeover.files or new == _ACTIVE:
        new = old
    converted = Converted(dict(value))
    # Where more results were allowed than are ever shown, the smaller number stays: it finds the same.
    top_k, most = _object(value, "retrieval").get("top_k", 10), _object(value, "dynamic_k").get("max_results")
    if isinstance(top_k, int) and isinstance(most, int) and most > top_k:
        converted.value["dynamic_k"] = {**value["dynamic_k"], "max_results": top_k}
        converted.changes.append(f"dynamic_k.max_results {most} is {top_k}: top_k shows no more")
    takeover.take(new, text, converted.without_unknown(CONFIG), old)
    if new != old:
        takeover.changes.append(f"{old} is {new}, as it calls itself")


def _documents(project: Workspace, file: str, folder: str) -> tuple[str, Path]:
    """Where a collection's documents are to be, and where they are: a path may begin at the repository, above the project."""
    root, parts = project.root.resolve(), Path(folder).parts
    if ".." not in parts and not Path(folder).is_absolute():
        inner = [(root, parts[start:]) for start in range(len(parts))]
        for above, names in (*inner, (root.parent, parts)):
            if names and above.joinpath(*names).is_dir():
                return "/".join(names), above.joinpath(*names)
    raise InvalidInput(f"{project.root / file}: there is no folder {folder} in {root} or beside it: correct documents_dir")


def _files(project: Workspace, folder: str, form: Form[Any]) -> Iterator[tuple[str, str, Object]]:
    for file in sorted((project.root / folder).glob("*.json")):
        yield file.stem, *_read(project, file, form)


def _read(project: Workspace, file: Path, form: Form[Any]) -> tuple[str, Object]:
    text, problems = project.text_of(file, form)
    tree, wrong = tree_of(text, form) if not problems else (None, problems)
    if tree is None or wrong or not isinstance(tree.value, dict):
        reason = "; ".join(f"line {problem.line}: {problem.message}" for problem in wrong) or "it is not an object {…}"
        raise InvalidInput(f"{file} can't be read: {reason}: fix it first")
    return text, deepcopy(tree.value)
