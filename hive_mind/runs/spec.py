"""A worker: nodes that do something, edges between them, and the goal that all of it is judged by.

The arguments of a tool node stand in it, with `$key` for what the run knows.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from hive_mind.errors import ConditionError
from hive_mind.goals.condition import Condition
from hive_mind.goals.goal import Goal, GoalSection, HealthCriteria, SuccessCriterion
from hive_mind.judge.judgment import Unattended
from hive_mind.judge.rules import EvaluationRule

NodeKind = Literal["loop", "tool", "person"]
EdgeKind = Literal["success", "failure", "always", "condition", "model"]
Scope = Literal["stream", "fleet"]
"""The sharers of a value beside its run: the runs of one chat or trigger, or all agents of a hive."""

NODES_MAX, EDGES_MAX = 500, 2_000
"""A file is read in some seconds then, and no person reads a larger graph."""
VISITS_MAX = 10_000
"""A circle of tools alone has no other end than its time, and each round is some steps."""
FEEDBACK = "feedback_context"
"""The key under which a planner reads what came of its plan."""
_Key = Annotated[str, Field(pattern="^[A-Za-z][A-Za-z0-9_-]{0,62}$")]
_NAME = Field(pattern="^[A-Za-z][A-Za-z0-9_-]{0,62}$", description="Its name in steps, in prompts and for people.")


class Limits(GoalSection):
    """The spending limits of a run. The first one used up ends it."""

    turns: int = Field(200, ge=1, description="Turns of a language model, over all nodes.")
    tokens: int = Field(200_000, ge=1, description="Tokens of a language model, in and out.")
    usd: float | None = Field(None, gt=0, description="US dollars for a language model, at its provider's published price.")
    seconds: float = Field(3_600.0, gt=0, description="Working time; waiting for a person does not count.")


class Judging(GoalSection):
    """How its work is judged, where that differs from the settings of its agent."""

    threshold: float | None = Field(
        None, ge=0, le=1, description="How sure a judge has to be to decide alone; by default as its agent's settings say."
    )
    degrade: bool | None = Field(
        None,
        description="true: what a judge is a little too unsure to accept is tried again or planned anew while attempts last.",
    )
    unattended: Unattended | None = Field(
        None,
        description="Where a judge may not decide alone. escalate: ask a person. hold: the node fails. accept: go on unjudged. "
        "Hard constraints, rules that escalate and what can't be checked wait for a person all the same.",
    )


class NodeSpec(GoalSection):
    """One thing to do. Without criteria it is done when its outputs are set."""

    id: str = _NAME
    kind: NodeKind = Field("loop", description="loop: a model and its tools; tool: one call; person: one question.")
    description: str = Field("", description="Its purpose, in words.")
    prompt: str = Field("", description="loop: the instructions to the model. person: the question.")
    tools: Sequence[str] = Field((), description="loop: the tools that may be called; name/* for all of an MCP server.")
    tool: str = Field("", description="tool: the one that is called.")
    args: dict[str, Any] = Field(default_factory=dict, description="tool: its arguments; $key takes an input of the node.")
    inputs: Sequence[str] = Field((), description="Values it can read: inputs of the run and outputs of earlier nodes.")
    outputs: Sequence[str] = Field((), description="Outputs it must set.")
    writes: Sequence[str] = Field((), description="Outputs it may set in addition.")
    success_criteria: Sequence[SuccessCriterion] = Field((), description="Criteria for its outputs.")
    judge: str = Field(
        "",
        description="A judge of your own: the name it has in `judge.functions` of a manifest, or by --function.",
    )
    client_facing: bool = Field(False, description="loop: it talks with a person; text without a call waits for the next word.")
    requires_approval: bool = Field(False, description="A person approves what it did before the run goes on.")
    subagents: Sequence[str] = Field((), description="loop: the sub-agents it may delegate to.")
    join: Literal["", "all", "any"] = Field("", description="Where branches meet: wait for all of them, or go on with the first.")
    attempts: int = Field(3, ge=1, description="Attempts before it fails.")
    turns: int = Field(50, ge=1, description="loop: turns of the model in one attempt.")
    visits: int = Field(3, ge=1, le=VISITS_MAX, description="How often a run may enter it.")
    timeout_s: float = Field(0.0, ge=0, description="It fails after this time; 0: never. Waiting for a person does not count.")

    @property
    def may_write(self) -> frozenset[str]:
        return frozenset((*self.outputs, *self.writes))


class EdgeSpec(GoalSection):
    """Where to go on from a node. All edges that hold are followed; several open branches that run at once."""

    source: str = Field(description="The node it comes from.")
    target: str = Field(description="The node it leads to.")
    on: EdgeKind = Field("success", description="When the run follows it.")
    when: str = Field("", description="condition: an expression over `output`, in the language of conditions.")
    description: str = Field("", description="model: when to choose it.")

    @field_validator("when")
    @classmethod
    def _compiles(cls, when: str) -> str:
        if when:
            try:
                Condition(when)
            except ConditionError as error:
                raise ValueError(f"the condition can't be used: {error}") from None
        return when


class WorkerSpec(GoalSection):
    """A graph of nodes. Without a goal, what its nodes were accepted for is accepted."""

    id: str = _NAME
    version: str = Field("1", description="Of this definition; change it when you change what the worker does.")
    description: str = Field("", description="Its purpose, in words.")
    identity: str = Field("", description="Its role: the beginning of each of its prompts.")
    goal: Goal | None = Field(None, description="The goal of a run, as in a file of kind Goal.")
    inputs: Sequence[str] = Field((), description="Inputs that a run requires.")
    optional_inputs: Sequence[str] = Field(
        (), description="Optional inputs. A tool's argument that takes a missing one is left out."
    )
    entry: str = Field(description="The node to begin with.")
    nodes: Sequence[NodeSpec] = Field(min_length=1, max_length=NODES_MAX, description="The nodes of the graph.")
    edges: Sequence[EdgeSpec] = Field((), max_length=EDGES_MAX, description="Where a run goes on from each node.")
    subagents: Sequence[NodeSpec] = Field(
        (), max_length=NODES_MAX, description="Nodes that others delegate to, with a conversation of their own."
    )
    planner: str = Field("", description="The node that makes a new plan when a judge says REPLAN.")
    replans: int = Field(2, ge=0, description="How often.")
    context: Literal["continuous", "isolated"] = Field(
        "continuous", description="Whether nodes see the conversation before them."
    )
    context_tokens: int = Field(32_000, ge=1_000, description="A conversation that reaches 0.8 of it is moved to files.")
    pause_nodes: Sequence[str] = Field((), description="A person must approve before the run enters these.")
    rules: Sequence[EvaluationRule] = Field(
        (),
        description="Rules for its outputs and for what a run comes to, tried before any model, the highest priority first.",
    )
    judging: Judging = Field(default_factory=Judging, description="How sure its judge has to be, and what if nobody attends.")
    scopes: dict[_Key, Scope] = Field(
        default_factory=dict,
        description="Keys that outlive a run. stream: the runs of one chat or trigger share them; fleet: all agents of the hive.",
    )
    limits: Limits = Field(default_factory=Limits, description="The spending limits of a run.")
    health: HealthCriteria = Field(
        default_factory=HealthCriteria, description="From where on a run of it is in trouble; before what its goal says."
    )

    @cached_property
    def by_id(self) -> Mapping[str, NodeSpec]:
        return {node.id: node for node in self.nodes}

    def shared(self, keys: Iterable[str]) -> dict[str, Scope]:
        """Those of these that are not the run's alone."""
        return {key: self.scopes[key] for key in keys if key in self.scopes}

    def from_(self, node: str) -> list[EdgeSpec]:
        return [edge for edge in self.edges if edge.source == node]

    def fails_over(self, node: str) -> bool:
        """Whether the graph says what happens when this node fails."""
        return any(edge.on == "failure" for edge in self.from_(node))


