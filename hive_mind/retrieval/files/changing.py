"""One configuration from another: what is different is written into it, and the result is read like any file.

A configuration is handed around as a tree of what somebody decided; defaults are left out, except those a reader looks for first.

One for an agent's memory is the same ranking, as far as a memory has what it speaks of. A memory and a hive rank by
`RankingSettings`; options without a meaning there are reported, never silently ignored.
"""

import json
from collections.abc import Mapping
from pathlib import Path as File
from typing import Any

from hive_mind.errors import Problem, WorkspaceError
from hive_mind.forms.reading import read
from hive_mind.forms.reading import text_of as text_in
from hive_mind.ranking.pipeline import RankingSettings
from hive_mind.retrieval.files.configuration import RetrievalConfig, TextForm
from hive_mind.retrieval.files.workspace import CONFIG, Workspace

Path = tuple[str, ...]
# Sections whose fields are each a decision of their own. The others are switched on or off as a whole.
_OF_FIELDS = frozenset(("retrieval", "filters", "text", "boosts"))
Changes = Mapping[Path, Any]
"""New values by where they stand; None takes a value out."""


def written(config: RetrievalConfig) -> dict[str, Any]:
    """A configuration as somebody would write it."""
    tree: dict[str, Any] = config.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    decided = tree.pop("retrieval", {})
    fields: dict[str, Any] = {"method": config.retrieval.method, "top_k": config.retrieval.top_k}
    if config.retrieval.method == "hybrid" or "rrf_k" in decided:
        # Left out, it would be guessed from the other fields.
        fields["fusion"] = config.retrieval.fusion
    head = {"name": tree.pop("name"), "collection": config.collection, "retrieval": {**fields, **decided}}
    tree.pop("collection", None)
    return {**head, **tree}


def text_of(config: RetrievalConfig) -> str:
    return json.dumps(written(config), indent=2, ensure_ascii=False)


def changed(config: RetrievalConfig, changes: Changes) -> tuple[RetrievalConfig | None, tuple[Problem, ...]]:
    tree = written(config)
    for path, value in changes.items():
        _put(tree, path, value)
    found_read = read(json.dumps(tree, indent=2), CONFIG)
    return found_read.value, found_read.problems


def differences(config: RetrievalConfig, retrieval_config: RetrievalConfig) -> tuple[Path, ...]:
    """Where two configurations differ: a whole section where it can be switched off, else a field."""
    left, right = written(config), written(retrieval_config)
    return tuple(path for path in _places(left, right) if _at(left, path) != _at(right, path))


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


def _places(left: dict[str, Any], right: dict[str, Any]) -> list[Path]:
    paths: list[Path] = []
    for name in dict.fromkeys([*left, *right]):
        if name in ("name", "collection"):
            continue
        if name in _OF_FIELDS:
            paths += [(name, field) for field in dict.fromkeys([*left.get(name, {}), *right.get(name, {})])]
        else:
            paths.append((name,))
    return paths


def _at(tree: dict[str, Any], path: Path) -> Any:
    value: Any = tree
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


# A memory weighs confirmations to trust like this, and all of it by one strength (`ranking.pipeline`).
_CONFIRMATIONS_SHARE = 0.6


def config_in(file: File) -> RetrievalConfig:
    """A configuration, or what `active.json` of a workspace says is in use. Raises `WorkspaceError` or `InvalidInput`."""
    if file.name == "active.json" and (active := Workspace(file.absolute().parent.parent).active()):
        return active
    text, problems = text_in(file, CONFIG)
    found_read = None if problems else read(text, CONFIG)
    if found_read is None or found_read.value is None:
        raise WorkspaceError(found_read.problems if found_read else problems, str(file))
    return found_read.value


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
