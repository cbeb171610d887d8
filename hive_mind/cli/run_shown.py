"""What people see of a run: its steps as they come, where it is, what it came to, and why."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from hive_mind.cli.options import DEFAULT_AGENT, Format
from hive_mind.cli.output import plain, printable, say, short_id, show, show_indented, show_json, show_table
from hive_mind.judge.judgment import JudgmentAction
from hive_mind.runs import steps as s
from hive_mind.runs.handoff import one_line
from hive_mind.runs.state import RunState

if TYPE_CHECKING:
    from hive_mind.agents.desk import LedgerDesk
    from hive_mind.agents.executor import RunExecutor

_VALUE_CHARACTERS = 200


class Teller:
    """One line, on stderr, for each step that somebody who waits wants to know."""

    def __init__(self) -> None:
        self._nodes: dict[str, str] = {}

    def __call__(self, step: s.Step) -> None:
        """Tell it, if it is news."""
        if line := step_told(step, self._nodes):
            say(line, style="dim")


def step_told(step: s.Step, nodes: dict[str, str]) -> str:
    """What a step says; "" for what is no news. `nodes` learns which node each place is."""
    match step:
        case s.Entered():
            nodes[step.place] = step.node
            return f"{step.node} begins"
        case s.Resumed():
            return "taken up again"
        case s.Replied(is_model=True):
            calls = ", ".join(call.name for call in step.calls)
            return f"{_node(nodes, step)}: {calls or one_line(step.text)}"
        case s.Returned(is_error=True):
            return f"{_node(nodes, step)}: error: {one_line(step.text)}"
        case s.Judged(action=JudgmentAction.ACCEPT):
            return ""
        case s.Judged():
            return f"{_node(nodes, step)}: {step.action}: {one_line(step.reasoning)}"
        case s.Parked():
            return f"{_node(nodes, step)}: a person is asked ({short_id(step.item)})"
        case s.Answered():
            return f"{step.by} decided: {step.action}"
        case s.Warned() | s.Reported():
            return f"{_node(nodes, step)}: {one_line(step.text)}"
        case s.Compacted():
            return f"{_node(nodes, step)}: conversation moved to {step.file}"
    return ""


async def show_run(executor: "RunExecutor", agent: str, output: Format) -> None:
    """Where it is, or what it came to."""
    desk = executor.parts.desk
    document = await document_of(executor.run, executor.state, desk)
    if output is Format.JSON:
        show_json(document)
        return
    state = executor.state
    show(f"run {executor.run}: {document['status']}" + (f" — {state.reason}" if state.reason else ""), style="bold")
    for key, value in document["outputs"].items():
        show(f"{key}:", style="bold")
        show_indented(printable(value if isinstance(value, str) else one_line(value, 2_000)))
    if files := executor.parts.files(executor.run, "").data_files():
        folder = executor.parts.files(executor.run, "").folder
        say(f"{len(files)} files in {folder}", style="dim")
    which = f" --agent {agent}" if agent != DEFAULT_AGENT else ""
    for item in document["waiting"]:
        show(f"waits for a person: {item['title']}", style="yellow")
        how = f'answer {short_id(item["id"])} "…"' if item["kind"] == "question" else f"approve {short_id(item['id'])}"
        show(f"  hive-mind inbox show {short_id(item['id'])}{which}")
        show(f"  hive-mind inbox {how}{which}")
    if document["waiting"]:
        show(f"  hive-mind runs resume {executor.run}{which}")


async def document_of(run: str, state: RunState, desk: "LedgerDesk") -> dict[str, Any]:
    """A run as JSON."""
    views = [view for id in state.waiting if (view := await desk.view(id))]
    outputs = {key: value for key, value in state.buffer.items() if key not in state.inputs}
    wanted = state.spec.goal.outputs if state.spec.goal and state.spec.goal.outputs else outputs
    return {
        "run": run,
        "worker": state.spec.id,
        "version": state.spec.version,
        "status": status_of(state),
        "reason": state.reason,
        "at": sorted(place.node for place in state.places.values()),
        "done": list(state.done),
        "outputs": plain({key: outputs[key] for key in wanted if key in outputs}),
        "waiting": [{"id": view.item.id, "kind": view.item.kind, "title": view.item.title} for view in views],
        "steps": state.seq,
        "turns": state.turns,
        "tokens": state.tokens,
        "begun": _time(state.begun_ms),
        "changed": _time(state.at_ms),
    }


def status_of(state: RunState) -> str:
    """A word for it: how it ended, or whether a person or a process goes on."""
    return state.outcome or ("parked" if state.is_waiting else "unfinished")


def show_table_of(documents: list[dict[str, Any]]) -> None:
    """One line each."""
    rows = [
        (one["run"], one["worker"], one["status"], ", ".join(one["at"]) or "-", str(one["steps"]), one["changed"])
        for one in documents
    ]
    show_table(["run", "worker", "status", "at", "steps", "changed"], rows, right=[4])


def reasons_of(steps: list[s.Step]) -> Iterator[str]:
    """Why it came so: judgements and decisions, in their order."""
    nodes: dict[str, str] = {}
    for step in steps:
        told = step_told(step, nodes)
        match step:
            case s.Judged():
                which = f" (judgement {short_id(step.judgment)})" if step.judgment else ""
                why = one_line(step.reasoning, _VALUE_CHARACTERS)
                yield f"{_node(nodes, step)}: {step.action} by {step.cause or 'judge'}: {why}{which}"
            case s.Answered():
                yield f"{step.by} decided {step.action}" + (f": {step.because}" if step.because else "")
            case s.Parked() | s.Warned():
                yield told
            case s.Ended():
                yield f"ended: {step.outcome}: {step.reason}"


def _node(nodes: dict[str, str], step: Any) -> str:
    return nodes.get(step.place, step.place) or "the whole"


def _time(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1_000, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