def options(spec: WorkerSpec, node: str) -> list[EdgeSpec]:
    """The edges among which a model chooses, or a person."""
    return [edge for edge in spec.from_(node) if edge.on == "model"]


def kept(spec: WorkerSpec) -> dict[str, Any]:
    """As the journal of a run has it."""
    return spec.model_dump(mode="json", by_alias=True, exclude_defaults=True)


SUB_AGENT_TURNS = 10
"""of a sub-agent whose node does not say otherwise"""


def sub_agent(worker: WorkerSpec, name: str, task: str, limits: Limits) -> WorkerSpec:
    """The worker of a sub-agent: its one node, with the task at its prompt's end and no sub-agents of its own."""
    (node,) = [subagent for subagent in worker.subagents if subagent.id == name]
    turns = node.turns if "turns" in node.model_fields_set else SUB_AGENT_TURNS
    prompt = f"{node.prompt or node.description}\n\nYour task: {task}".strip()
    alone = {"prompt": prompt, "subagents": (), "client_facing": False, "turns": turns, "attempts": turns + 1}
    return WorkerSpec(
        id=worker.id,
        version=worker.version,
        identity=worker.identity,
        entry=name,
        inputs=node.inputs,
        nodes=[node.model_copy(update=alone)],
        context_tokens=worker.context_tokens,
        rules=worker.rules,
        judging=worker.judging,
        limits=limits.model_copy(update={"turns": min(turns, limits.turns)}),
    )


def resolved(node: NodeSpec, values_known: Mapping[str, Any], optional: Collection[str] = ()) -> dict[str, Any]:
    """With the values of its inputs; None for what nobody set. "$$" at the beginning is a dollar sign.

    An argument that is an `optional` input of the run is left out where it was not given: the tool's own default counts.
    """
    left_out = [f"${key}" for key in optional if key not in values_known]
    return {key: _value(argument, node, values_known) for key, argument in node.args.items() if argument not in left_out}


def keys_in(argument: Any) -> Iterator[str]:
    if isinstance(argument, str) and argument.startswith("$") and not argument.startswith("$$"):
        yield argument[1:]
    elif isinstance(argument, dict | list):
        for value in argument.values() if isinstance(argument, dict) else argument:
            yield from keys_in(value)


def _value(argument: Any, node: NodeSpec, values_known: Mapping[str, Any]) -> Any:
    if isinstance(argument, str) and argument.startswith("$"):
        return (
            argument[1:] if argument.startswith("$$") else values_known.get(argument[1:]) if argument[1:] in node.inputs else None
        )
    if isinstance(argument, dict):
        return {key: _value(value, node, values_known) for key, value in argument.items()}
    return [_value(value, node, values_known) for value in argument] if isinstance(argument, list) else argument
