"""Which setting each field of a manifest tunes. Units change here: a manifest has seconds, settings have milliseconds."""

from collections.abc import Iterable, Mapping

from hive_mind.control.manifests.expansion import names_of
from hive_mind.control.manifests.manifest import Gossip, Lifecycle, Observability, Promotion, Retrieval, Spec, Trust
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


def milliseconds(seconds: float) -> int:
    """At least one: 0 often means "never"."""
    return max(round(seconds * 1000), 1)


def tuning(spec: Spec, quota_per_agent: int) -> HiveSettings:
    """How nodes behave; `quota_per_agent` where the manifest says nothing of it."""
    return HiveSettings(
        standing=PolicySettings(
            moderators=_moderators(spec),
            quota_per_agent=spec.trust.quota_per_agent or quota_per_agent,
            expiry=_expiry(spec.lifecycle),
            trust=_trust(spec.trust),
        ),
        gossip=GossipSettings(fanout=spec.gossip.fanout, period_ms=milliseconds(spec.gossip.period_s)),
        scatter=ScatterSettings(deadline_ms=milliseconds(spec.retrieval.deadline_s)),
        housekeeping_ms=milliseconds(spec.lifecycle.gc_period_s),
    )


def membership(gossip: Gossip) -> MembershipSettings:
    return MembershipSettings(beat_ms=milliseconds(gossip.beat_s), suspect_after_ms=milliseconds(gossip.suspect_after_s))


def gate(promotion: Promotion) -> PromotionSettings:
    """Settings of the gate that facts pass to leave home."""
    return PromotionSettings(
        confidence_min=promotion.confidence_min,
        words_min=promotion.words_min,
        letters_share_min=promotion.letters_share_min,
        hold_back_secrets=promotion.hold_back_secrets,
        hold_back_personal=promotion.hold_back_personal,
        hold_back_instructions=promotion.hold_back_instructions,
        allowed_instructions=tuple(sorted(promotion.allow_instructions)),
        is_open=promotion.open,
    )


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
    return WatchConfig(
        health.agent, queen, health.every_s, health.warn, health.degraded, health.critical, health.stall_min, domains
    )


def ranking(retrieval: Retrieval) -> RankingSettings:
    return RankingSettings(
        semantic_weight=retrieval.semantic_weight,
        evidence_strength=retrieval.evidence_strength,
        depth=retrieval.depth,
        fusion=retrieval.fusion,
        rrf_k=retrieval.rrf_k,
        neighbour_weight=retrieval.neighbour_weight,
        second_hop=retrieval.second_hop,
        expansion=retrieval.expansion,
        rerank=retrieval.rerank,
        rerank_model=retrieval.rerank_model,
        rerank_weight=retrieval.rerank_weight,
        refine_within_ms=milliseconds(retrieval.deadline_s),
    )


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
    return SeenConfig(log=observability.log, metrics=observability.metrics, trace=observability.trace)


def _moderators(spec: Spec) -> tuple[str, ...]:
    """Where facts are judged, the desk is one, too: rules that people approve hold for all, and so does what they find wrong."""
    desk = {desk_of(spec)} if spec.judge.facts != "off" or spec.judge.desk else set()
    return tuple(sorted({*spec.trust.moderators, *desk}))


def _judging_model(spec: Spec) -> ModelReviewConfig:
    """The fleet's model judges facts; runs are judged by that of their agent, where none is named for judging."""
    judge = spec.judge
    return ModelReviewConfig(
        judge.model or (spec.llm.model if judge.facts == "model" else ""),
        judge.threshold,
        judge.calls_per_minute,
        judge.unattended,
        judge.audit,
        judge.weights,
        judge.degrade,
    )


def _expiry(lifecycle: Lifecycle) -> ExpirySettings:
    return ExpirySettings(is_on=lifecycle.forget, max_age_hours=lifecycle.ttl_hours, decay_per_hour=lifecycle.decay_per_hour)


def _trust(trust: Trust) -> TrustSettings:
    return TrustSettings(half_life_days=trust.half_life_days, quarantine_trust=trust.quarantine_below)
