"""`hive-mind apply --gate`, before a fleet changes: does it find as well with the wanted manifest as with the applied one?

Both are put into arms of an evaluation and asked the same questions of the same data. An arm is a topology with its sizes, a
ranking and an embedding; where these stay as they are, nothing is asked. Anything else that affects results, such as the gate of
promotion or trust, no arm measures: it is named.
"""

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import typer

from hive_mind.cli.options import settings_for
from hive_mind.cli.output import progress, say, say_refused
from hive_mind.cli.running import FAILED, USAGE
from hive_mind.control.manifests.reading import Source, settled
from hive_mind.control.planning.changes import READ, Change
from hive_mind.control.planning.desired import desired
from hive_mind.control.remembering import Remembered
from hive_mind.control.state import FleetFolder
from hive_mind.errors import InvalidInput
from hive_mind.evals.datasets import read_json
from hive_mind.evals.experiments import Arm, DataSource, Experiment, Fault, Retrieval
from hive_mind.evals.experiments.form import GATE
from hive_mind.evals.experiments.reading import read_experiment
from hive_mind.evals.gating import Judgement, Side, evidence, judge_run
from hive_mind.evals.running import MeasuredRun, read_run
from hive_mind.evals.running.harness import RunListener, RunOrder, run
from hive_mind.hive.topology.spec import SINGLE, TopologyName, has_node_per, reads
from hive_mind.memory.transfer import line_of
from hive_mind.model.fact import Fact
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import kept_facts
from hive_mind.runtime.workers.config import WorkerConfig
from hive_mind.safe_files import write_whole

_FACTS = "facts.jsonl"

CERTAIN = ("ndcg", "distractors")
"""Metrics of which a loss has to be ruled out; of others a drop has to be proven. A fleet in use is not there to try things."""
_UNMEASURED = ("spec.llm.", "spec.lifecycle.", "spec.promotion.", "spec.trust.", "spec.retrieval.deadlineS")


def is_question_file(path: Path) -> bool:
    """Whether a file is document 003's, and no experiment."""
    if path.suffix != ".json" or not path.is_file():
        return False
    value = read_json(path)
    return isinstance(value, dict) and isinstance(value.get("questions"), list) and "data" not in value


def questions_asked(questions: Path, agents: Sequence[str], folder: Path, settings: Settings) -> Experiment:
    """The experiment; its data are written into the folder. Raises `InvalidInput` where the agents know nothing yet."""
    facts: dict[str, Fact] = {}
    for agent in agents:
        facts |= {fact.id: fact for fact in kept_facts(settings, agent) if fact.is_current}
    if not facts:
        raise InvalidInput(f"{questions}: its questions need facts, and the fleet's agents have none yet; let them learn first")
    folder.mkdir(parents=True, exist_ok=True)
    lines = (f"{line_of(fact)}\n" for fact in sorted(facts.values(), key=lambda fact: (fact.learned_at_us, fact.id)))
    write_whole(folder / _FACTS, "".join(lines).encode())
    return Experiment("questions", (DataSource("fleet", "auto", folder / _FACTS, questions=questions.absolute()),), (Arm(),))


@dataclass(frozen=True, slots=True)
class Findable:
    """All of a fleet that an arm can have."""

    arm: Arm
    retrieval: Retrieval
    embed: str
    embed_model: str
    embed_url: str
    ann: str

    def settings(self, base: Settings) -> Settings:
        model = self.embed_model or base.embed_model
        return replace(base, embed=self.embed, embed_model=model, embed_url=self.embed_url, ann=self.ann)


@dataclass(frozen=True, slots=True)
class FleetChange:
    """The applied fleet, None before the first time, and the wanted one. `unmeasured` are changes that no arm has."""

    applied: Findable | None
    wanted: Findable
    unmeasured: tuple[Change, ...] = ()
    agents: tuple[str, ...] = ()
    """The agents applied now."""

    @property
    def is_asked(self) -> bool:
        return self.applied is not None and self.applied != self.wanted


def fleet_change(source: Source, home: Path) -> FleetChange:
    """The change an apply would make. Raises `ManifestError`."""
    folder = FleetFolder(home, source.manifest.metadata.name)
    settled_source = settled(source)
    target = desired(settled_source.manifest, settled_source.folder, folder.home, folder.state(), {})
    before, after = applied_in(folder), list(target.processes.values())
    agents = tuple(dict.fromkeys(agent.name for config in before for agent in config.agents))
    return FleetChange(findable(before) if before else None, findable(after), tuple(_unmeasured(before, after)), agents)


def applied_in(folder: FleetFolder) -> list[WorkerConfig]:
    """The configuration of every process that was applied last, whether it runs or not."""
    if not folder.exists:
        return []
    processes = Remembered(folder).with_members({}, ())
    return [config for name in sorted(processes) if (config := processes[name].config)]


def findable(configs: Sequence[WorkerConfig]) -> Findable:
    """How processes of one fleet search together."""
    first = configs[0]
    models = first.models
    ranked = Retrieval("fleet", "hybrid" if models.embed != "none" else "lexical", first.ranking)
    return Findable(_arm(configs), ranked, models.embed, models.embed_model, models.embed_url, models.ann)


