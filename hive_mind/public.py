"""The public names, by subject; `hive_mind` has each of them. Everything else may move."""

from typing import TYPE_CHECKING, Any

from hive_mind.agents.agent import Learned, LearningAgent
from hive_mind.agents.goal_seeking import GoalSeekingAgent, Task, listed
from hive_mind.agents.judging.hybrid_judge import HybridJudge
from hive_mind.bus import BusAdmin, EventBus, admin_of
from hive_mind.cognition import Extraction, Reader
from hive_mind.crdt import LWWRegister
from hive_mind.crdt.orset import GSet
from hive_mind.embed import Embedder
from hive_mind.errors import BackendError, ConfigError, DatabaseLocked, HiveError, InvalidInput, ModelOutputError
from hive_mind.goals.goal import Constraint, Goal, SuccessCriterion
from hive_mind.hive import HiveAgent, HiveGraph, HiveStatistics
from hive_mind.hive.policy.node_policy import FactTTL
from hive_mind.hive.settings import HiveSettings
from hive_mind.judge.calibration import CalibrationMetrics, SignalWeights
from hive_mind.judge.capability import CapabilityLevel
from hive_mind.judge.items import Decision
from hive_mind.judge.judgment import Judgment, JudgmentAction
from hive_mind.judge.mining import RuleProposal
from hive_mind.judge.rules import EvaluationRule, RuleSet
from hive_mind.llm.base import LanguageModel
from hive_mind.memory.base import Memory
from hive_mind.memory.cognitive import CognitiveMemory
from hive_mind.memory.distributed import DistributedCognitiveMemory
from hive_mind.memory.gate import PromotionSettings
from hive_mind.model.aggregation import MemoryStatistics
from hive_mind.model.content import Candidate, Content, Episode, Reply, ToolCall
from hive_mind.model.evidence import HiveFact
from hive_mind.model.fact import Fact, Relation
from hive_mind.model.gathered import Answer, Question, SearchResult
from hive_mind.model.query import Hit, Query
from hive_mind.ranking.pipeline import RankingSettings
from hive_mind.ranking.seed import hybrid_score_weighted, rrf_merge
from hive_mind.runs.spec import WorkerSpec
from hive_mind.runtime.members import MemberPlan
from hive_mind.runtime.members.fleet import Fleet, FleetPlan, open_fleet
from hive_mind.runtime.members.host import open_member
from hive_mind.runtime.members.member import RunningMember
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.standalone import InMemoryHiveGraph, ORSet, convergence_check, run_gossip_round
from hive_mind.runtime.wiring import open_agent, open_embedder, open_graph, open_memory
from hive_mind.runtime.workers.runs import open_goal_seeking
from hive_mind.store.graph import Graph
from hive_mind.tools import ToolContext
from hive_mind.tools.functions import tool

if TYPE_CHECKING:
    from hive_mind.control.controller import HiveController

__all__ = [
    "Answer",
    "BackendError",
    "BusAdmin",
    "CalibrationMetrics",
    "Candidate",
    "CapabilityLevel",
    "CognitiveMemory",
    "ConfigError",
    "Constraint",
    "Content",
    "DatabaseLocked",
    "Decision",
    "DistributedCognitiveMemory",
    "Embedder",
    "Episode",
    "EvaluationRule",
    "EventBus",
    "Extraction",
    "Fact",
    "FactTTL",
    "Fleet",
    "FleetPlan",
    "GSet",
    "Goal",
    "GoalSeekingAgent",
    "Graph",
    "Hit",
    "HiveAgent",
    "HiveController",
    "HiveError",
    "HiveFact",
    "HiveGraph",
    "HiveSettings",
    "HiveStatistics",
    "HybridJudge",
    "InMemoryHiveGraph",
    "InvalidInput",
    "Judgment",
    "JudgmentAction",
    "LWWRegister",
    "LanguageModel",
    "Learned",
    "LearningAgent",
    "MemberPlan",
    "Memory",
    "MemoryStatistics",
    "ModelOutputError",
    "ORSet",
    "PromotionSettings",
    "Query",
    "Question",
    "RankingSettings",
    "Reader",
    "Relation",
    "Reply",
    "RuleProposal",
    "RuleSet",
    "RunningMember",
    "SearchResult",
    "Settings",
    "SignalWeights",
    "SuccessCriterion",
    "Task",
    "ToolCall",
    "ToolContext",
    "WorkerSpec",
    "admin_of",
    "convergence_check",
    "hybrid_score_weighted",
    "listed",
    "open_agent",
    "open_embedder",
    "open_fleet",
    "open_goal_seeking",
    "open_graph",
    "open_member",
    "open_memory",
    "rrf_merge",
    "run_gossip_round",
    "tool",
]


def __getattr__(name: str) -> Any:
    """Loaded when it is asked for: only a program that looks after a fleet needs what it brings along."""
    if name == "HiveController":
        from hive_mind.control.controller import HiveController

        return HiveController
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
