"""A workspace of document 000's project, taken over into a folder of its own: converted, with every change told.

The project is only read. Its index and its results are left behind: both are made anew. What is wrong with a file beyond the
differences of form stays, and `validate` tells it.
"""

import json
import re
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hive_mind.errors import InvalidInput
from hive_mind.forms.form import Form
from hive_mind.forms.reading import tree_of
from hive_mind.retrieval import converting
from hive_mind.retrieval.configuration import NAME
from hive_mind.retrieval.converting import Converted, Object
from hive_mind.retrieval.documents import DOCUMENT_SUFFIXES
from hive_mind.retrieval.forms import COLLECTION, CONFIG, GOLDEN
from hive_mind.retrieval.workspace import Workspace

_ACTIVE = "configs/active.json"


@dataclass(slots=True)
class TakenOver:
    """Files by their path in the new workspace, and what was changed, a line each."""

    files: dict[str, str] = field(default_factory=dict)
    changes: list[str] = field(default_factory=list)

    def take(self, name: str, text: str, converted: Converted, told: str = "") -> None:
        """A file; as it stands, comments and all, where nothing is changed."""
        self.files[name] = f"{json.dumps(converted.value, indent=2, ensure_ascii=False)}\n" if converted.changes else text
        self.changes += [f"{told or name}: {change}" for change in converted.changes]


def taken_over(source: Path) -> TakenOver:
    """Everything to be written. Raises `InvalidInput` for what is no workspace, and for a file that can't be read."""
    project, found = Workspace.open(source), TakenOver()
    folders: dict[str, Path] = {}
    named: set[str] = set()
    for name, text, value in _files(project, "collections", COLLECTION):
        told = str(value.get("documents_dir", "documents"))
        folder, place = _documents(project, f"collections/{name}.json", told)
        folders[folder] = place
        named |= {told.strip("/"), folder}
        found.take(f"collections/{name}.json", text, converting.collection(value, folder).without_unknown(COLLECTION))
    for name, text, value in _files(project, "configs", CONFIG):
        _take_config(found, name, text, value)
    if project.golden_file.exists():
        text, value = _read(project, project.golden_file, GOLDEN)
        # The longest first: one may lie in another.
        converted = converting.golden(value, sorted(named, key=len, reverse=True))
        found.take("evals/golden.json", text, converted.without_unknown(GOLDEN))
    for folder, place in folders.items():
        _take_documents(found, folder, place)
        if not place.resolve().is_relative_to(source.resolve()):
            found.changes.append(f"{folder}/ is a copy of {place}, which lies beside the project")
    return found


def _take_config(found: TakenOver, file: str, text: str, value: Object) -> None:
    """The file is called as the configuration calls itself, unless another one is."""
    old, name = f"configs/{file}.json", str(value.get("name", ""))
    if old == _ACTIVE and not name:
        # It only names the one in use, as ours does.
        found.files[old] = text
        return
    new = old if old == _ACTIVE or not re.fullmatch(NAME, name) else f"configs/{name}.json"
    if new in found.files or new == _ACTIVE:
        new = old
    found.take(new, text, converting.configuration(value).without_unknown(CONFIG), old)
    if new != old:
        found.changes.append(f"{old} is {new}, as it calls itself")


def _take_documents(found: TakenOver, folder: str, place: Path) -> None:
    for path in sorted(place.rglob("*")):
        if path.suffix.lower() in DOCUMENT_SUFFIXES and path.is_file() and path.resolve().is_relative_to(place.resolve()):
            name = f"{folder}/{path.relative_to(place).as_posix()}"
            try:
                found.files[name] = path.read_text("utf-8")
            except (OSError, UnicodeDecodeError) as error:
                found.changes.append(f"{name} is left out: {error}")


def _documents(project: Workspace, file: str, told: str) -> tuple[str, Path]:
    """Where a collection's documents are to be, and where they are: a path may begin at the repository, above the project."""
    root, parts = project.root.resolve(), Path(told).parts
    if ".." not in parts and not Path(told).is_absolute():
        inner = [(root, parts[start:]) for start in range(len(parts))]
        for above, some in (*inner, (root.parent, parts)):
            if some and above.joinpath(*some).is_dir():
                return "/".join(some), above.joinpath(*some)
    raise InvalidInput(f"{project.root / file}: there is no folder {told} in {root} or beside it: correct documents_dir")


def _files(project: Workspace, folder: str, form: Form[Any]) -> Iterator[tuple[str, str, Object]]:
    for file in sorted((project.root / folder).glob("*.json")):
        yield file.stem, *_read(project, file, form)


def _read(project: Workspace, file: Path, form: Form[Any]) -> tuple[str, Object]:
    text, problems = project.text_of(file, form)
    tree, wrong = tree_of(text, form) if not problems else (None, problems)
    if tree is None or wrong or not isinstance(tree.value, dict):
        told = "; ".join(f"line {one.line}: {one.message}" for one in wrong) or "it is no object {…}"
        raise InvalidInput(f"{file} can't be read: {told}: mend it first")
    return text, deepcopy(tree.value)
