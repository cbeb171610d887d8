"""`hive-mind doctor`: what is installed or missing, whether the database can be opened now, and how the fleets of a home are.

It asks nobody on the network and loads no model. The exit code is 1 when something stands in the way, and 0 when only optional
parts are missing.
"""

import asyncio
import errno
import os
import platform
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any

import typer

from hive_mind import __version__, backends
from hive_mind.cli import fleet as fleets
from hive_mind.cli import options
from hive_mind.cli.asking.asked import refuse_kept_open
from hive_mind.cli.options import DEFAULT_AGENT, Format, Group, settings_for
from hive_mind.cli.output import plain, say, show, show_json, show_result, show_table
from hive_mind.cli.running import FAILED
from hive_mind.counted import counted
from hive_mind.errors import ConfigError, HiveError, InvalidInput, reason_of
from hive_mind.installation import command_for_extra, command_for_package
from hive_mind.runtime.copies import leftovers
from hive_mind.runtime.members.generations import GivenBack, give_back
from hive_mind.runtime.settings import Settings, database_path, is_kept, without_effect
from hive_mind.runtime.wiring import open_memory, open_model
from hive_mind.runtime.workers import rooms
from hive_mind.sqlite import in_use_by, is_half_replaced

OK, ABSENT, LEFT, PROBLEM = "ok", "absent", "left", "problem"

# As much as a few facts take with their links; where one more page goes, those may not.
_TRIAL_BYTES = 64 << 10

_REQUIRED = ("kuzu", "msgspec", "numpy", "PyStemmer", "rich", "typer")


