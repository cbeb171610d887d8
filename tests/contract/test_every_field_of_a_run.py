"""Each field of a file with a worker, rules or a goal changes what a run does, says or asks; or it is refused where it stands."""

import asyncio
import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from hive_mind import backends
from hive_mind.agents.judging.hybrid_judge import RunJudge
from hive_mind.agents.runs.executor import RunExecutor
from hive_mind.agents.runs.performer import RunParts
from hive_mind.errors import HiveError
from hive_mind.forms import everywhere, section_of
from hive_mind.goals.goal import Goal, GoalFile
from hive_mind.judge.rules import EvaluationRule, RuleFile
from hive_mind.llm.base import Prompt
from hive_mind.llm.scripted import ScriptedModel
from hive_mind.model.content import Reply, Turn
from hive_mind.retry import RetrySettings
from hive_mind.runs.worker_file import WorkerFile, worker_of
from hive_mind.tools import Toolbox
from hive_mind.tools.functions import tool
from tests.unit.agents.run_builders import said, sets

Spec = dict[str, Any]
Case = tuple[Spec, Spec]


@tool
def look(where: str = "here") -> str:
    """Look somewhere."""
    return f"nothing {where}"


@tool
async def hang() -> str:
    """Never end."""
    await asyncio.Event().wait()
    return ""


def text_of(spec: Spec) -> str:
    return json.dumps({"apiVersion": "hive-mind/v1", "kind": "Worker", "spec": spec})


class Model(ScriptedModel):
    """Says what the script says, then sets x again and again; as a judge it grades all by `grade`, and is as sure as `sure`."""

    def __init__(self, script: Iterable[Reply], grade: float, sure: float) -> None:
        replies = list(script)
        super().__init__(self._verdict, "openai:gpt-5-mini", lambda _: replies.pop(0) if replies else sets("x", "again"))
        self._grade, self._sure = grade, sure

    def _verdict(self, prompt: Prompt) -> str:
        criteria, _, constraints = prompt.instructions.partition("\nConstraints:")
        ids = [re.findall(r'^- "(.*?)":', part, re.MULTILINE) for part in (criteria, constraints)]
        graded = {"scores": dict.fromkeys(ids[0], self._grade), "violated": dict.fromkeys(ids[1], self._grade < 0.5)}
        return json.dumps({"action": "accept", "confidence": self._sure, "reasoning": "I think so", **graded})


def run(
    spec: Spec,
    *,
    script: Callable[[], Iterable[Reply]] = lambda: [sets("x", "done")],
    inputs: Mapping[str, Any] | None = None,
    grade: float = 1.0,
    sure: float = 0.9,
    folder: Path | None = None,
    names: Iterable[str] = ("r",),
) -> str:
    """All that can be seen of a run: how it ends, what it set, what a model was sent, and what people are asked."""

    async def work() -> str:
        ledger = await backends.load("ledger", "memory").open()
        model, ticks = Model(script(), grade, sure), iter(range(1, 10**9))
        functions = {"strict": lambda turn: None if turn.iteration > 2_000 else "try again", "half": lambda _: 0.5}
        parts = RunParts(
            "ada",
            ledger,
            lambda *_: Toolbox((look, hang)),
            judge=RunJudge(model=model_judge(model), functions=functions),
            model=model,
            folder=folder,
            retry=RetrySettings(attempts_max=1),
            clock_ms=lambda: next(ticks),
        )
        told: list[str] = []
        for name in names:
            executor = RunExecutor(name, parts)
            await executor.start(worker_of(text_of(spec), functions=functions), inputs or {}, stream="chat")
            state = await asyncio.wait_for(executor.drive(), 30)
            told.append(f"{state.outcome} {state.reason} {dict(state.buffer)} {state.path} {state.spec.id} {state.spec.version}")
            told += [f"{place.phase} {place.why} {place.errors}" for place in state.places.values()]
            told += [f"{report.text}" for report in state.reports]
        told += [turn_text(turn) for turn in model.turns]
        told += [f"{prompt.instructions} {prompt.text}" for prompt in model.prompts]
        told += [f"{view.item.title} {view.item.context} {view.item.group}" for view in await parts.desk.open()]
        return "\n".join(told)

    return asyncio.run(work())


def model_judge(model: ScriptedModel) -> Any:
    from hive_mind.agents.judging.model_judge import ModelJudge

    return ModelJudge(model)


def turn_text(turn: Turn) -> str:
    messages = [f"{one.role}: {one.text} {[call.name for call in one.calls]}" for one in turn.messages]
    return "\n".join([turn.instructions, *messages, *sorted(f"{one.name} {one.parameters}" for one in turn.tools)])


