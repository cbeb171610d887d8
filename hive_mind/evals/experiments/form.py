"""The file an experiment is written in. Only its form; contradictions are found in `checking`.

Every field of an arm may be a list, and the lists of an arm multiply: `kind: [flat, sharded]` with `agents: [10, 100]` is four
arms. One value and a list of one are the same. Nothing is required but a name, the data and the arms.
"""

from collections.abc import Iterable
from dataclasses import replace
from itertools import product
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from hive_mind.evals.experiments import ALONE, TURNS_MAX, Arm, ArmKind, Experiment, Fault, Mode, Place, Retrieval, plain_arm
from hive_mind.forms import Form

NAME = r"^[a-z0-9][a-z0-9._-]{0,39}$"
Name = Annotated[str, Field(pattern=NAME)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]
Format = Literal["auto", "locomo", "longmemeval", "beir", "jsonl", "generated", "demo", "memory"]

# More would take days, and is a slip.
AGENTS_MAX = 10_000

T = TypeVar("T")


def _listed(value: Any) -> Any:
    return value if value is None or isinstance(value, list) else [value]


def _called(key: str, *keys: str) -> BeforeValidator:
    """A word alone stands for a section that has it as its name or kind."""
    return BeforeValidator(lambda value: dict.fromkeys((key, *keys), value) if isinstance(value, str) else value)


# One or several. pydantic then tells where in the list something is wrong; the line is that of the value.
Many = Annotated[list[T], BeforeValidator(_listed), Field(min_length=1)]
# The same, where leaving it out means something of its own.
Some = Annotated[list[T], BeforeValidator(_listed)]


_WHOLE, _ARM, _RETRIEVAL = Experiment("", (), ()), Arm(), Retrieval()


