"""From a file to an experiment, or to everything that is wrong with it at once, each with its line and what to do.

Paths in it are looked for in `--data`, where that is given, and then in the file's own folder. A data set that is `optional` and
not there is left out and named; without the mark it is an error.

Contradictions in an experiment of valid form: each finding with its place in the file. Pure.

Files it names are looked for elsewhere (`reading`), since whether they are there is no property of the text.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from hive_mind.counted import did_you_mean
from hive_mind.errors import ExperimentError, InvalidInput, Problem
from hive_mind.evals.arms import DEALS
from hive_mind.evals.experiments import (
    ALONE,
    GROUPED,
    RUNNING,
    TOPOLOGIES,
    Arm,
    Chosen,
    DataSource,
    Experiment,
    Fault,
    Retrieval,
    takes,
)
from hive_mind.evals.experiments.form import (
    AGENTS,
    EXPERIMENT,
    ArmForm,
    DataForm,
    ExperimentForm,
    arms_in,
    faults_in,
)
from hive_mind.forms import Finding, Form, Tree
from hive_mind.forms import Path as FormPath
from hive_mind.forms.reading import in_order, located, read, text_of, validated
from hive_mind.hive.topology.spec import readers
from hive_mind.ranking.pipeline import RankingSettings

_WITHOUT_FILES = ("generated", "demo", "memory")


def contradictions(form: ExperimentForm) -> Iterator[Finding]:
    yield from _repeated(((("data", number, "name"), data_form.name) for number, data_form in enumerate(form.data)), "data set")
    yield from _repeated(
        ((("retrieval", number, "name"), retrieval.name) for number, retrieval in enumerate(form.retrieval)), "retrieval"
    )
    for number, source in enumerate(form.data):
        yield from _checked_source(source, ("data", number))
    for number, arm in enumerate(form.arms):
        yield from _arm(arm, ("arms", number), form)
    # An agent that runs answers from what it holds: it can't be given another data set.
    names = {source.name for source in form.data if source.format != "memory"}
    for number, arm in enumerate(form.arms):
        if RUNNING in arm.kind and (other_sets := names & set(arm.data or (source.name for source in form.data))):
            message = f"asks an agent that runs, and {min(other_sets)} is no memory of one; name data sets of format: memory"
            yield Finding(("arms", number, "data" if arm.data else "kind"), message)
    # A fault that no arm it goes with can have would vanish without a word.
    everyone = [single_arm for arm in form.arms if not arm.faults for single_arm in arms_in(arm)]
    yield from _untaken(faults_in(form.faults), everyone, ("faults",))
    for number, arm in enumerate(form.arms):
        yield from _untaken(faults_in(arm.faults), arms_in(arm), ("arms", number, "faults"))
    if form.judge == "model" and form.answerer == "none":
        yield Finding(("judge",), "judges answers, but the answerer is none; choose an answerer, or the judge none")


def _repeated(paths_with_names: Iterable[tuple[FormPath, str]], kind: str) -> Iterator[Finding]:
    names_before: set[str] = set()
    for path, name in paths_with_names:
        if name in names_before:
            yield Finding(path, f"a {kind} called {name} is there already; rename one")
        names_before.add(name)


def _checked_source(source: DataForm, path: FormPath) -> Iterator[Finding]:
    is_file = source.format not in _WITHOUT_FILES
    if is_file and not source.path:
        yield Finding(path, f"a data set needs a path, unless its format is {', '.join(_WITHOUT_FILES)}; add it")
    if source.path and not is_file:
        exported = ", or for an agent's exported facts the format" if source.format == "memory" else ""
        yield Finding((*path, "path"), f"has no meaning for format: {source.format}; leave it out{exported}")
    if source.format == "generated" and not source.turns:
        yield Finding(path, "a generated data set needs turns: how long it is to be; add it")
    if (source.turns or source.agents) and source.format != "generated":
        key = "turns" if source.turns else "agents"
        yield Finding((*path, key), "is for format: generated only; leave it out, or write that format")
    if (source.format == "memory") != bool(source.memory):
        yield Finding((*path, "memory"), "format: memory and memory: NAME go together; give both or none")


def _arm(arm: ArmForm, path: FormPath, form: ExperimentForm) -> Iterator[Finding]:
    for key, kinds in (("groups", GROUPED), ("replicas", readers("replicas")), ("fan_out", ("routed",))):
        if getattr(arm, key) and not set(arm.kind) & set(kinds):
            yield Finding((*path, key), f"is for kind: {' or '.join(kinds)} only; leave it out")
        if key != "replicas" and not getattr(arm, key) and set(arm.kind) & set(kinds):
            yield Finding(path, f"{' and '.join(kind for kind in arm.kind if kind in kinds)} needs {key}; add it")
    if arm.agents and set(arm.kind) <= set(ALONE):
        yield Finding((*path, "agents"), f"means nothing to {', '.join(arm.kind)}, which holds everything at once; leave it out")
    for number, deal in enumerate(arm.deal):
        if deal not in DEALS:
            yield Finding((*path, "deal", number), _no_such("way to deal", deal, DEALS))
    names = [source.name for source in form.data]
    for number, name in enumerate(arm.data):
        if name not in names:
            yield Finding((*path, "data", number), _no_such("data set in this file", name, names))
    for single_arm in arms_in(arm):
        if single_arm.groups > single_arm.agents:
            yield Finding(
                (*path, "groups"), f"{single_arm.groups} groups of {single_arm.agents} agents leave some empty; have fewer"
            )
        if single_arm.fan_out > single_arm.agents:
            yield Finding((*path, "fan_out"), f"asks {single_arm.fan_out} of {single_arm.agents} agents; ask fewer")
        if single_arm.place != "in-process" and single_arm.kind not in TOPOLOGIES:
            yield Finding(
                (*path, "place"), f"{single_arm.place} is for {', '.join(TOPOLOGIES)}; {single_arm.kind} runs in-process"
            )


def _untaken(faults: Iterable[Fault], arms: Sequence[Arm], path: FormPath) -> Iterator[Finding]:
    for fault in faults:
        if arms and not any(takes(arm, fault) for arm in arms):
            reason = f"{fault.down} down needs more nodes than that (in one process flat is one node, federated one a group)"
            if fault.loss or fault.slow:
                reason = "loss and slow need an arm of place: simulator"
            yield Finding(path, f"no arm here can have this fault: {reason}")


def _no_such(kind: str, name: str, names: Iterable[str]) -> str:
    suggestion = did_you_mean(name, names, f"known: {', '.join(names)}")
    return f"there is no {kind} called {name[:64]}; {suggestion}"


_BUNDLED = "hive_mind.evals.experiments"

Folders = Sequence[Path]


@dataclass(frozen=True, slots=True)
class ReadExperiment:
    """An experiment as its file says; `absent` are its optional data sets that are not there. `about` is its line in a list."""

    experiment: Experiment
    absent: tuple[str, ...] = ()
    about: str = ""


def bundled() -> list[str]:
    return sorted(file.name.removesuffix(".yaml") for file in files(_BUNDLED).iterdir() if file.name.endswith(".yaml"))


def read_experiment(file_or_name: str, data: Path | None = None, form: Form[ExperimentForm] = EXPERIMENT) -> ReadExperiment:
    """A file's experiment, or one that comes along by its name. Raises `ExperimentError` with all that is wrong."""
    folders = (data,) if data else ()
    if file_or_name in bundled():
        text = files(_BUNDLED).joinpath(f"{file_or_name}.yaml").read_text(encoding="utf-8")
        # The bundled experiment has no files beside it, so without --data its optional sets are not there.
        return read_text(text, folders, f"{file_or_name}.yaml", form)
    path = Path(file_or_name)
    if not path.exists():
        raise InvalidInput(f"there is no experiment {file_or_name}: give a file, or one of {', '.join(bundled())}")
    text, problems = text_of(path, form)
    if problems:
        raise ExperimentError(problems, file_or_name)
    return read_text(text, (*folders, path.absolute().parent), file_or_name, form)