def loop(**fields: Any) -> Spec:
    return {"id": "a", "prompt": "Do it.", "outputs": ["x"], **fields}


def work(*nodes: Spec, **spec: Any) -> Spec:
    return {"id": "w", "entry": nodes[0]["id"], "nodes": list(nodes), **spec}


def lead(**fields: Any) -> Spec:
    """A worker whose node delegates to a sub-agent of these fields."""
    return work(loop(subagents=["sub"]), subagents=[{"id": "sub", "prompt": "Find it.", "outputs": ["x"], **fields}])


def delegates() -> list[Reply]:
    return [said("", ("delegate_to_sub_agent", {"name": "sub", "task": "the thing"})), sets("x", "found"), sets("x", "done")]


B = {"id": "b", "prompt": "Then that.", "outputs": ["y"]}
TWO = [{"source": "a", "target": "b"}]
TOOL = {"id": "t", "kind": "tool", "tool": "look", "outputs": ["x"]}
C = {"id": "good", "description": "It is good."}
HARD = {"id": "safe", "check": "'done' not in str(result)"}
GRADED = {"id": "g", "successCriteria": [C]}
RULE = {"id": "no-done", "condition": "'done' in str(result)", "action": "escalate"}


def both(fragment: Callable[[Spec], Spec], before: Spec, after: Spec) -> Case:
    return fragment(before), fragment(after)


def criteria(of: Callable[[list[Spec]], Spec]) -> dict[str, Case]:
    """The fields of a criterion, wherever it stands."""
    two = {"id": "other", "metric": "condition", "target": "False"}
    contains = C | {"metric": "output_contains", "target": "done"}
    return {
        "id": (of([C | {"description": ""}]), of([C | {"id": "better", "description": ""}])),
        "description": (of([C]), of([C | {"description": "It is better."}])),
        "weight": (of([contains, two]), of([contains | {"weight": 20.0}, two])),
        "metric": (of([contains | {"target": "zzz"}]), of([C | {"metric": "llm_judge", "target": "zzz"}])),
        "target": (of([contains]), of([contains | {"target": "zzz"}])),
        "output": (of([contains]), of([contains | {"output": "nowhere"}])),
        "hidden": (of([C]), of([C | {"hidden": True}])),
    }


def under(place: str, cases: dict[str, Case]) -> dict[str, Case]:
    return {f"{place}.{name}": case for name, case in cases.items()}


def goals(of: Callable[[Spec], Spec]) -> dict[str, Case]:
    """The fields of a goal."""
    constrained = {"id": "g", "successCriteria": [C], "constraints": [HARD]}

    def constraint(**fields: Any) -> Spec:
        return of(constrained | {"constraints": [HARD | fields]})

    return {
        "id": (of({"id": "g"}), of({"id": "h"})),
        "name": (of(GRADED), of(GRADED | {"name": "Goodness"})),
        "description": (of(GRADED), of(GRADED | {"description": "All is good."})),
        "kind": (of(GRADED | {"kind": "a"}), of(GRADED | {"kind": "b"})),
        **under("successCriteria", criteria(lambda some: of({"id": "g", "successCriteria": some}))),
        "constraints.id": (constraint(), constraint(id="safer")),
        "constraints.description": (constraint(), constraint(description="Nothing is done.")),
        "constraints.constraintType": (constraint(), constraint(constraintType="soft")),
        "constraints.category": (constraint(), constraint(category="security")),
        "constraints.check": (constraint(), constraint(check="True")),
        "context": (of(GRADED), of(GRADED | {"context": {"tone": "dry"}})),
        "outputs": (of(GRADED), of(GRADED | {"outputs": ["x", "z"]})),
        "acceptAt": (of(GRADED | {"acceptAt": 0.5}), of(GRADED | {"acceptAt": 0.9})),
    }


def rules(of: Callable[[list[Spec]], Spec]) -> dict[str, Case]:
    """The fields of a rule."""
    again = RULE | {"id": "again", "action": "retry", "priority": 50}
    return {
        "id": (of([RULE]), of([RULE | {"id": "other"}])),
        "condition": (of([RULE]), of([RULE | {"condition": "False"}])),
        "action": (of([RULE]), of([RULE | {"action": "accept"}])),
        "priority": (of([RULE, again]), of([RULE | {"priority": 10}, again])),
        "description": (of([RULE]), of([RULE | {"description": "nothing is done"}])),
        "feedback": (of([again]), of([again | {"feedback": "do not"}])),
        "mode": (of([RULE]), of([RULE | {"mode": "retired"}])),
        "rollout": (of([RULE]), of([RULE | {"rollout": 0.0}])),
    }


