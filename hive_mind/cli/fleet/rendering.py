"""`hive-mind apply --render` and `--gate`: a fleet as files for Compose or a cloud, and whether it would find worse than now."""

import os
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from hive_mind.cli.options import settings_for
from hive_mind.cli.output import progress, say, say_refused, show
from hive_mind.cli.running import FAILED, USAGE
from hive_mind.counted import counted
from hive_mind.errors import InvalidInput
from hive_mind.safe_files import READABLE, write_whole

if TYPE_CHECKING:
    from hive_mind.control.manifests.reading import Source
    from hive_mind.control.platforms.in_containers import Keys
    from hive_mind.evals.experiments import Experiment
    from hive_mind.evals.gating import Judgement
    from hive_mind.runtime.keys import KeyFolder
    from hive_mind.runtime.workers.config import WorkerConfig


# Where containers keep what they keep, and say where they are.
_HOME, _RUN = "/var/lib/hive-mind", "/run/hive-mind"
_NEXT = {
    "compose": "next: do what {0}/compose.yaml says in its head, then: docker compose -f {0}/compose.yaml up --wait",
    "kubernetes": "next: kubectl apply -k {}",
    "containerapps": "next: az deployment group create -g GROUP -f deploy/azure/main.bicep -p @{}/parameters.json",
}
_IGNORED = (
    "# Secret: in secrets/ the key of each process, for that process alone, and passwords; in .env what compose.yaml asks for.",
    "/secrets/",
    "/.env",
)
_SUFFIXES = frozenset({".yaml", ".yml", ".json", ".bicep", ".bicepparam"})


async def render_into(source: "Source", folder: Path, home: Path) -> None:
    """Write the files. Other files of the folder stay. `home` has the keys of the fleet. Raises `ConfigError`."""
    from hive_mind.control.platforms.in_containers import USER, secret_files
    from hive_mind.control.remembering import issued_for
    from hive_mind.control.state import FleetFolder
    from hive_mind.runtime.keys import KeyFolder

    platform, fleet, kind = _platform(source), source.manifest.metadata.name, source.manifest.spec.platform.kind
    issuer = KeyFolder(FleetFolder(home, fleet).path / "keys", fleet)
    try:
        before = _texts_in(folder)
        configs = _configs(source, platform.configs_in(before))
        _refuse_other_root(folder, issuer)
        keys = issued_for(configs, issuer, is_given=source.manifest.spec.platform.keys == "given")
        files = {**_public(folder, keys), **platform.render(source, configs, before, keys)}
        for name, text in files.items():
            write_whole(folder / name, text.encode(), READABLE)
        secrets = secret_files(platform.workers_of(source, configs, keys), keys)
        for path in _written(folder, secrets, issuer):
            if kind == "compose" and os.geteuid() == 0:
                os.chown(path, USER, USER)
    except OSError as error:
        raise InvalidInput(f"{folder} can't be written to: {error}") from error
    for name in (*files, *secrets):
        show(str(folder / name))
    count = counted(len(files) + len(secrets), "file")
    say(f"{count} written, nothing was started. Keep them: to render again goes on from them")
    if keys.ids:
        say(f"secrets/ has a secret key for each process; the root that issues them is in {issuer.path}: keep it")
    say(_NEXT[kind].format(folder))


def _platform(source: "Source") -> Any:
    """The module of a platform; those that render have the same functions."""
    kind = source.manifest.spec.platform.kind
    if kind not in _NEXT:
        raise InvalidInput(f"--render is for platform compose, containerapps or kubernetes; this fleet's is {kind}")
    return import_module(f"hive_mind.control.platforms.{kind}")


def _refuse_other_root(folder: Path, issuer: "KeyFolder") -> None:
    """Certificates of another root would be worthless to members that run."""
    path, ours = folder / "keys" / "root.pub", issuer.path / "root.pub"
    if path.exists() and (not ours.exists() or ours.read_text("utf-8").strip() != path.read_text("utf-8").strip()):
        raise InvalidInput(f"{folder} was rendered with the keys of another home: bring its folder of keys to {issuer.path}")


def _public(folder: Path, keys: "Keys") -> dict[str, str]:
    """Files with what everybody may know, and one that keeps what is secret out of version control."""
    if not keys.public:
        return {}
    ignored = folder / ".gitignore"
    lines = ignored.read_text("utf-8").splitlines() if ignored.exists() else []
    lines += [line for line in _IGNORED if line not in lines]
    return {f"keys/{name}": text for name, text in keys.public.items()} | {".gitignore": "\n".join(lines) + "\n"}


def _written(folder: Path, secrets: Mapping[str, str], issuer: "KeyFolder") -> Iterator[Path]:
    """Write the key of each process, for its owner alone, and delete those that were replaced. The files that are new."""
    for name, process in secrets.items():
        path = folder / name
        # Called after what is in it; by now it may belong to the user that runs the containers.
        if not path.exists():
            write_whole(path, issuer.key_of(process)[1].encode())
            yield path
    for path in (folder / "secrets").glob("key-*.key") if secrets else ():
        if f"secrets/{path.name}" not in secrets:
            path.unlink()


def _texts_in(folder: Path) -> dict[str, str]:
    """The texts in the folder that may have been rendered."""
    paths = (path for path in sorted(folder.rglob("*")) if path.suffix in _SUFFIXES and path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_text("utf-8", "replace") for path in paths}


def _configs(source: "Source", before: "Mapping[str, WorkerConfig]") -> "Mapping[str, WorkerConfig]":
    from hive_mind.control.manifests.expansion import expanded
    from hive_mind.control.manifests.sources import SourceReader
    from hive_mind.control.planning.desired import desired
    from hive_mind.control.remembering import remembered

    sources_by_agent = {agent.name: agent.sources for agent in expanded(source.manifest)}
    sources = SourceReader().read(sources_by_agent, source.folder)
    return desired(source.manifest, source.folder, _HOME, remembered(before), sources, run=_RUN).processes


def pass_or_end(source: "Source", home: Path, questions: str, data: Path | None = None) -> None:
    """Return where the change may be made; end with exit code 1 where it is refused, and with 2 where that can't be judged.

    `asked` is an experiment or a question file, `data` where the experiment's paths are looked for first. Not for a coroutine:
    cells run in processes of their own, and Ctrl-C ends them. Raises `HiveError`.
    """
    from hive_mind.control.state import FleetFolder
    from hive_mind.evals.fleet_gate import fleet_change, is_question_file, judge_change, questions_asked

    # Always read: its mistakes are reported even where nothing is measured.
    experiment = None if is_question_file(Path(questions)) else _experiment(questions, data)
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


def _experiment(file_or_name: str, data: Path | None) -> "Experiment":
    from hive_mind.evals.experiments.form import GATE
    from hive_mind.evals.experiments.reading import read_experiment

    experiment = read_experiment(file_or_name, data, GATE)
    if experiment.absent:
        say(f"note: --gate does not ask {', '.join(experiment.absent)}: their files are not there", style="yellow")
    return experiment.experiment


def _show(judgement: "Judgement", folder: Path) -> None:
    from hive_mind.evals.fleet_gate import CERTAIN
    from hive_mind.evals.gating import evidence

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
