"""Which setting each field of a manifest tunes: the one of its name, but for those that are named here.

Units change here: a manifest has seconds, settings have milliseconds.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from hive_mind.control.manifests.expansion import names_of
from hive_mind.control.manifests.manifest import Gossip, Observability, Promotion, Retrieval, Spec
from hive_mind.control.manifests.sections import ManifestSection
from hive_mind.hive.membership.membership import MembershipSettings
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
from hive_mind.runtime.workers.config import ModelsConfig, SeenConfig, WatchConfig

Tuned = TypeVar("Tuned")


def milliseconds(seconds: float) -> int:
    """At least one: 0 often means "never"."""
    return max(round(seconds * 1000), 1)


def tuning(spec: Spec, quota_per_agent: int) -> HiveSettings:
    """How nodes behave; `quota_per_agent` where the manifest says nothing of it."""
    return HiveSettings(
        standing=PolicySettings(
            moderators=_moderators(spec),
            quota_per_agent=spec.trust.quota_per_agent or quota_per_agent,
            expiry=_filled(ExpirySettings, spec.lifecycle, is_on=spec.lifecycle.forget, max_age_hours=spec.lifecycle.ttl_hours),
            trust=_filled(TrustSettings, spec.trust, quarantine_trust=spec.trust.quarantine_below),
        ),
        gossip=_filled(GossipSettings, spec.gossip, period_ms=milliseconds(spec.gossip.period_s)),
        scatter=ScatterSettings(deadline_ms=milliseconds(spec.retrieval.deadline_s)),
        housekeeping_ms=milliseconds(spec.lifecycle.gc_period_s),
    )


def membership(gossip: Gossip) -> MembershipSettings:
    return MembershipSettings(beat_ms=milliseconds(gossip.beat_s), suspect_after_ms=milliseconds(gossip.suspect_after_s))


def gate(promotion: Promotion) -> PromotionSettings:
    """Settings of the gate that facts pass to leave home."""
    allowed = tuple(sorted(promotion.allow_instructions))
    return _filled(PromotionSettings, promotion, allowed_instructions=allowed, is_open=promotion.open)


def desk_of(spec: Spec) -> str:
    """The agent at whose desk people decide."""
    return spec.judge.desk or spec.queen.agent or names_of(spec.agents[0])[0]


def review(spec: Spec, nodes: Mapping[str, str]) -> ReviewConfig:
    """The judges of facts that leave home, and of runs; `nodes` are those of the agents. Without a judge no desk is needed."""
    # Questions of runs, and tickets about them, go to the queen's.
    desk = desk_of(spec) if has_desk(spec) else ""
    rules = tuple(rule.model_dump(mode="json", by_alias=True) for rule in spec.rules)
    at = DeskConfig(desk, nodes.get(desk, ""))
    return ReviewConfig(spec.judge.facts, rules, at, _judging_model(spec), dict(spec.judge.functions))


def has_desk(spec: Spec) -> bool:
    """Whether people decide for the whole fleet at one desk."""
    return bool(spec.judge.facts != "off" or spec.queen.agent or spec.judge.desk)


def watch(spec: Spec, here: Iterable[str]) -> WatchConfig:
    """The watch over runs; `here`: the agents of a process, which learns of the others only if it has to look at them."""
    health, queen = spec.health, spec.queen.agent
    if not {health.agent, queen} & set(here) - {""}:
        return WatchConfig()
    domains = {name: tuple(filter(None, (agent.domain,))) for agent in spec.agents for name in names_of(agent)}
    return _filled(WatchConfig, health, watcher=health.agent, queen=queen, agents=domains)


def ranking(retrieval: Retrieval) -> RankingSettings:
    return _filled(RankingSettings, retrieval, refine_within_ms=milliseconds(retrieval.deadline_s))


def models(spec: Spec) -> ModelsConfig:
    """Back ends. Where nothing is embedded, nothing is said of how."""
    embedding, is_on = spec.embedding, spec.embedding.kind != "none"
    is_remote = embedding.kind == "openai"
    return ModelsConfig(
        store=spec.store,
        embed=embedding.kind,
        embed_model=(embedding.model or DEFAULT_EMBEDDING_MODEL) if is_on else "",
        embed_url=embedding.url if is_remote else "",
        embed_key=embedding.key if is_remote else "",
        ann=embedding.index,
        llm=spec.llm.model,
        llm_url=spec.llm.url,
        llm_key=spec.llm.key,
        llm_timeout_s=spec.llm.timeout_s,
        llm_tries=spec.llm.tries,
        token_budget=spec.llm.token_budget,
    )


def seen(observability: Observability) -> SeenConfig:
    """Settings of logs, metrics and traces."""
    return _filled(SeenConfig, observability)


def _moderators(spec: Spec) -> tuple[str, ...]:
    """Where facts are judged, the desk is one, too: rules that people approve hold for all, and so does what they find wrong."""
    desk = {desk_of(spec)} if spec.judge.facts != "off" or spec.judge.desk else set()
    return tuple(sorted({*spec.trust.moderators, *desk}))


def _judging_model(spec: Spec) -> ModelReviewConfig:
    """The fleet's model judges facts; runs are judged by that of their agent, where none is named for judging."""
    judge = spec.judge
    return _filled(ModelReviewConfig, judge, name=judge.model or (spec.llm.model if judge.facts == "model" else ""))


def _filled(kind: Callable[..., Tuned], section: ManifestSection, **others: object) -> Tuned:
    """Settings with the values of a section's fields of the same names, and these others."""
    names = inspect.signature(kind).parameters.keys() & type(section).model_fields.keys()
    return kind(**{name: getattr(section, name) for name in names} | others)