def goal_in_worker(goal: Spec) -> Spec:
    return work(loop(), goal=goal | {"kind": goal.get("kind", "general")}, rules=[kind_rule()])


def kind_rule() -> Spec:
    """A rule that tells kinds of goals apart."""
    return {"id": "kinds", "condition": "goal.kind == 'b'", "action": "escalate"}


def node(before: Spec, after: Spec, **spec: Any) -> Case:
    return work(loop(**before), **spec), work(loop(**after), **spec)


def lone(**fields: Any) -> Case:
    return lead(), lead(**fields)


NEEDS = {"attempts": 1, "successCriteria": [{"id": "never", "metric": "condition", "target": "False"}]}
FORK = work(loop(), B, {"id": "c", "outputs": ["z"]}, {"id": "d", "outputs": ["v"], "join": "all"})
FORKED = [{"source": "a", "target": one} for one in "bc"] + [{"source": one, "target": "d"} for one in "bc"]


def joined(how: str) -> Spec:
    last = {"id": "d", "kind": "person", "prompt": "Joined.", "outputs": ["v"], "join": how}
    waits = {"id": "c", "kind": "person", "prompt": "Slow.", "outputs": ["z"]}
    return work(loop(), TOOL | {"id": "b", "outputs": ["y"]}, waits, last, edges=FORKED)


def circling(visits: int) -> Spec:
    back = [{"source": "a", "target": "t"}, {"source": "t", "target": "a"}]
    return work(loop(visits=visits), TOOL | {"outputs": ["y"], "visits": 9}, edges=back)


def judging(**fields: Any) -> Case:
    return work(loop(successCriteria=[C])), work(loop(successCriteria=[C]), judging=fields)


