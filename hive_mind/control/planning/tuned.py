"""The settings of each part, of the sections of a manifest that inherit from them; and what depends on more than one section."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from hive_mind.control.manifests.expansion import names_of
from hive_mind.control.manifests.manifest import Promotion, Retrieval, Spec
from hive_mind.control.manifests.sections import ManifestSection
from hive_mind.hive.policy.expiry import ExpirySettings
from hive_mind.hive.policy.node_policy import PolicySettings
from hive_mind.hive.query.latencies import ScatterSettings
from hive_mind.hive.replication.gossip import GossipSettings
from hive_mind.hive.settings import HiveSettings
from hive_mind.hive.trust.trust_book import TrustSettings
from hive_mind.judge.judge_settings import DeskConfig, ModelReviewConfig, ReviewConfig
from hive_mind.memory.gate.promotion_settings import PromotionSettings
from hive_mind.ranking.pipeline import RankingSettings
from hive_mind.runtime.settings import DEFAULT_EMBEDDING_MODEL
from hive_mind.runtime.workers.config import ModelsConfig, WatchConfig

Tuned = TypeVar("Tuned")


def tuning(spec: Spec, quota_per_agent: int) -> HiveSettings:
    """How nodes behave; `quota_per_agent` where the manifest says nothing of it."""
    standing = PolicySettings(
        moderators=_moderators(spec),
        quota_per_agent=spec.trust.quota_per_agent or quota_per_agent,
        expiry=filled(ExpirySettings, spec.lifecycle),
        trust=filled(TrustSettings, spec.trust),
    )
    gossip, scatter = filled(GossipSettings, spec.gossip), filled(ScatterSettings, spec.retrieval)
    return filled(HiveSettings, spec.lifecycle, standing=standing, gossip=gossip, scatter=scatter)


def gate(promotion: Promotion) -> PromotionSettings:
    """Settings of the gate that facts pass to leave home."""
    return filled(PromotionSettings, promotion, allowed_instructions=tuple(sorted(promotion.allowed_instructions)))


def desk_of(spec: Spec) -> str:
    """The agent at whose desk people decide."""
    return spec.judge.desk or spec.queen.agent or names_of(spec.agents[0])[0]


def review(spec: Spec, nodes: Mapping[str, str]) -> ReviewConfig:
    """The judges of facts that leave home, and of runs; `nodes` are those of the agents. Without a judge no desk is needed."""
    # Questions of runs, and tickets about them, go to the queen's.
    desk = desk_of(spec) if has_desk(spec) else ""
    rules = tuple(rule.model_dump(mode="json", by_alias=True) for rule in spec.rules)
    at = DeskConfig(desk, nodes.get(desk, ""))
    return filled(ReviewConfig, spec.judge, rules=rules, desk=at, model=_judging_model(spec))


def has_desk(spec: Spec) -> bool:
    """Whether people decide for the whole fleet at one desk."""
    return bool(spec.judge.facts != "off" or spec.queen.agent or spec.judge.desk)


def watch(spec: Spec, here: Iterable[str]) -> WatchConfig:
    """The watch over runs; `here`: the agents of a process, which learns of the others only if it has to look at them."""
    health, queen = spec.health, spec.queen.agent
    if not {health.agent, queen} & set(here) - {""}:
        return WatchConfig()
    domains = {name: tuple(filter(None, (agent.domain,))) for agent in spec.agents for name in names_of(agent)}
    return filled(WatchConfig, health, watcher=health.agent, queen=queen, agents=domains)


def ranking(retrieval: Retrieval) -> RankingSettings:
    return filled(RankingSettings, retrieval, refine_within_ms=retrieval.deadline_ms)


def models(spec: Spec) -> ModelsConfig:
    """Back ends. Where nothing is embedded, nothing is said of how."""
    embedding = spec.embedding
    config = filled(ModelsConfig, embedding, spec.llm, store=spec.store, embed=embedding.kind, ann=embedding.index)
    is_remote, model = embedding.kind == "openai", embedding.embed_model or DEFAULT_EMBEDDING_MODEL
    return replace(
        config,
        embed_model=model if embedding.kind != "none" else "",
        embed_url=config.embed_url if is_remote else "",
        embed_key=config.embed_key if is_remote else "",
    )


def _moderators(spec: Spec) -> tuple[str, ...]:
    """Where facts are judged, the desk is one, too: rules that people approve hold for all, and so does what they find wrong."""
    desk = {desk_of(spec)} if spec.judge.facts != "off" or spec.judge.desk else set()
    return tuple(sorted({*spec.trust.moderators, *desk}))


def _judging_model(spec: Spec) -> ModelReviewConfig:
    """The fleet's model judges facts; runs are judged by that of their agent, where none is named for judging."""
    judge = spec.judge
    return filled(ModelReviewConfig, judge, name=judge.name or (spec.llm.llm if judge.facts == "model" else ""))


def filled(kind: Callable[..., Tuned], *sections: ManifestSection, **others: object) -> Tuned:
    """Settings with the values of these sections' fields of the same names, and these others."""
    names = inspect.signature(kind).parameters.keys()
    values = {name: getattr(section, name) for section in sections for name in names & type(section).model_fields.keys()}
    return kind(**values | others)