# Extra, the package that tells whether it is there, and what it is good for.
_EXTRAS = (
    ("embeddings", "sentence-transformers", "search by meaning, on this machine"),
    ("openai", "httpx", "search by meaning, through an endpoint"),
    ("ann", "usearch", "fast search above some 20,000 facts"),
    ("llm", "pydantic-ai-slim", "reading and answering by a language model"),
)


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at. `advice` says what to do about it, "" where there is nothing to do."""

    name: str
    state: str
    detail: str
    advice: str = ""


group = Group()


@group.called_as("hive-mind doctor", "hive-mind doctor --repair --from-hive", "hive-mind doctor --agent archive --output json")
async def doctor(
    agent: options.Agent = DEFAULT_AGENT,
    home: options.Home = None,
    embed: options.Embed = None,
    model: options.Model = None,
    repair: Annotated[bool, typer.Option("--repair", help="Save what can be saved of a damaged database.")] = False,
    from_hive: Annotated[bool, typer.Option("--from-hive", help="With --repair: also take back what the agent shared.")] = False,
    output: options.Output = Format.TEXT,
) -> None:
    """Check the installation, the agent's database and this home's fleets, and say what to do about what is missing.

    With --repair a damaged database is rebuilt from every row that is intact; the damaged file stays beside it. With --from-hive
    what is then missing is restored from the journals of this home's hives, as far as the agent shared it.
    """
    settings = settings_for(home, embed, model)
    if from_hive and not repair:
        raise InvalidInput("--from-hive belongs to a repair: hive-mind doctor --repair --from-hive")
    if repair:
        await _repair(settings, agent, output, from_hive=from_hive)
        return
    checks = [
        *_installed(),
        *[_extra(*extra) for extra in _EXTRAS],
        _settings(),
        await _reader(settings),
        _embedding(settings),
        await _database(settings, agent),
        *[await _fleet(settings.home, fleet) for fleet in fleets.fleets_in(settings.home)],
        *await asyncio.to_thread(_left_over, settings.home),
        await asyncio.to_thread(_disk, settings, agent),
    ]
    is_ready = all(check.state != PROBLEM for check in checks)
    show_result(output, {"is_ready": is_ready, "checks": checks}, lambda: _show(checks, is_ready=is_ready))
    if not is_ready:
        raise typer.Exit(FAILED)


async def _repair(settings: Settings, agent: str, output: Format, *, from_hive: bool) -> None:
    refuse_kept_open(settings, agent)
    path = database_path(settings, agent)
    if not (path.exists() or is_half_replaced(path)) and not from_hive:
        raise InvalidInput(f"{path} is not there: name another --agent, or restore a copy with: hive-mind restore FILE")
    outcome = await repaired(settings, path) if path.exists() or is_half_replaced(path) else None
    back = await give_back(settings, agent) if from_hive else None
    if output is Format.JSON:
        repair = (
            {} if outcome is None else {"kept": outcome.kept, "lost": list(outcome.lost), "kept_aside": str(outcome.kept_aside)}
        )
        show_json({"repaired": outcome is not None, **repair} | ({} if back is None else {"from_hive": plain(back)}))
        return
    if outcome is not None:
        show_repair(path, outcome)
    elif back is None or not back.facts:
        show(f"{path}: whole, nothing to repair")
    if back is not None:
        show_given_back(agent, back)


def _installed() -> list[Check]:
    checks = [Check("hive-mind", OK, __version__), Check("Python", OK, platform.python_version())]
    for package in _REQUIRED:
        installed = _version(package)
        advice = "" if installed else command_for_package(package)
        checks.append(Check(package, OK if installed else PROBLEM, installed or "not installed", advice))
    return checks


def _extra(extra: str, package: str, purpose: str) -> Check:
    if installed := _version(package):
        return Check(f"[{extra}]", OK, f"{package} {installed}: {purpose}")
    return Check(f"[{extra}]", ABSENT, f"not installed: {purpose}", command_for_extra(extra))


def _settings() -> Check:
    if ignored := without_effect():
        return Check("settings", ABSENT, listed(ignored), "correct them, or leave them out")
    return Check("settings", OK, "all that are set have an effect")


async def _reader(settings: Settings) -> Check:
    if not settings.llm:
        return Check("reader", OK, "without a language model: keeps and quotes word for word")
    try:
        await (await open_model(settings)).close()
    except HiveError as error:
        return Check(
            "reader", PROBLEM, str(error), "give it what it lacks, set HIVE_MIND_LLM to another model, or leave it empty"
        )
    return Check("reader", OK, f"{settings.llm} (not asked), at most {settings.token_budget:,} tokens a run")


def _embedding(settings: Settings) -> Check:
    """Which model would embed, and whether that works without a network."""
    if settings.embed == "none":
        return Check("embedding", OK, "none: keyword search only")
    if settings.embed == "openai":
        return Check("embedding", OK, f"{settings.embed_model} at {settings.embed_url or 'the default address'} (not asked)")
    name = f"{settings.embed} with {settings.embed_model}"
    if settings.embed != "sentence_transformers":
        return Check("embedding", PROBLEM, name, "there is no such embedder: none, sentence_transformers or openai")
    if not _version("sentence-transformers"):
        return Check("embedding", ABSENT, f"{name}: not installed, so keyword search only", command_for_extra("embeddings"))
    if where := where_model_is(settings.embed_model):
        return Check("embedding", OK, f"{name}: on this machine, in {where}")
    advice = "use it once with a network, or give --model FOLDER"
    return Check("embedding", ABSENT, f"{name}: not on this machine; without a network keyword search only", advice)


async def _database(settings: Settings, agent: str) -> Check:
    path = database_path(settings, agent)
    if settings.store == "memory":
        return Check("database", OK, 'store "memory": nothing is kept')
    if not is_kept(settings, agent):
        return Check("database", OK, f"{path}: not there yet", "hive-mind learn PATH makes it")
    try:
        if damages := await problems_of(settings, path) if path.exists() or is_half_replaced(path) else ():
            return Check("database", PROBLEM, listed(damages), "save what can be saved: hive-mind doctor --repair")
        async with await open_memory(replace(settings, embed="none", lock_wait_s=0), agent, is_reading=True) as memory:
            facts = (await memory.get_statistics()).facts
        in_use = await asyncio.to_thread(in_use_by, path)
    except ConfigError:
        raise
    except HiveError as error:
        return Check("database", PROBLEM, str(error), "see above")
    use = f"in use by process {in_use}" if in_use else "not in use"
    return Check("database", OK, f"{path}: {counted(facts, 'fact')}, {path.stat().st_size >> 10:,} KB, readable, {use}")


async def _fleet(home: Path, fleet: str) -> Check:
    """How a fleet of this home is, as `hive-mind status` says; one on another platform is not asked."""
    from hive_mind.control.state import FleetFolder

    name, platform = f"fleet {fleet}", FleetFolder(home, fleet).state().platform
    if platform != "local":
        return Check(name, OK, f"runs on {platform}, which is not asked: hive-mind status --fleet {fleet}")
    async with fleets.opened(home, fleet) as controller:
        status = await controller.status()
    detail = "; ".join([fleets.fleet_line(status).removeprefix(f"{name}: "), *status.broken])
    is_well = status.phase != "Degraded"
    return Check(name, OK if is_well else PROBLEM, detail, "" if is_well else f"hive-mind status --fleet {fleet}")


def _left_over(home: Path) -> list[Check]:
    """Files of commands that were killed, and former files that were kept: the first few, and how many there are."""
    files = list(leftovers(home))
    checks = [Check("left over", LEFT, f"{left.path}: {left.what}", left.advice) for left in files[:_SHOWN_MAX]]
    if len(files) > _SHOWN_MAX:
        checks.append(Check("left over", LEFT, f"and {counted(len(files) - _SHOWN_MAX, 'more file')} of this kind in {home}"))
    return checks


def _disk(settings: Settings, agent: str) -> Check:
    """Whether the next fact could be written: there is room, and a file of some size goes through."""
    folder = database_path(settings, agent).parent
    if settings.store == "memory":
        return Check("disk", OK, "nothing is written")
    if not folder.is_dir():
        folder = next(above for above in folder.absolute().parents if above.is_dir())
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(_TRIAL_BYTES))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM) and is_kept(settings, agent):
            detail = f"{folder} can't be written to ({reason_of(error)}): it can be asked, and learns nothing"
            return Check("disk", ABSENT, detail, "to let it learn, give this user the right to write there, or another --home")
        advice = "give this user the right to write there, make room, or give another --home"
        return Check("disk", PROBLEM, f"{folder} takes nothing ({reason_of(error)})", advice)
    from hive_mind.control.status.conditions import shortage

    for room in rooms([folder]):
        if short := shortage(room):
            return Check("disk", PROBLEM, short, "make room before it learns more")
    return Check("disk", OK, f"{folder} takes what is written")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _show(checks: Sequence[Check], *, is_ready: bool) -> None:
    show_table(["", "", ""], [(check.state, check.name, check.detail) for check in checks])
    advised = [check for check in checks if check.advice]
    if advised:
        show("\nWhat to do", style="bold")
        show_table(["", ""], [(check.name, check.advice) for check in advised])
    show("\nReady." if is_ready else "\nNot ready: see what is marked as a problem.", style="bold")


_SHOWN_MAX = 10


async def problems_of(settings: Settings, path: Path) -> Sequence[str]:
    """The damaged parts of a record, each by its name."""
    problems: Sequence[str] = await asyncio.to_thread(backends.load("store", settings.store).problems, path)
    return problems


async def repaired(settings: Settings, path: Path) -> Any | None:
    """The outcome of a repair (`store.sqlite.reading.Repair`); None for a record that is whole."""
    problems = await problems_of(settings, path)
    if not problems:
        return None
    say(f"{path}: {listed(problems)}; saving what can be saved")
    return await asyncio.to_thread(backends.load("store", settings.store).repair, path)


def show_repair(path: Path, repair: Any) -> None:
    """Show the parts that were kept and lost, and where the old file is."""
    counts = ", ".join(f"{count:,} {name}" for name, count in repair.kept.items())
    show(f"{path}: repaired; {counts} are kept. The damaged file is {repair.kept_aside}")
    if repair.lost:
        say(f"lost: {listed(list(repair.lost))}", style="red")
    else:
        show("Nothing was lost.")


def show_given_back(agent: str, back: GivenBack) -> None:
    """Show the facts that came back from hives."""
    if not back.hives:
        show("There is no hive in this home that could give anything back.")
        return
    shared = counted(back.known, "fact")
    show(
        f"{agent} shared {shared} that nobody took back: {back.facts:,} were missing and are back (from {', '.join(back.hives)})"
    )


def listed(clauses: Sequence[str]) -> str:
    """The first few, and how many more."""
    rest = f" and {counted(len(clauses) - _SHOWN_MAX, 'more thing')}" if len(clauses) > _SHOWN_MAX else ""
    return "; ".join(clauses[:_SHOWN_MAX]) + rest


_NEEDED = ("modules.json", "config.json")
_HUB_OWNER = "sentence-transformers"


def where_model_is(model: str) -> str:
    """The folder that holds a model's files, or "" when they are not here."""
    try:
        folder = Path(model).expanduser()
        if folder.is_dir():
            return str(folder) if all((folder / name).exists() for name in _NEEDED) else ""
    except (OSError, RuntimeError):
        # Longer than a path can be, or the home of nobody.
        return ""
    try:
        hub: Any = import_module("huggingface_hub")
    except ModuleNotFoundError:
        return ""
    try:
        paths = [hub.try_to_load_from_cache(model if "/" in model else f"{_HUB_OWNER}/{model}", file) for file in _NEEDED]
    except ValueError:
        # No name the hub could have, such as a path to a folder that is not there.
        return ""
    return str(Path(paths[0]).parent) if all(isinstance(path, str) for path in paths) else ""