CASES: dict[str, Case] = {
    "spec.id": (work(loop()), work(loop()) | {"id": "v"}),
    "spec.version": (work(loop()), work(loop(), version="2")),
    "spec.identity": (work(loop()), work(loop(), identity="You are a pilot.")),
    **{f"spec.goal.{name}": case for name, case in goals(goal_in_worker).items()},
    "spec.inputs": (work(loop()), work(loop(), inputs=["must"])),
    "spec.optionalInputs": (
        work(TOOL | {"inputs": ["p"], "args": {"where": "$p"}}, inputs=[], optionalInputs=["p"]),
        work(TOOL | {"inputs": ["q"], "args": {"where": "$q"}}, optionalInputs=["p", "q"]),
    ),
    "spec.entry": (work(loop(), B, edges=TWO), work(loop(), B, edges=[{"source": "b", "target": "a"}]) | {"entry": "b"}),
    "spec.nodes.id": (work(loop()), work(loop(id="first"))),
    "spec.nodes.kind": (work(loop()), work({"id": "a", "kind": "person", "prompt": "Do it.", "outputs": ["x"]})),
    "spec.nodes.description": node({"prompt": ""}, {"prompt": "", "description": "Does it."}),
    "spec.nodes.prompt": node({}, {"prompt": "Do it well."}),
    "spec.nodes.tools": node({}, {"tools": ["look"]}),
    "spec.nodes.tool": (work(TOOL), work(TOOL | {"tool": "hang", "timeoutS": 0.001, "attempts": 1})),
    "spec.nodes.args": (work(TOOL), work(TOOL | {"args": {"where": "there"}})),
    "spec.nodes.inputs": node({"inputs": []}, {"inputs": ["p"]}, optionalInputs=["p"]),
    "spec.nodes.outputs": node({}, {"outputs": ["x", "y"]}),
    "spec.nodes.writes": (
        work(loop(outputs=["y"], turns=1, attempts=1)),
        work(loop(outputs=["y"], turns=1, attempts=1, writes=["x"])),
    ),
    **under("spec.nodes.successCriteria", criteria(lambda some: work(loop(successCriteria=some)))),
    "spec.nodes.judge": node({}, {"judge": "strict"}),
    "spec.nodes.clientFacing": node({"outputs": []}, {"outputs": [], "clientFacing": True}),
    "spec.nodes.requiresApproval": node({}, {"requiresApproval": True}),
    "spec.nodes.subagents": (work(loop(), subagents=[{"id": "sub"}]), work(loop(subagents=["sub"]), subagents=[{"id": "sub"}])),
    "spec.nodes.join": (joined("all"), joined("any")),
    "spec.nodes.attempts": node(NEEDS, NEEDS | {"attempts": 2}),
    "spec.nodes.turns": node({"outputs": ["y"], "turns": 1, "attempts": 1}, {"outputs": ["y"], "turns": 2, "attempts": 1}),
    "spec.nodes.visits": (circling(1), circling(2)),
    "spec.nodes.timeoutS": (
        work(TOOL | {"tool": "hang", "timeoutS": 0.001, "attempts": 1}, limits={"seconds": 0.5}),
        work(TOOL | {"tool": "hang", "attempts": 1}, limits={"seconds": 0.5}),
    ),
    "spec.edges.source": (
        work(loop(), B, {"id": "c"}, edges=[{"source": "a", "target": "b"}, {"source": "a", "target": "c"}]),
        work(loop(), B, {"id": "c"}, edges=[{"source": "a", "target": "b"}, {"source": "b", "target": "c"}]),
    ),
    "spec.edges.target": (work(loop(), B, edges=TWO), work(loop(), B | {"id": "c"}, edges=[{"source": "a", "target": "c"}])),
    "spec.edges.on": (work(loop(), B, edges=TWO), work(loop(), B, edges=[TWO[0] | {"on": "failure"}])),
    "spec.edges.when": both(
        lambda edge: work(loop(), B, edges=[TWO[0] | {"on": "condition"} | edge]),
        {"when": "False"},
        {"when": "output.x == 'done'"},
    ),
    "spec.edges.description": both(
        lambda edge: work(
            loop(), B, {"id": "c"}, edges=[TWO[0] | {"on": "model"} | edge, {"source": "a", "target": "c", "on": "model"}]
        ),
        {"description": "if good"},
        {"description": "if bad"},
    ),
    "spec.subagents.id": (
        lead(),
        work(loop(subagents=["other"]), subagents=[{"id": "other", "prompt": "Find it.", "outputs": ["x"]}]),
    ),
    "spec.subagents.description": (lead(prompt=""), lead(prompt="", description="Finds.")),
    "spec.subagents.prompt": lone(prompt="Find all."),
    "spec.subagents.tools": lone(tools=["look"]),
    "spec.subagents.inputs": (lead() | {"optionalInputs": ["p"]}, lead(inputs=["p"]) | {"optionalInputs": ["p"]}),
    "spec.subagents.outputs": lone(outputs=["x", "y"]),
    "spec.subagents.writes": (lead(outputs=["y"], turns=2), lead(outputs=["y"], writes=["x"], turns=2)),
    **under("spec.subagents.successCriteria", criteria(lambda some: lead(successCriteria=some, turns=2))),
    "spec.subagents.judge": lone(judge="strict"),
    "spec.subagents.requiresApproval": lone(requiresApproval=True),
    "spec.subagents.turns": (lead(outputs=["y"], turns=1), lead(outputs=["y"], turns=2)),
    "spec.subagents.timeoutS": (
        lead(outputs=["y"], tools=["hang"], timeoutS=0.001) | {"limits": {"seconds": 0.5}},
        lead(outputs=["y"], tools=["hang"]) | {"limits": {"seconds": 0.5}},
    ),
    "spec.planner": both(
        lambda spec: work(loop(), B, rules=[RULE | {"action": "replan"}], edges=TWO) | spec, {"planner": ""}, {"planner": "a"}
    ),
    "spec.replans": both(
        lambda spec: work(loop(), B, planner="b", edges=TWO, rules=[RULE | {"action": "replan"}]) | spec,
        {"replans": 0},
        {"replans": 1},
    ),
    "spec.context": both(lambda spec: work(loop(), B, edges=TWO) | spec, {"context": "continuous"}, {"context": "isolated"}),
    "spec.pauseNodes": (work(loop()), work(loop(), pauseNodes=["a"])),
    **{f"spec.rules.{name}": case for name, case in rules(lambda some: work(loop(), rules=some)).items()},
    "spec.judging.threshold": judging(threshold=0.95),
    "spec.judging.degrade": both(
        lambda more: work(loop(successCriteria=[C], attempts=2), judging={"threshold": 0.95} | more), {}, {"degrade": True}
    ),
    "spec.judging.unattended": both(
        lambda more: work(loop(successCriteria=[C]), judging={"threshold": 0.95} | more), {}, {"unattended": "accept"}
    ),
    "spec.scopes": (work(loop(inputs=["x"]), optionalInputs=["x"]), work(loop(inputs=["x"]), scopes={"x": "stream"})),
    "spec.limits.turns": both(lambda limits: work(loop(outputs=["y"]), limits=limits), {"turns": 1}, {"turns": 2}),
    "spec.limits.tokens": both(lambda limits: work(loop(outputs=["y"]), limits=limits), {"tokens": 1}, {"tokens": 9_999}),
    "spec.limits.usd": both(lambda limits: work(loop(outputs=["y"]), limits=limits), {"usd": 0.0000001}, {"usd": 9.0}),
    "spec.limits.seconds": both(
        lambda limits: work(TOOL | {"tool": "hang"}, limits=limits), {"seconds": 0.001}, {"seconds": 0.01}
    ),
}
# The world of a case, where it is another than usual.
WORLDS: dict[str, dict[str, Any]] = {
    "spec.goal.acceptAt": {"grade": 0.7},
    "spec.nodes.inputs": {"inputs": {"p": "known"}},
    "spec.optionalInputs": {"inputs": {"p": "up"}},
    "spec.subagents.inputs": {"inputs": {"p": "known"}, "script": delegates},
    "spec.nodes.clientFacing": {"script": lambda: [said("Hello.")]},
    "spec.subagents.timeoutS": {"script": lambda: [delegates()[0], said("", ("hang", {}))]},
    "spec.scopes": {"script": lambda: [sets("x", "shared"), sets("x", "late")], "names": ("r", "s")},
}
# What a run is not, and where that is shown.
ELSEWHERE = {
    "apiVersion": "it has one value",
    "kind": "it has one value",
    "spec.description": "for people: `hive-mind worker list`",
    "spec.rules.metadata": "for people and for `rules approve`; tests/unit/judge/test_rules.py",
    "spec.rules.on": "a worker's rules are about outputs; tests/acceptance/test_judged_runs.py",
    "spec.contextTokens": "tests/unit/agents/runs/test_executor.py, tests/unit/runs/test_files.py",
    **{
        f"{place}health.{name}": "tests/unit/judge/test_health.py"
        for place in ("spec.", "spec.goal.")
        for name in ("warn", "degraded", "critical", "stallMin")
    },
    "spec.goal.inputs": "what a worker lacks of it is refused; tests/unit/runs/test_worker_file.py",
    "spec.inputs": "of a goal: the same",
}
REFUSED = {
    "spec.subagents.kind": {"kind": "person"},
    "spec.subagents.tool": {"tool": "look"},
    "spec.subagents.args": {"args": {"where": "x"}},
    "spec.subagents.clientFacing": {"clientFacing": True},
    "spec.subagents.subagents": {"subagents": ["sub"]},
    "spec.subagents.join": {"join": "all"},
    "spec.subagents.attempts": {"attempts": 5},
    "spec.subagents.visits": {"visits": 5},
}


