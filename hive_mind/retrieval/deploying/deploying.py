"""Putting a configuration into use: after the gate has let it through, in one step that either has happened or has not.

The step is the renaming of `configs/active.json`. Before it, the line that will stand in the history is kept in a note; after it,
the line is written and the note goes. So the former configuration stays active until the step, the new one is from then on, and
the next command writes the line that is missing, or drops the note of a change that never happened. All under the lock.
Permission to deploy is decided in `gate` and `verdict`.
"""

from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hive_mind.errors import ConfigError, InvalidInput
from hive_mind.retrieval.deploying import history
from hive_mind.retrieval.deploying.gate import judge_file
from hive_mind.retrieval.deploying.history import Deployment
from hive_mind.retrieval.files.configuration import Active, RetrievalConfig
from hive_mind.retrieval.files.workspace import Workspace
from hive_mind.retrieval.files.writing import workspace_lock, write_whole
from hive_mind.retrieval.measuring.evaluation import Bench
from hive_mind.retrieval.measuring.result_files import Environment, environment, write_results
from hive_mind.retrieval.measuring.verdict import Verdict

# As `active.json` takes them.
_BY_MAX, _WHY_MAX = 200, 2000


def activate(workspace: Workspace, entry: Deployment) -> None:
    """The change itself. Before the second step the former configuration is in use, from then on the new one."""
    note = _note(workspace)
    write_whole(note, history.encoded(entry))
    active = Active(
        config=entry.config, deployed=entry.configuration, at=entry.at, by=entry.by, why=entry.why, forced=entry.forced
    )
    write_whole(workspace.active_file, active.model_dump_json(indent=2, by_alias=True) + "\n")
    history.add(workspace.history_file, entry)
    note.unlink()


def recover(workspace: Workspace, now: datetime) -> None:
    """Finish what was interrupted, and write down an active configuration that came some other way."""
    note, active = _note(workspace), workspace.deployment()
    if note.exists():
        _finish(workspace, note, active)
    config = workspace.active()
    entries = history.read_history(workspace.history_file)
    if active is None or config is None or (entries and entries[-1].is_of(config)):
        return
    former = entries[-1].config if entries else ""
    at = moment(workspace, now)
    deployment = Deployment(at, "found", config.name, active.by, active.why, plain(config), active.forced, former)
    history.add(workspace.history_file, deployment)


def _finish(workspace: Workspace, note: Path, active: Active | None) -> None:
    """The change in the note has happened if its configuration is in use; else it has not."""
    try:
        entry = history.decoded(note.read_bytes())
    except ValueError:
        # Not written here, as it is written whole. A configuration in use without a line is found and written down anyway.
        note.unlink()
        return
    known = {deployment.at for deployment in history.read_history(workspace.history_file)}
    if active and active.at == entry.at and entry.at not in known:
        history.add(workspace.history_file, entry)
    note.unlink()


def moment(workspace: Workspace, now: datetime) -> str:
    """The time as an entry has it, which no other entry has."""
    taken = {deployment.at for deployment in history.read_history(workspace.history_file)}
    while (at := now.isoformat(timespec="microseconds")) in taken:
        now += timedelta(microseconds=1)
    return at


def plain(config: RetrievalConfig) -> dict[str, Any]:
    """A configuration as it stands in a file."""
    return config.model_dump(mode="json", by_alias=True)


def _note(workspace: Workspace) -> Path:
    return workspace.root / ".deploying.json"


@dataclass(frozen=True, slots=True)
class Order:
    """A request for deployment. `force`: although the measurements oppose it; that needs a reason."""

    config: str
    by: str
    why: str = ""
    force: bool = False


@dataclass(frozen=True, slots=True)
class DeploymentResult:
    """The outcome of an order: the verdict, and the line in the history if it was deployed. `results` are the files written."""

    verdict: Verdict
    entry: Deployment | None
    results: tuple[Path, ...] = ()


