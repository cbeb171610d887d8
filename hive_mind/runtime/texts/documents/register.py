"""Which reader a file needs. A new format is one new file in `formats`, which is found there.

The beginning of a file counts for more than its name: people rename files.
"""

import pkgutil
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol, cast

from hive_mind.runtime.texts.document import Document
from hive_mind.runtime.texts.documents import formats


class DocumentFormat(Protocol):
    """A module of `formats`. It imports its package only in `read`: this list is needed by commands that read nothing."""

    SUFFIXES: tuple[str, ...]
    PACKAGE: str
    """The package that `read` imports and the extra `readers` installs, "" for nothing."""

    def is_one(self, body: bytes, /) -> bool:
        """Whether a file's bytes can be nothing else."""
        ...

    def read(self, body: bytes, /) -> Document:
        """Raises `Refused`, or anything for a damaged file. `reading` limits its time and memory."""
        ...


@cache
def known() -> dict[str, DocumentFormat]:
    """All formats by name."""
    return {module.name: named(module.name) for module in pkgutil.iter_modules(formats.__path__)}


def named(name: str) -> DocumentFormat:
    """One format, without loading the others."""
    return cast(DocumentFormat, import_module(f"{formats.__name__}.{name}"))


@cache
def suffixes() -> tuple[str, ...]:
    """How the names of documents end."""
    return tuple(suffix for format in known().values() for suffix in format.SUFFIXES)


def format_of(path: Path, body: bytes) -> str | None:
    """The name of the format that a file has; None for one that is no document."""
    by_content = next((name for name, format in known().items() if format.is_one(body)), None)
    return by_content or next((name for name, format in known().items() if path.suffix.lower() in format.SUFFIXES), None)


def is_installed(name: str) -> bool:
    """Whether the package that reads this format is there."""
    package = known()[name].PACKAGE
    return not package or find_spec(package) is not None
