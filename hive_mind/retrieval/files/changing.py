"""One configuration from another: what is different is written into it, and the result is read like any file.

A configuration is handed around as a tree of what somebody decided; defaults are left out, except those a reader looks for first.
"""

import json
from collections.abc import Mapping
from typing import Any

from hive_mind.errors import Problem
from hive_mind.forms.reading import read
from hive_mind.retrieval.files.configuration import RetrievalConfig
from hive_mind.retrieval.files.workspace import CONFIG

Path = tuple[str, ...]
# Sections whose fields are each a decision of their own. The others are switched on or off as a whole.
_OF_FIELDS = frozenset(("retrieval", "filters", "text", "boosts"))
Changes = Mapping[Path, Any]
"""New values by where they stand; None takes a value out."""


def written(config: RetrievalConfig) -> dict[str, Any]:
    """A configuration as somebody would write it."""
    tree: dict[str, Any] = config.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    decided = tree.pop("retrieval", {})
    shown: dict[str, Any] = {"method": config.retrieval.method, "top_k": config.retrieval.top_k}
    if config.retrieval.method == "hybrid" or "rrf_k" in decided:
        # Left out, it would be guessed from the other fields.
        shown["fusion"] = config.retrieval.fusion
    head = {"name": tree.pop("name"), "collection": config.collection, "retrieval": {**shown, **decided}}
    tree.pop("collection", None)
    return {**head, **tree}


def text_of(config: RetrievalConfig) -> str:
    return json.dumps(written(config), indent=2, ensure_ascii=False)


def changed(config: RetrievalConfig, changes: Changes) -> tuple[RetrievalConfig | None, tuple[Problem, ...]]:
    """A configuration with other values, or what is wrong with them."""
    tree = written(config)
    for path, value in changes.items():
        _put(tree, path, value)
    found_read = read(json.dumps(tree, indent=2), CONFIG)
    return found_read.value, found_read.problems


def differences(config: RetrievalConfig, retrieval_config: RetrievalConfig) -> tuple[Path, ...]:
    """Where two configurations differ: a whole section where it can be switched off, else a field."""
    one, two = written(config), written(retrieval_config)
    return tuple(path for path in _places(one, two) if _at(one, path) != _at(two, path))


def without(config: RetrievalConfig, path: Path, retrieval_config: RetrievalConfig) -> RetrievalConfig | None:
    """A configuration with one place as it is in the other; None where that makes none."""
    return changed(config, {path: _at(written(retrieval_config), path)})[0]


def values_written(config: RetrievalConfig) -> int:
    """How many values somebody had to decide: what says the same in fewer is easier to understand."""
    return _values(written(config))


def is_same(config: RetrievalConfig, retrieval_config: RetrievalConfig) -> bool:
    """Whether both search in the same way, whatever they are called."""
    return config.model_copy(update={"name": "x"}) == retrieval_config.model_copy(update={"name": "x"})


def _put(tree: dict[str, Any], path: Path, value: Any) -> None:
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


def _places(one: dict[str, Any], two: dict[str, Any]) -> list[Path]:
    paths: list[Path] = []
    for name in dict.fromkeys([*one, *two]):
        if name in ("name", "collection"):
            continue
        if name in _OF_FIELDS:
            paths += [(name, field) for field in dict.fromkeys([*one.get(name, {}), *two.get(name, {})])]
        else:
            paths.append((name,))
    return paths


def _at(tree: dict[str, Any], path: Path) -> Any:
    found: Any = tree
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return found
