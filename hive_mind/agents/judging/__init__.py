"""Judges of facts and of results, and what they learn from people.

Here are functions of one's own that a manifest or a command names: judges of nodes, and checks of criteria. Whatever starts the
process names them, never a worker, which may come from elsewhere: it has only their names.
"""

import importlib
import sys
from collections.abc import Callable, Mapping
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from hive_mind.errors import InvalidInput


def functions_at(places: Mapping[str, str]) -> dict[str, Callable[..., Any]]:
    """By their names; each place is FILE.py:NAME or MODULE:NAME. Raises `InvalidInput`."""
    return {name: _function(name, place) for name, place in places.items()}


def parted(place: str) -> tuple[str, str]:
    """File or module, and the name in it. Raises `InvalidInput`."""
    where, colon, name = place.rpartition(":")
    if not (colon and where and name.isidentifier()):
        raise InvalidInput(f"{place[:80]!r} names no function: write FILE.py:NAME, or MODULE:NAME")
    return where, name


def _function(called: str, place: str) -> Callable[..., Any]:
    where, name = parted(place)
    try:
        module = _of_file(Path(where)) if where.endswith(".py") else importlib.import_module(where)
    except Exception as error:
        raise InvalidInput(f"function {called}: {where} can't be loaded: {type(error).__name__}: {error}") from error
    function: Any = getattr(module, name, None)
    if not callable(function) and not hasattr(function, "evaluate"):
        raise InvalidInput(f"function {called}: {where} has no function {name!r}")
    return function  # type: ignore[no-any-return]


def _of_file(path: Path) -> ModuleType:
    path = path.absolute()
    name = f"hive_mind_functions_{path.stem}"
    loaded = sys.modules.get(name)
    if loaded is not None and loaded.__file__ == str(path):
        return loaded
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise InvalidInput(f"there is no file {path}")
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