async def deploy(bench: Bench, order: Order, now: datetime | None = None) -> DeploymentResult:
    """Look at all three levels, and put the configuration into use if they have nothing against it, or if it is forced.

    Force overrules measurements only: what has no form or makes no sense is never deployed, nor what is in use already. Raises
    `InvalidInput` for a name that no file has and for force without a reason, `WorkspaceBusy` while another one deploys.
    """
    _check(order.by, order.why)
    if order.force and not order.why.strip():
        raise InvalidInput("--force overrules the gate and is recorded: give --reason")
    workspace, at = bench.workspace, now or datetime.now(UTC)
    with workspace_lock(workspace.root):
        recover(workspace, at)
        former = workspace.active()
        config, verdict = await judge_file(bench, former, order.config)
        results = _write_measurements(bench, verdict, at)
        if config is None or not (verdict.allowed or (order.force and verdict.level == "behavioural")):
            return DeploymentResult(verdict, None, results)
        entry = _entry(order, config, former, verdict, moment(workspace, at), results)
        activate(workspace, entry)
        return DeploymentResult(verdict, entry, results)


def rollback(workspace: Workspace, by: str, why: str = "", now: datetime | None = None) -> Deployment:
    """Put back what was in use before, as it was then; once more goes back further. Nothing is measured: it was in use.

    Raises `InvalidInput` where there is nothing to go back to.
    """
    _check(by, why)
    with workspace_lock(workspace.root):
        at = now or datetime.now(UTC)
        recover(workspace, at)
        deployments = history.in_use(history.read_history(workspace.history_file))
        if len(deployments) < 2:
            raise InvalidInput("there is nothing to roll back to: history.jsonl has no earlier configuration")
        before, current = deployments[-2:]
        entry = Deployment(
            moment(workspace, at), "rollback", before.config, by, why, before.deployed, before.forced, current.config
        )
        activate(workspace, entry)
        return entry


def read_deployments(workspace: Workspace) -> tuple[Deployment, ...]:
    """Every change, oldest first. The remains of an interrupted command are put right first, unless somebody is deploying just
    now.
    """
    # The history must also be readable without the right to write, and when the active file is broken.
    with suppress(ConfigError, OSError), workspace_lock(workspace.root):
        recover(workspace, datetime.now(UTC))
    return history.read_history(workspace.history_file)


def _entry(
    order: Order,
    config: RetrievalConfig,
    former: RetrievalConfig | None,
    verdict: Verdict,
    at: str,
    results: tuple[Path, ...],
) -> Deployment:
    return Deployment(
        at=at,
        what="deploy",
        config=config.name,
        by=order.by,
        why=order.why,
        deployed=plain(config),
        forced=not verdict.allowed,
        former=former.name if former else "",
        figures=_figures(verdict),
        overruled=tuple(ground.message for ground in verdict.grounds),
        results=tuple(path.name for path in results),
    )


def _figures(verdict: Verdict) -> dict[str, Any]:
    new, compared = verdict.candidate, verdict.comparison
    figures: dict[str, Any] = {}
    if new:
        figures |= {"questions": len(new.rows), "nudcg": round(new.nudcg, 4), "distractors": new.distractors}
    if compared and (moved := compared.nudcg.difference):
        figures |= {
            "nudcg_before": round(compared.before.nudcg, 4),
            "distractors_before": compared.before.distractors,
            "interval": [round(moved.low, 4), round(moved.high, 4)],
            "p": moved.p,
        }
    return figures


def _write_measurements(bench: Bench, verdict: Verdict, at: datetime) -> tuple[Path, ...]:
    """Write the measurements, also of a refused configuration: they are the evidence."""
    measured = [verdict.comparison.before] if verdict.comparison else []
    if verdict.candidate:
        measured.append(verdict.candidate)
    about: Environment = environment(bench)
    return tuple(write_results(bench.workspace, evaluation, about, at) for evaluation in measured)


def _check(by: str, why: str) -> None:
    if len(by) > _BY_MAX or len(why) > _WHY_MAX:
        raise InvalidInput(f"too long: --by takes at most {_BY_MAX} characters, --reason at most {_WHY_MAX:,}; shorten it")
