"""Contradictions in an experiment of valid form: each finding with its place in the file. Pure.

Files it names are looked for elsewhere (`reading`), since whether they are there is no property of the text.
"""

from collections.abc import Iterable, Iterator

from hive_mind.evals.arms.dealing import DEALS
from hive_mind.evals.experiments.form import ArmForm, DataForm, ExperimentForm, arms_in, faults_in
from hive_mind.evals.experiments.matrix import ALONE, GROUPED, RUNNING, TOPOLOGIES, takes
from hive_mind.evals.experiments.values import Arm, Fault
from hive_mind.forms.tree import Finding, Path
from hive_mind.hive.topology.spec import readers
from hive_mind.suggestions import did_you_mean

_WITHOUT_FILES = ("generated", "demo", "memory")


def contradictions(form: ExperimentForm) -> Iterator[Finding]:
    """Everything that can't be meant."""
    yield from _repeated(((("data", number, "name"), data_form.name) for number, data_form in enumerate(form.data)), "data set")
    yield from _repeated(((("retrieval", number, "name"), one.name) for number, one in enumerate(form.retrieval)), "retrieval")
    for number, source in enumerate(form.data):
        yield from _source(source, ("data", number))
    for number, arm in enumerate(form.arms):
        yield from _arm(arm, ("arms", number), form)
    yield from _running(form)
    yield from _faults_nobody_has(form)
    if form.judge == "model" and form.answerer == "none":
        yield Finding(("judge",), "judges answers, but the answerer is none; choose an answerer, or the judge none")


def _repeated(named: Iterable[tuple[Path, str]], what: str) -> Iterator[Finding]:
    seen: set[str] = set()
    for path, name in named:
        if name in seen:
            yield Finding(path, f"a {what} called {name} is there already; rename one")
        seen.add(name)


def _source(source: DataForm, path: Path) -> Iterator[Finding]:
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


def _arm(arm: ArmForm, path: Path, form: ExperimentForm) -> Iterator[Finding]:
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
    for one in arms_in(arm):
        yield from _sizes(one, path)


def _running(form: ExperimentForm) -> Iterator[Finding]:
    """An agent that runs answers from what it holds: it can't be given another data set."""
    names = {source.name for source in form.data if source.format != "memory"}
    for number, arm in enumerate(form.arms):
        if RUNNING in arm.kind and (asked := names & set(arm.data or (source.name for source in form.data))):
            message = f"asks an agent that runs, and {min(asked)} is no memory of one; name data sets of format: memory"
            yield Finding(("arms", number, "data" if arm.data else "kind"), message)


def _sizes(arm: Arm, path: Path) -> Iterator[Finding]:
    if arm.groups > arm.agents:
        yield Finding((*path, "groups"), f"{arm.groups} groups of {arm.agents} agents leave some empty; have fewer")
    if arm.fan_out > arm.agents:
        yield Finding((*path, "fan_out"), f"asks {arm.fan_out} of {arm.agents} agents; ask fewer")
    if arm.place != "in-process" and arm.kind not in TOPOLOGIES:
        yield Finding((*path, "place"), f"{arm.place} is for {', '.join(TOPOLOGIES)}; {arm.kind} runs in-process")


def _faults_nobody_has(form: ExperimentForm) -> Iterator[Finding]:
    """A fault that no arm it goes with can have would vanish without a word."""
    everyone = [one for arm in form.arms if not arm.faults for one in arms_in(arm)]
    yield from _untaken(faults_in(form.faults), everyone, ("faults",))
    for number, arm in enumerate(form.arms):
        yield from _untaken(faults_in(arm.faults), list(arms_in(arm)), ("arms", number, "faults"))


def _untaken(faults: Iterable[Fault], arms: list[Arm], path: Path) -> Iterator[Finding]:
    for fault in faults:
        if arms and not any(takes(arm, fault) for arm in arms):
            reason = "loss and slow need an arm of place: simulator" if fault.loss or fault.slow else _too_many_down(fault)
            yield Finding(path, f"no arm here can have this fault: {reason}")


def _too_many_down(fault: Fault) -> str:
    return f"{fault.down} down needs more nodes than that (in one process flat is one node, federated one a group)"


def _no_such(what: str, name: str, known: Iterable[str]) -> str:
    meant = did_you_mean(name, known, f"known: {', '.join(known)}")
    return f"there is no {what} called {name[:64]}; {meant}"