def judge_change(change: FleetChange, experiment: Experiment, folder: Path, settings: Settings, report: RunListener) -> Judgement:
    """Measure both sides, in a folder that is made anew, and judge. Raises `InvalidInput` for data that can't be used."""
    if change.applied is None or not change.is_asked:
        return Judgement()
    if alone := [side.arm.agents for side in (change.applied, change.wanted) if side.arm.kind == SINGLE and side.arm.agents > 1]:
        return Judgement(
            unjudged=(f"{alone[0]} agents of topology single share nothing, and no arm of an evaluation is like that",)
        )
    runs = []
    for name, side in (("applied", change.applied), ("wanted", change.wanted)):
        shutil.rmtree(folder / name, ignore_errors=True)
        asked_experiment = replace(
            experiment, arms=(side.arm,), retrieval=(side.retrieval,), faults=(Fault(),), chosen=(), has_baselines=False
        )
        run(RunOrder(asked_experiment, folder / name, side.settings(settings), folder / "vectors"), report)
        runs.append(read_run(folder / name))
    unlike = [*_unlike(runs[0], change.applied), *_unlike(runs[1], change.wanted)]
    return Judgement(unjudged=tuple(unlike)) if unlike else judge_runs(*runs)


def judge_runs(applied: MeasuredRun, wanted: MeasuredRun) -> Judgement:
    """Judge what a fleet finds, data set by data set and seed by seed. The arms have other names: each is one of its run."""
    judgement = Judgement()
    after = _sides("wanted", wanted)
    for key, side in _sides("applied", applied).items():
        judgement += judge_run(side, after[key], certain=CERTAIN)
    return judgement


def _sides(name: str, measured: MeasuredRun) -> dict[tuple[str, int], Side]:
    """The cells of the fleet, each alone, by data set and seed."""
    cells = [(measured.planned[cell.id], cell) for cell in measured.cells]
    return {(plan.data.name, plan.seed): Side(f"{name}: {plan.data.name}", measured, (cell,)) for plan, cell in cells}


def _unlike(measured: MeasuredRun, side: Findable) -> Iterator[str]:
    """Without its model a side would be measured by words alone, which says nothing of the fleet."""
    modes = {retrieval.mode for retrieval in measured.experiment.retrieval}
    if modes != {side.retrieval.mode}:
        yield f"{measured.folder.name}: there is no embedding model {side.embed_model!r} here: see hive-mind doctor"


def _arm(configs: Sequence[WorkerConfig]) -> Arm:
    hive = configs[0].hive
    agents = [agent for config in configs for agent in config.agents]
    kind = cast(TopologyName, hive.topology)
    # With a node per agent facts are kept by nodes, and several agents may share one.
    size = sum(len(config.nodes) for config in configs) if has_node_per(kind, "agent") else len(agents)
    groups = len({agent.group for agent in agents}) if reads(kind, "groups") else 0
    return Arm(kind, size, groups, hive.replicas if reads(kind, "replicas") else Arm().replicas)


def _unmeasured(before: Sequence[WorkerConfig], after: Sequence[WorkerConfig]) -> Iterator[Change]:
    """Settings are those of the whole fleet, so that one process of each tells them."""
    for path, value_of in READ.items() if before and after else ():
        if path.startswith(_UNMEASURED) and (old := value_of(before[0])) != (new := value_of(after[0])):
            yield Change(path, old, new)


def pass_or_end(source: Source, home: Path, questions: str, data: Path | None = None) -> None:
    """Return where the change may be made; end with exit code 1 where it is refused, and with 2 where that can't be judged.

    `asked` is an experiment or a question file, `data` where the experiment's paths are looked for first. Not for a coroutine:
    cells run in processes of their own, and Ctrl-C ends them. Raises `HiveError`.
    """
    # Always read: its mistakes are reported even where nothing is measured.
    experiment = None if is_question_file(Path(questions)) else _experiment_at(questions, data)
    change = fleet_change(source, home)
    # Print the parts that are measured, and those that can't be.
    for metric in change.unmeasured:
        say(f"note: --gate does not measure {metric}", style="yellow")
    if change.applied is None:
        say("--gate: nothing was applied before, so there is nothing to fall behind")
    elif not change.is_asked:
        say("--gate: topology, ranking and embedding stay as they are, so nothing was asked")
    if not change.is_asked:
        return
    folder, settings = FleetFolder(home, source.manifest.metadata.name).path / "gate", settings_for(home)
    experiment = experiment or questions_asked(Path(questions), change.agents, folder, settings)
    with progress("cells") as report:
        judged = judge_change(change, experiment, folder, settings, report)
    _show(judged, folder)
    if not judged.allowed:
        raise typer.Exit(USAGE if judged.unjudged else FAILED)


def _experiment_at(file_or_name: str, data: Path | None) -> Experiment:
    experiment = read_experiment(file_or_name, data, GATE)
    if experiment.absent:
        say(f"note: --gate does not ask {', '.join(experiment.absent)}: their files are not there", style="yellow")
    return experiment.experiment


def _show(judgement: Judgement, folder: Path) -> None:
    if judgement.allowed:
        for cell in judgement.cells:
            for metric in cell.metrics:
                if metric.metric.split("@")[0] in CERTAIN and metric.difference:
                    say(f"--gate: {cell.before} → {cell.after}: {metric.metric} {evidence(metric)}", style="green")
        return
    reasons = (*judgement.unjudged, *(f"{ground.about}: {ground.message}" for ground in judgement.grounds))
    if judgement.grounds:
        hint = f"look closer with hive-mind eval report {folder / 'applied'}, and {folder / 'wanted'}"
        say_refused("refused by --gate; nothing was changed", reasons, hint)
    else:
        say_refused("--gate can't judge, so nothing was changed", reasons)
