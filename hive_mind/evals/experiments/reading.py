"""From a file to an experiment, or to everything that is wrong with it at once, each with its line and what to do.

Paths in it are looked for in `--data`, where that is given, and then in the file's own folder. A data set that is `optional` and
not there is left out and named; without the mark it is an error.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from hive_mind.errors import ExperimentError, InvalidInput, Problem
from hive_mind.evals.experiments.checking import contradictions
from hive_mind.evals.experiments.form import AGENTS, EXPERIMENT, DataForm, ExperimentForm, RetrievalForm, arms_in, faults_in
from hive_mind.evals.experiments.values import Chosen, DataSource, Experiment, Retrieval
from hive_mind.forms.form import Form
from hive_mind.forms.reading import in_order, located, read, text_of, validated
from hive_mind.forms.tree import Finding, Tree
from hive_mind.ranking.pipeline import RankingSettings

_BUNDLED = "hive_mind.evals.experiments"

Folders = Sequence[Path]


@dataclass(frozen=True, slots=True)
class ReadExperiment:
    """An experiment as its file says; `absent` are its optional data sets that are not there. `about` is its line in a list."""

    experiment: Experiment
    absent: tuple[str, ...] = ()
    about: str = ""


def bundled() -> list[str]:
    """Names of the experiments that come along."""
    return sorted(one.name.removesuffix(".yaml") for one in files(_BUNDLED).iterdir() if one.name.endswith(".yaml"))


def read_experiment(named: str, data: Path | None = None, form: Form[ExperimentForm] = EXPERIMENT) -> ReadExperiment:
    """A file's experiment, or one that comes along by its name. Raises `ExperimentError` with all that is wrong."""
    folders = (data,) if data else ()
    if named in bundled():
        text = files(_BUNDLED).joinpath(f"{named}.yaml").read_text(encoding="utf-8")
        # The bundled experiment has no files beside it, so without --data its optional sets are not there.
        return read_text(text, folders, f"{named}.yaml", form)
    path = Path(named)
    if not path.exists():
        raise InvalidInput(f"there is no experiment {named}: give a file, or one of {', '.join(bundled())}")
    text, problems = text_of(path, form)
    if problems:
        raise ExperimentError(problems, named)
    return read_text(text, (*folders, path.absolute().parent), named, form)


def read_text(text: str, folders: Folders, name: str, form: Form[ExperimentForm] = EXPERIMENT) -> ReadExperiment:
    """An experiment without a file. Its paths are looked for in the folders, in their order. Raises `ExperimentError`."""
    found_read = read(text, form)
    experiment, tree = found_read.value, found_read.tree
    if experiment is None or tree is None:
        raise ExperimentError(in_order([*found_read.problems, *_also(found_read.tree, found_read.problems)]), name)
    if wrong := [located(finding, tree, form) for finding in (*contradictions(experiment), *_missing_files(experiment, folders))]:
        raise ExperimentError(in_order(wrong), name)
    absent = tuple(data_form.name for data_form in experiment.data if _is_absent(data_form, folders))
    if len(absent) == len(experiment.data):
        raise ExperimentError(
            [Problem("data", 0, "all of its data sets are missing; give --data the folder that has them")], name
        )
    return ReadExperiment(_experiment(experiment, folders, absent), absent, experiment.about)


def _also(tree: Tree | None, problems: Iterable[Problem]) -> Iterator[Problem]:
    """Contradictions in what has no fault of form, so that they are reported at the same time."""
    if tree is None or not isinstance(tree.value, dict):
        return
    # "arms[2].kind[0]" is about the entry "arms[2]".
    faulty = {re.split(r"(?<=\])|\.", problem.path)[0] for problem in problems}
    form, _ = validated(_mended(tree.value, faulty), EXPERIMENT)
    for finding in contradictions(form) if form else ():
        problem = located(finding, tree, EXPERIMENT)
        if re.split(r"(?<=\])|\.", problem.path)[0] not in faulty:
            yield problem


def _mended(value: dict[str, Any], faulty: set[str]) -> dict[str, Any]:
    """The same with a harmless entry in the place of each faulty one."""
    mended: dict[str, Any] = {"name": "unnamed"}
    for key, section in value.items():
        if key in faulty or key not in ExperimentForm.model_fields:
            continue
        entries = section if isinstance(section, list) else [section]
        harmless = [_harmless(key, n, one) if f"{key}[{n}]" in faulty else one for n, one in enumerate(entries)]
        mended[key] = harmless if isinstance(section, list) else harmless[0]
    return mended


def _harmless(key: str, number: int, entry: Any) -> Any:
    if key != "data":
        return "single" if key == "arms" else "hybrid"
    named = entry.get("name") if isinstance(entry, dict) else None
    return {"name": named if isinstance(named, str) else f"unnamed-{number}", "format": "demo"}


def _missing_files(form: ExperimentForm, folders: Folders) -> Iterator[Finding]:
    for number, source in enumerate(form.data):
        for key in ("path", "questions"):
            named = getattr(source, key)
            if named and not source.optional and not _at(folders, named).exists():
                yield Finding(("data", number, key), f"there is no {_at(folders, named)}; correct it, or give --data its folder")


def _is_absent(source: DataForm, folders: Folders) -> bool:
    named = [one for one in (source.path, source.questions) if one]
    is_relative = any(not Path(one).is_absolute() for one in named)
    return source.optional and ((not folders and is_relative) or any(not _at(folders, one).exists() for one in named))


def _at(folders: Folders, named: str) -> Path:
    """In the first folder that has it; the first of all where none has."""
    places = [(folder / Path(named).expanduser()).absolute() for folder in folders or (Path(),)]
    return next((place for place in places if place.exists()), places[0])


def _experiment(form: ExperimentForm, folders: Folders, absent: tuple[str, ...]) -> Experiment:
    plain = [arm for arm in form.arms if not arm.data and not arm.faults]
    special = [arm for arm in form.arms if arm.data or arm.faults]
    chosen = [Chosen(arms_in(arm), tuple(arm.data), faults_in(arm.faults) if arm.faults else ()) for arm in special]
    return Experiment(
        form.name,
        data=tuple(_source(data_form, folders) for data_form in form.data if data_form.name not in absent),
        arms=tuple(dict.fromkeys(one for arm in plain for one in arms_in(arm))),
        retrieval=tuple(_retrieval(retrieval_form) for retrieval_form in form.retrieval),
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


def _retrieval(form: RetrievalForm) -> Retrieval:
    given = form.ranking.model_dump(exclude_none=True) if form.ranking else {}
    return Retrieval(form.name, form.mode, replace(RankingSettings(), **given) if given else None)
