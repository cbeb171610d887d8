"""Load a back end by its name: `load("store", "sqlite")` imports `hive_mind.store.sqlite`.

The file name is the public name, so a new back end is one new file. Nobody else imports one. Names match `[a-z_]+` and
only modules of this package are ever imported: no configuration file can make us load other code.
"""

import importlib
import logging
import pkgutil
from functools import cache
from types import ModuleType

from hive_mind.errors import BackendNotInstalled, UnknownBackend
from hive_mind.regex import regex

_log = logging.getLogger(__name__)

_NAME = regex(r"[a-z_]+")


def known(kind: str) -> tuple[str, ...]:
    """Names of all back ends of a kind (`store`, `embed`, `ann`, `llm`, `journal`, `ledger`, `bus`, …), installed or not."""
    package = importlib.import_module(f"hive_mind.{kind}")
    return tuple(sorted(m.name for m in pkgutil.iter_modules(package.__path__) if m.name not in SHARED and m.name[0] != "_"))


def load(kind: str, name: str) -> ModuleType:
    """The back end's module.

    Raises `UnknownBackend` for a name that does not exist, `BackendNotInstalled` when a package it needs is missing.
    """
    if (kind, name) in _FORMER_NAMES:
        name = _today(kind, name)
    module = f"hive_mind.{kind}.{name}"
    if not _NAME.fullmatch(name) or name in SHARED or name[0] == "_":
        raise UnknownBackend(kind, name, known(kind))
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name == module:
            raise UnknownBackend(kind, name, known(kind)) from None
        if (error.name or "").startswith("hive_mind"):
            raise
        raise BackendNotInstalled(kind, name, extra_of(kind, name)) from error


def extra_of(kind: str, name: str) -> str:
    """The extra that installs a back end's packages, as named in pyproject.toml."""
    return _EXTRAS.get((kind, name), name)


# Read without importing the back end, which may be what fails.
_EXTRAS = {
    ("embed", "sentence_transformers"): "embeddings",
    ("embed", "openai"): "openai",
    ("ann", "usearch"): "ann",
    ("ann", "quantised"): "ann",
    ("llm", "providers"): "llm",
    ("credentials", "fernet"): "credentials",
    ("tools", "mcp"): "mcp",
}

# A name that manifests and settings may still give.
_FORMER_NAMES = {("store", "kuzu"): "sqlite"}

# Modules that are no back end: what those of a kind have in common.
SHARED = frozenset({"base", "address", "codec", "dead_letters", "functions", "graph", "mailbox", "redaction"})


@cache
def _today(kind: str, name: str) -> str:
    """The name that it has today; said once."""
    today = _FORMER_NAMES[kind, name]
    _log.warning("%s %r is a former name of %r, which is used: set HIVE_MIND_%s=%s", kind, name, today, kind.upper(), today)
    return today
