"""A workspace to begin with: forty documents of an invented product, questions about them, and a naive configuration.

Written for this project. Help pages and old changelogs use the words of the questions and answer something else, so a search
through everything misleads; what the documents say of themselves is enough to mend that.
"""

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from hive_mind.counted import first_of
from hive_mind.errors import InvalidInput
from hive_mind.retrieval.files.workspace import Workspace
from hive_mind.retrieval.files.writing import write_whole

NAIVE = "v1-naive"


def init(folder: Path, *, has_embeddings: bool = True) -> Workspace:
    """Write the example into a folder that is empty or does not exist. Without embeddings it begins with the keyword method.

    The remains of an interrupted call are completed. Raises `InvalidInput` where anything else lies in the folder, and then
    changes nothing.
    """
    return begin(folder, example(has_embeddings=has_embeddings))


def begin(folder: Path, files: dict[str, str]) -> Workspace:
    """The same with other files, given by their path."""
    _refuse_others(folder, files)
    for name, text in files.items():
        write_whole(folder / name, text)
    return Workspace.open(folder)


def example(*, has_embeddings: bool = True) -> dict[str, str]:
    """The files of the example by their path. The golden set comes last: nothing is measured in half a workspace."""
    found = dict(_files(files("hive_mind.retrieval").joinpath("example"), ""))
    naive = f"configs/{NAIVE}.json"
    if not has_embeddings:
        found[naive] = found[naive].replace('"method": "hybrid"', '"method": "keyword"')
    return dict(sorted(found.items(), key=lambda one: (one[0].startswith("evals/"), one[0])))


def _files(folder: Traversable, prefix: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for entry in folder.iterdir():
        if entry.is_dir():
            found += _files(entry, f"{prefix}{entry.name}/")
        else:
            found.append((prefix + entry.name, entry.read_text("utf-8")))
    return found


def _refuse_others(folder: Path, wanted: dict[str, str]) -> None:
    if folder.exists() and not folder.is_dir():
        raise InvalidInput(f"{folder} is a file; name a folder for the workspace")
    paths = sorted(path for path in folder.rglob("*") if not path.is_dir()) if folder.exists() else []
    others = [path.relative_to(folder).as_posix() for path in paths if not _is_ours(path, folder, wanted)]
    if others:
        raise InvalidInput(f"{folder} is not empty ({first_of(others)}), and nothing is overwritten: name another folder")


def _is_ours(path: Path, folder: Path, wanted: dict[str, str]) -> bool:
    text = wanted.get(path.relative_to(folder).as_posix())
    return text is not None and path.read_bytes() == text.encode()
