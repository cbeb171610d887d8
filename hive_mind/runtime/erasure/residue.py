"""The last look after an erasure: which files of a home still have a byte of what was erased.

Whatever else has quoted it (a run's ledger, a question that waits for a person, a log) is found here and named.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

_BLOCK_BYTES = 8 << 20


def residue(folder: Path, texts: Iterable[str]) -> Iterator[Path]:
    """Files below a folder in which one of these texts stands, as it is or as JSON writes it; letter case does not matter."""
    wanted = _wanted(texts)
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink() and _has(path, wanted):
            yield path


def has_residue(path: Path, texts: Iterable[str]) -> bool:
    """Whether one of these texts stands in a file."""
    return _has(path, _wanted(texts))


def _wanted(texts: Iterable[str]) -> Sequence[bytes]:
    return sorted({form for text in texts if text.strip() for form in _forms(text)})


def _forms(text: str) -> Iterator[bytes]:
    yield text.encode("utf-8", "replace").lower()
    yield msgspec.json.encode(text)[1:-1].lower()


def _has(path: Path, wanted: Sequence[bytes]) -> bool:
    rest, overlap = b"", max(map(len, wanted), default=1) - 1
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            window = rest + block.lower()
            if any(one in window for one in wanted):
                return True
            rest = window[-overlap:] if overlap else b""
    return False
