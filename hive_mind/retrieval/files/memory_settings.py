"""A configuration for an agent's memory instead of a collection: the same ranking, as far as a memory has what it speaks of.

A memory and a hive rank by `RankingSettings`. Options without a meaning there are reported, never silently ignored.
"""

from pathlib import Path

from hive_mind.errors import WorkspaceError
from hive_mind.forms.reading import read, text_of
from hive_mind.ranking.pipeline import RankingSettings
from hive_mind.retrieval.files.configuration import RetrievalConfig, TextForm
from hive_mind.retrieval.files.workspace import CONFIG, Workspace

# A memory weighs confirmations to trust like this, and all of it by one strength (`ranking.pipeline`).
_CONFIRMATIONS_SHARE = 0.6


def config_in(file: Path) -> RetrievalConfig:
    """A configuration, or what `active.json` of a workspace says is in use. Raises `WorkspaceError` or `InvalidInput`."""
    if file.name == "active.json" and (active := Workspace(file.absolute().parent.parent).active()):
        return active
    text, problems = text_of(file, CONFIG)
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