def read_text(text: str, folders: Folders, name: str, form: Form[ExperimentForm] = EXPERIMENT) -> ReadExperiment:
    """An experiment without a file. Its paths are looked for in the folders, in their order. Raises `ExperimentError`."""
    reading = read(text, form)
    experiment, tree = reading.value, reading.tree
    if experiment is None or tree is None:
        raise ExperimentError(in_order([*reading.problems, *_also(tree, reading.problems)]), name)
    if wrong := [located(finding, tree, form) for finding in (*contradictions(experiment), *_missing_files(experiment, folders))]:
        raise ExperimentError(in_order(wrong), name)
    absent = tuple(data_form.name for data_form in experiment.data if _is_absent(data_form, folders))
    if len(absent) == len(experiment.data):
        problem = Problem("data", 0, "all of its data sets are missing; give --data the folder that has them")
        raise ExperimentError([problem], name)
    return ReadExperiment(_experiment(experiment, folders, absent), absent, experiment.about)


def _also(tree: Tree | None, problems: Iterable[Problem]) -> Iterator[Problem]:
    """Contradictions in what has no fault of form, so that they are reported at the same time."""
    if tree is None or not isinstance(tree.value, dict):
        return
    # "arms[2].kind[0]" is about the entry "arms[2]".
    faulty = {re.split(r"(?<=\])|\.", problem.path)[0] for problem in problems}
    # The same with a harmless entry in the place of each faulty one.
    mended: dict[str, Any] = {"name": "unnamed"}
    for key, section in tree.value.items():
        if key in faulty or key not in ExperimentForm.model_fields:
            continue
        entries = list(section) if isinstance(section, list) else [section]
        for number, entry in enumerate(entries):
            if f"{key}[{number}]" in faulty and key == "data":
                name = entry.get("name") if isinstance(entry, dict) else None
                entries[number] = {"name": name if isinstance(name, str) else f"unnamed-{number}", "format": "demo"}
            elif f"{key}[{number}]" in faulty:
                entries[number] = "single" if key == "arms" else "hybrid"
        mended[key] = entries if isinstance(section, list) else entries[0]
    form, _ = validated(mended, EXPERIMENT)
    for finding in contradictions(form) if form else ():
        problem = located(finding, tree, EXPERIMENT)
        if re.split(r"(?<=\])|\.", problem.path)[0] not in faulty:
            yield problem