def world_of(field: str) -> dict[str, Any]:
    found = WORLDS.get(field, {})
    return found if "script" in found or not field.startswith("spec.subagents.") else found | {"script": delegates}


def seen(spec: Spec, world: dict[str, Any], tmp_path: Path) -> str:
    try:
        return run(spec, folder=tmp_path, **world)
    except HiveError as error:
        return f"refused: {error}"


@pytest.mark.parametrize("field", CASES)
def test_a_field_of_a_worker_that_changes_changes_a_run(field: str, tmp_path: Path) -> None:
    before, after = CASES[field]
    world = world_of(field)
    first, second = seen(before, world, tmp_path / "before"), seen(after, world, tmp_path / "after")
    assert first != second
    assert not first.startswith("refused"), first


@pytest.mark.parametrize("field", REFUSED)
def test_what_a_field_can_not_do_is_refused_where_it_is_written(field: str) -> None:
    with pytest.raises(HiveError, match=re.escape(f"spec.subagents[0].{field.rpartition('.')[2]}")):
        worker_of(text_of(lead(**REFUSED[field])))


def test_no_field_is_left_out() -> None:
    def leaves(form: Any) -> set[str]:
        return {path for path, info in everywhere(form) if section_of(info) is None}

    assert leaves(WorkerFile) == CASES.keys() | REFUSED.keys() | (ELSEWHERE.keys() - {"spec.inputs"})


def test_files_of_goals_and_rules_have_the_sections_of_a_worker() -> None:
    of_worker, of_rules, of_goal = (dict(everywhere(form)) for form in (WorkerFile, RuleFile, GoalFile))

    assert section_of(of_worker["spec.goal"]) is section_of(of_goal["spec"]) is Goal
    assert section_of(of_worker["spec.rules"]) is section_of(of_rules["spec.rules"]) is EvaluationRule
