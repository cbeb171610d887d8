"""Putting a configuration into use: after the gate has let it through, in one step that either has happened or has not.

The gate looks at all three levels and changes nothing. A fleet asks there before it takes another configuration, `hive-mind
retrieval deploy` does the same.

The step is the renaming of `configs/active.json`. Before it, the line that will stand in the history is kept in a note; after it,
the line is written and the note goes. So the former configuration stays active until the step, the new one is from then on, and
the next command writes the line that is missing, or drops the note of a change that never happened. All under the lock.

`history.jsonl` has the deployments, with person, time and reason: one line for each change of the active configuration, never
rewritten. A line holds the whole configuration, so that the one in use can be had back even if its file was edited or is gone.
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import msgspec
from pydantic import ValidationError

from hive_mind.errors import ConfigError, InvalidInput, Problem, WorkspaceError, reason_of
from hive_mind.measure import Ground
from hive_mind.model.decoding import json_decoder
from hive_mind.retrieval import Active, RetrievalConfig, append_line, workspace_lock, write_whole
from hive_mind.retrieval.measuring.evaluation import Bench, Questions, environment, held_out, write_results
from hive_mind.retrieval.measuring.verdict import ConfigVerdict, Level, decide
from hive_mind.retrieval.validation import Checked, FileFinding, check_collection, check_config, check_golden, semantic
from hive_mind.retrieval.workspace import Workspace, is_same

What = Literal["deploy", "rollback", "found"]


@dataclass(frozen=True, slots=True)
class Deployment:
    """One change. `found`: it came there some other way than by these commands. `at` is ISO 8601, and no two are the same.

    `figures` are those of the gate, `overruled` what it had against it, `results` names of files in results/.
    """

    at: str
    what: What
    config: str
    by: str
    why: str
    deployed: dict[str, Any]
    forced: bool = False
    former: str = ""
    figures: dict[str, Any] = field(default_factory=dict)
    overruled: tuple[str, ...] = ()
    results: tuple[str, ...] = ()

    @property
    def configuration(self) -> RetrievalConfig:
        """As it was deployed. Raises `InvalidInput` where this version has no such configurations any more."""
        try:
            return RetrievalConfig.model_validate(self.deployed)
        except ValidationError as error:
            message = f"this version can't read the configuration deployed at {self.at}"
            raise InvalidInput(f"{message} ({str(error).splitlines()[1]}): deploy a file of configs/") from error

    def is_of(self, config: RetrievalConfig) -> bool:
        try:
            return self.configuration == config
        except InvalidInput:
            return False


def read_history(file: Path) -> tuple[Deployment, ...]:
    """Every change, oldest first. Half a line at the end is what a crash left, and nothing.

    Raises `WorkspaceError` for a line that is no entry, `InvalidInput` where the file can't be read.
    """
    if not file.exists():
        return ()
    try:
        lines = file.read_bytes().split(b"\n")[:-1]
    except OSError as error:
        raise InvalidInput(f"{file} can't be read ({reason_of(error)}): make it readable, or take it away") from error
    entries = []
    for number, line in enumerate(lines, 1):
        try:
            entries += [decoded(line)] if line.strip() else []
        except ValueError as error:
            message = f"is not an entry of the history ({error}); restore it, or remove the line"
            raise WorkspaceError([Problem("history", number, message)], str(file)) from error
    return tuple(entries)


def add_entry(file: Path, entry: Deployment) -> None:
    append_line(file, encoded(entry))


def encoded(entry: Deployment) -> str:
    return msgspec.json.encode(entry).decode()


def decoded(line: bytes) -> Deployment:
    """The entry of a line. Raises `ValueError`."""
    return json_decoder(Deployment)(line)


def in_use(entries: tuple[Deployment, ...]) -> list[Deployment]:
    """The deployments that were not rolled back, oldest first: the last one is in use, a rollback restores the one before it."""
    deployments: list[Deployment] = []
    for entry in entries:
        if entry.what == "rollback" and deployments:
            deployments.pop()
        else:
            deployments.append(entry)
    return deployments


async def judge_file(bench: Bench, active: RetrievalConfig | None, name: str) -> tuple[RetrievalConfig | None, ConfigVerdict]:
    """A configuration of the workspace by its name, from its form on. None where it has none.

    Raises `InvalidInput` where there is no such file.
    """
    checked = check_config(bench.workspace, name, has_embeddings=bench.has_embeddings)
    if checked.value is None or checked.errors:
        return checked.value, _refused("semantic" if checked.value else "syntactic", checked.file.name, checked.errors)
    return checked.value, await judge(bench, active, checked.value)


async def judge(bench: Bench, active: RetrievalConfig | None, candidate: RetrievalConfig) -> ConfigVerdict:
    """The verdict about a candidate. Without an active configuration it only has to do more good than harm.

    Expected trouble is a ground of the verdict. Raises `HiveError` where the workspace, its index or its model can't be used.
    """
    if active is not None and is_same(active, candidate):
        reason = f"{candidate.name!r} is identical to the configuration in use: nothing to deploy"
        return ConfigVerdict((Ground("unchanged", reason),), level="semantic")
    questions = _questions(bench, candidate)
    if isinstance(questions, ConfigVerdict):
        return questions
    async with bench.open(candidate.collection) as index:
        collection = bench.workspace.collection(candidate.collection)
        findings = semantic(candidate, collection, index.facets(), bench.has_embeddings)
        if errors := [finding for finding in findings if finding.level == "error"]:
            return _refused("semantic", candidate.name, errors)
        opened = index, candidate.collection
        measured = await bench.measured(candidate, *questions, *opened)
        try:
            former = await bench.measured(active, *questions, *opened) if active else None
        except ConfigError as error:
            reason = f"the configuration in use can't be measured ({error}): fix that, or replace it by force"
            return ConfigVerdict((Ground("unmeasurable", reason),), candidate=measured)
    verdict = decide(former, measured)
    return replace(verdict, remarks=(*(f"{finding.path}: {finding.message}" for finding in findings), *verdict.remarks))


def _questions(bench: Bench, candidate: RetrievalConfig) -> tuple[Questions, str] | ConfigVerdict:
    """The questions that decide and the name of their part, or why nothing can be measured with them."""
    collection = check_collection(bench.workspace, candidate.collection)
    if collection.value is None or collection.errors:
        return _refused(_level(collection), f"collections/{collection.file.name}", collection.errors)
    golden = check_golden(bench.workspace, collection.value)
    if golden.value is None or golden.errors:
        return _refused(_level(golden), f"evals/{golden.file.name}", golden.errors)
    try:
        return held_out(golden.value)
    except ConfigError as error:
        return ConfigVerdict((Ground("invalid", str(error)),), level="semantic")


def _level(checked: Checked[Any]) -> Level:
    return "semantic" if checked.value is not None else "syntactic"


def _refused(level: Level, file: str, findings: Iterable[FileFinding]) -> ConfigVerdict:
    grounds = (Ground("invalid", f"{file}:{finding.line}: {finding.path}: {finding.message}") for finding in findings)
    return ConfigVerdict(tuple(grounds), level=level)


# As `active.json` takes them.
_BY_MAX, _WHY_MAX = 200, 2000


def activate(workspace: Workspace, entry: Deployment) -> None:
    """The change itself. Before the second step the former configuration is in use, from then on the new one."""
    note = _note(workspace)
    write_whole(note, encoded(entry))
    active = Active(
        config=entry.config, deployed=entry.configuration, at=entry.at, by=entry.by, why=entry.why, forced=entry.forced
    )
    write_whole(workspace.active_file, active.model_dump_json(indent=2, by_alias=True) + "\n")
    add_entry(workspace.history_file, entry)
    note.unlink()


def recover(workspace: Workspace, now: datetime) -> None:
    """Finish what was interrupted, and write down an active configuration that came some other way."""
    note, active = _note(workspace), workspace.deployment()
    if note.exists():
        _finish(workspace, note, active)
    config = workspace.active()
    entries = read_history(workspace.history_file)
    if active is None or config is None or (entries and entries[-1].is_of(config)):
        return
    former = entries[-1].config if entries else ""
    at = moment(workspace, now)
    deployment = Deployment(at, "found", config.name, active.by, active.why, plain(config), active.forced, former)
    add_entry(workspace.history_file, deployment)


def _finish(workspace: Workspace, note: Path, active: Active | None) -> None:
    """The change in the note has happened if its configuration is in use; else it has not."""
    try:
        entry = decoded(note.read_bytes())
    except ValueError:
        # Not written here, as it is written whole. A configuration in use without a line is found and written down anyway.
        note.unlink()
        return
    moments = {deployment.at for deployment in read_history(workspace.history_file)}
    if active and active.at == entry.at and entry.at not in moments:
        add_entry(workspace.history_file, entry)
    note.unlink()


def moment(workspace: Workspace, now: datetime) -> str:
    """The time as an entry has it, which no other entry has."""
    moments = {deployment.at for deployment in read_history(workspace.history_file)}
    while (at := now.isoformat(timespec="microseconds")) in moments:
        now += timedelta(microseconds=1)
    return at


def plain(config: RetrievalConfig) -> dict[str, Any]:
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

    verdict: ConfigVerdict
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
        # Also of a refused configuration: they are the evidence.
        measured = (verdict.comparison and verdict.comparison.before, verdict.candidate)
        about = environment(bench)
        results = tuple(write_results(workspace, evaluation, about, at) for evaluation in measured if evaluation)
        if config is None or not (verdict.allowed or (order.force and verdict.level == "behavioural")):
            return DeploymentResult(verdict, None, results)
        entry = Deployment(
            at=moment(workspace, at),
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
        deployments = in_use(read_history(workspace.history_file))
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
    return read_history(workspace.history_file)


def _figures(verdict: ConfigVerdict) -> dict[str, Any]:
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


def _check(by: str, why: str) -> None:
    if len(by) > _BY_MAX or len(why) > _WHY_MAX:
        raise InvalidInput(f"too long: --by takes at most {_BY_MAX} characters, --reason at most {_WHY_MAX:,}; shorten it")