def _missing_files(form: ExperimentForm, folders: Folders) -> Iterator[Finding]:
    for number, source in enumerate(form.data):
        for key in ("path", "questions"):
            place = getattr(source, key)
            if place and not source.optional and not _at(folders, place).exists():
                yield Finding(("data", number, key), f"there is no {_at(folders, place)}; correct it, or give --data its folder")


def _is_absent(source: DataForm, folders: Folders) -> bool:
    paths = [path for path in (source.path, source.questions) if path]
    is_relative = any(not Path(path).is_absolute() for path in paths)
    return source.optional and ((not folders and is_relative) or any(not _at(folders, path).exists() for path in paths))


def _at(folders: Folders, named: str) -> Path:
    """In the first folder that has it; the first of all where none has."""
    places = [(folder / Path(named).expanduser()).absolute() for folder in folders or (Path(),)]
    return next((place for place in places if place.exists()), places[0])


def _experiment(form: ExperimentForm, folders: Folders, absent: tuple[str, ...]) -> Experiment:
    plain = [arm for arm in form.arms if not arm.data and not arm.faults]
    special = [arm for arm in form.arms if arm.data or arm.faults]
    chosen = [Chosen(arms_in(arm), tuple(arm.data), faults_in(arm.faults) if arm.faults else ()) for arm in special]
    retrieval = []
    for way in form.retrieval:
        fields = way.ranking.model_dump(exclude_none=True) if way.ranking else {}
        retrieval.append(Retrieval(way.name, way.mode, replace(RankingSettings(), **fields) if fields else None))
    return Experiment(
        form.name,
        data=tuple(_source(data_form, folders) for data_form in form.data if data_form.name not in absent),
        arms=tuple(dict.fromkeys(single_arm for arm in plain for single_arm in arms_in(arm))),
        retrieval=tuple(retrieval),
        seeds=tuple(dict.fromkeys(form.seeds)),
        faults=faults_in(form.faults),
        limit=form.limit,
        answerer=form.answerer,
        judge=form.judge,
        subset=tuple(form.subset),
        per_category=form.per_category,
        chosen=tuple(chosen),
    )


def _source(form: DataForm, folders: Folders) -> DataSource:
    return DataSource(
        form.name,
        form.format,
        _at(folders, form.path) if form.path else None,
        form.part,
        form.pooled,
        form.turns,
        form.agents or (AGENTS if form.turns else 0),
        form.memory,
        _at(folders, form.questions) if form.questions else None,
    )
