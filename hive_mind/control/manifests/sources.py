"""Which files an agent learns: files, folders and globs of a manifest, found and hashed.

Patterns are relative to the manifest's folder. Hidden files are skipped unless they are named, and no link is followed that leads
out of the folder: a file elsewhere is named by its whole path. The number of files has a bound.
"""

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from hive_mind.errors import InvalidInput
from hive_mind.runtime.settings import refuse_unwritable_name
from hive_mind.runtime.workers.config import SourceConfig

FILES_MAX = 10_000
# Looked at, not found: `**` from the root of a disk ends with a message and not after an hour.
_ENTRIES_MAX = 200_000
_WILDCARDS = "*?["

_Stamp = tuple[int, int, int]


@dataclass(slots=True)
class _Budget:
    entries: int = 0

    def spend(self, path: Path) -> None:
        self.entries += 1
        if self.entries > _ENTRIES_MAX:
            much = f"more than {_ENTRIES_MAX:,} files and folders to look at, the last in {path}"
            raise InvalidInput(f"sources: {much}; name a smaller one")


@dataclass(slots=True)
class SourceReader:
    """Finds and hashes; remembers the hash of a file until the file changes, for those who look again and again."""

    _known: dict[Path, tuple[_Stamp, str]] = field(default_factory=dict)

    def read(self, patterns_by_agent: Mapping[str, Sequence[str]], folder: Path) -> dict[str, tuple[SourceConfig, ...]]:
        """Files by agent; a pattern that names nothing any more adds none.

        Raises `InvalidInput` beyond the bounds, and for a name that can't be kept.
        """
        paths: dict[str, tuple[Path, ...]] = {}
        for pattern in {named_pattern for patterns in patterns_by_agent.values() for named_pattern in patterns}:
            paths[pattern] = tuple(sorted(matching(pattern, folder)))
        distinct = {path for several in paths.values() for path in several}
        if len(distinct) > FILES_MAX:
            raise InvalidInput(f"sources: {len(distinct):,} files are more than {FILES_MAX:,}; name fewer")
        for path in sorted(distinct):
            refuse_unwritable_name(path, "rename the file or folder")
        digests = {path: self._digest(path) for path in distinct}
        return {
            agent: _configs((path for named_pattern in patterns for path in paths[named_pattern]), digests)
            for agent, patterns in patterns_by_agent.items()
        }

    def _digest(self, path: Path) -> str:
        """SHA-256 of the file; "" for one that can't be read, which its agent will say when it tries."""
        try:
            status = path.stat()
            stamp = (status.st_size, status.st_mtime_ns, status.st_ino)
            former = self._known.get(path)
            if former is not None and former[0] == stamp:
                return former[1]
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError:
            return ""
        self._known[path] = (stamp, digest)
        return digest


def matching(pattern: str, folder: Path) -> Iterator[Path]:
    """Files that a pattern names: itself, everything in the folder it names, or what its wildcards match."""
    if is_linked_out(pattern, folder):
        return
    base, wild = _split(pattern, folder)
    budget, paths = _Budget(), set[Path]()
    for path in _matches(base, wild, base.resolve(), budget):
        for file in _files(path, base.resolve(), budget):
            if file not in paths:
                paths.add(file)
                yield file


def roots_of(patterns: Iterable[str], folder: str) -> tuple[str, ...]:
    """The folders, and single files, that an agent may learn from: the manifest's, and what is named by its whole path."""
    paths = {_split(pattern, Path(folder))[0] for pattern in patterns}
    return tuple(sorted({folder, *(str(path) for path in paths if not path.is_relative_to(folder))}))


def is_linked_out(pattern: str, folder: Path) -> bool:
    """Whether what a pattern names in the manifest's folder is, by a link, somewhere else."""
    base = _split(pattern, folder)[0]
    return base.is_relative_to(folder) and not base.resolve().is_relative_to(folder.resolve())


def _split(pattern: str, folder: Path) -> tuple[Path, tuple[str, ...]]:
    """The path before its first wildcard, and the parts from there on."""
    parts = Path(pattern).expanduser().parts
    wild_at = next((at for at, part in enumerate(parts) if _is_wild(part)), len(parts))
    return Path(os.path.normpath(folder.joinpath(*parts[:wild_at]))), parts[wild_at:]


def _matches(base: Path, parts: tuple[str, ...], root: Path, budget: _Budget) -> Iterator[Path]:
    if not parts:
        yield base
        return
    head, rest = parts[0], parts[1:]
    if head == "**":
        yield from _matches(base, rest, root, budget)
    if not _is_wild(head):
        yield from _matches(base / head, rest, root, budget)
        return
    for entry in _entries(base, root, budget):
        if head == "**":
            if entry.is_dir() and not entry.is_symlink():
                yield from _matches(entry, parts, root, budget)
        elif fnmatchcase(entry.name, head):
            yield from _matches(entry, rest, root, budget)


def _files(path: Path, root: Path, budget: _Budget) -> Iterator[Path]:
    if path.is_file():
        yield path
    elif path.is_dir():
        for entry in _entries(path, root, budget):
            # Links to folders may lead round in a circle.
            if not (entry.is_symlink() and entry.is_dir()):
                yield from _files(entry, root, budget)


def _entries(folder: Path, root: Path, budget: _Budget) -> list[Path]:
    """The entries of a folder that may be found by a wildcard. A folder that can't be read is empty."""
    paths: list[Path] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                budget.spend(folder)
                path = Path(entry.path)
                if not entry.name.startswith(".") and not (entry.is_symlink() and _leads_out(path, root)):
                    paths.append(path)
    except OSError:
        return []
    return sorted(paths)


def _leads_out(link: Path, root: Path) -> bool:
    try:
        return not link.resolve(strict=True).is_relative_to(root)
    except (OSError, RuntimeError):
        return True


def _is_wild(part: str) -> bool:
    return any(sign in part for sign in _WILDCARDS)


def _configs(paths: Iterable[Path], digests: Mapping[Path, str]) -> tuple[SourceConfig, ...]:
    return tuple(SourceConfig(str(path), digests[path]) for path in dict.fromkeys(paths))