class _Part(BaseModel):
    """A section: unknown fields are refused, and nothing is taken for something else."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class DataForm(_Part):
    """A data set."""

    name: Name = Field(description="Its name in reports.")
    format: Format = Field("auto", description="Its format; auto detects it from the files.")
    path: str = Field("", description="File or folder, looked up in --data and then beside the experiment's file.")
    part: str = Field("", description="Which set, where a folder holds several.")
    pooled: bool = Field(True, description="Search all its scopes together; false: each alone.")
    turns: int = Field(0, ge=0, le=TURNS_MAX, description="generated: the number of turns.")
    agents: int = Field(0, ge=0, le=AGENTS_MAX, description="generated: the number of speakers; 10.")
    memory: str = Field("", description="memory: an agent of this home, whose facts are searched.")
    questions: str = Field("", description="A question file instead of the set's own questions, looked up likewise.")
    optional: bool = Field(False, description="Skip it, with a notice, where its files are missing.")


class FaultForm(_Part):
    """The faults while questions are asked. Lists multiply."""

    down: Many[Annotated[int, Field(ge=0, le=AGENTS_MAX)]] = Field([0], description="Nodes that were stopped.")
    loss: Many[Share] = Field([0.0], description="Share of messages lost; simulator.")
    slow: Many[Annotated[int, Field(ge=0, le=AGENTS_MAX)]] = Field([0], description="Members that answer late; simulator.")
    slow_ms: Many[Annotated[int, Field(ge=0, le=600_000)]] = Field([0], description="How late.")


class ArmForm(_Part):
    """Arms of a kind. Lists multiply. May be written as its kind alone."""

    kind: Many[ArmKind] = Field(description="A topology, or a baseline.")
    agents: Some[Annotated[int, Field(ge=1, le=AGENTS_MAX)]] = Field([], description="Agents that learn; 10 where they share.")
    groups: Some[Annotated[int, Field(ge=1, le=AGENTS_MAX)]] = Field([], description="federated: the number of groups.")
    replicas: Some[Annotated[int, Field(ge=1, le=9)]] = Field([], description=f"sharded: copies of each fact; {_ARM.replicas}.")
    deal: Many[str] = Field([_ARM.deal], description="How documents are dealt to agents.")
    fan_out: Some[Annotated[int, Field(ge=1, le=AGENTS_MAX)]] = Field([], description="routed: the number of agents asked.")
    place: Many[Place] = Field([_ARM.place], description="Where it runs.")
    data: Some[str] = Field([], description="Only with these data sets.")
    faults: Some[FaultForm] = Field([], description="Only with these faults.")


class RankingForm(_Part):
    """How candidates become a ranking; omitted fields are as in every memory."""

    semantic_weight: Share | None = Field(None, description="Weight of meaning against words.")
    evidence_strength: Share | None = Field(None, description="The most that confirmations and trust add.")
    depth: int | None = Field(None, ge=1, le=10_000, description="Candidates per arm.")
    depth_per_hit: int | None = Field(None, ge=1, le=1000, description="Candidates per hit where one arm decides alone.")
    fusion: Literal["linear", "rrf"] | None = Field(None, description="By scores or by ranks.")
    rrf_k: int | None = Field(None, ge=1, le=1000, description="rrf: the larger, the less first ranks count.")
    neighbour_weight: Share | None = Field(None, description="Weight of matches around a turn of a conversation.")
    second_hop: bool | None = Field(None, description="Ask for what the best passages name, too.")
    expansion: Literal["none", "feedback"] | None = Field(None, description="feedback: ask again with words of the best passage.")
    rerank: int | None = Field(None, ge=0, le=1000, description="How many of the best a cross-encoder looks at again.")
    rerank_model: str | None = Field(None, min_length=1, max_length=300, description="Its name on the hub, or its folder.")
    rerank_weight: Share | None = Field(None, description="The most that it adds to the score.")
    refine_within_ms: int | None = Field(None, ge=1, description="A second look that takes longer is left out.")


class RetrievalForm(_Part):
    """A way to retrieve, the same in every arm. May be written as its mode alone."""

    name: Name = Field(description="Its name in reports.")
    mode: Mode = Field(_RETRIEVAL.mode, description="The ranking method.")
    ranking: RankingForm | None = Field(None, description="Other than the default ranking.")


class ExperimentForm(_Part):
    """The whole file."""

    name: Name = Field(description="Its name; the run's folder begins with it.")
    about: str = Field("", description="One line for `hive-mind eval list`.")
    data: Many[DataForm] = Field(description="Data sets.")
    arms: Many[Annotated[ArmForm, _called("kind")]] = Field(description="The arms compared.")
    retrieval: Many[Annotated[RetrievalForm, _called("name", "mode")]] = Field(
        [RetrievalForm(name=_RETRIEVAL.name)], description="Ways to retrieve."
    )
    seeds: Many[Annotated[int, Field(ge=0, le=2**31)]] = Field([1], description="Everything is repeated for each.")
    faults: Some[FaultForm] = Field([], description="Faults while questions are asked, for arms that can have them.")
    limit: int = Field(_WHOLE.limit, ge=1, le=1000, description="The number of results measured: k.")
    answerer: Literal["none", "quoting", "model"] = Field(
        _WHOLE.answerer, description="The answerer, which words an answer from the hits."
    )
    judge: Literal["none", "model"] = Field(_WHOLE.judge, description="The judge of whether an answer is grounded.")
    subset: Some[str] = Field([], description="Only the questions of these ids.")
    per_category: int = Field(0, ge=0, le=100_000, description="Questions asked of each category; 0: all.")


class GateForm(ExperimentForm):
    """The same for a gate, which makes its arms of the fleet: the arms in the file are ignored."""

    arms: Many[Annotated[ArmForm, _called("kind")]] = Field([ArmForm(kind=["single"])], description="Ignored.")


EXPERIMENT = Form(
    "experiment",
    ExperimentForm,
    begin="begin with a copy of one that `hive-mind eval list` shows",
    help="hive-mind eval list --explain",
    levels="five",
    patterns={NAME: "has to be lower-case letters, digits, dots, dashes and underscores, at most 40, a letter or digit first"},
)

GATE: Form[ExperimentForm] = replace(EXPERIMENT, model=GateForm)


def explained() -> Iterable[tuple[str, str]]:
    from hive_mind.forms import everywhere

    return [(path, info.description or "") for path, info in everywhere(ExperimentForm)]


# Enough that every topology has something to divide, and each agent still has something to say.
AGENTS = 10


def arms_in(form: ArmForm) -> tuple[Arm, ...]:
    """Every arm of a section, each once: fields that mean nothing to a kind are not multiplied into it."""
    arms = (
        plain_arm(Arm(kind, 1 if kind in ALONE else agents, groups, replicas, deal, fan_out, place))
        for kind, agents, groups, replicas, deal, fan_out, place in product(
            form.kind,
            form.agents or [AGENTS],
            form.groups or [0],
            form.replicas or [Arm().replicas],
            form.deal,
            form.fan_out or [0],
            form.place,
        )
    )
    return tuple(dict.fromkeys(arms))


def faults_in(forms: Iterable[FaultForm]) -> tuple[Fault, ...]:
    """Every fault, each once. None given: nothing is wrong."""
    faults = (
        Fault(down, loss, slow, slow_ms if slow else 0)
        for form in forms
        for down, loss, slow, slow_ms in product(form.down, form.loss, form.slow, form.slow_ms)
    )
    return tuple(dict.fromkeys(faults)) or (Fault(),)
