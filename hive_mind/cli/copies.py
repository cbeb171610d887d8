"""`hive-mind backup`, `restore` and `erase`: a second copy of what is known, putting it back, and forgetting for good, there too.

The copy of an agent's memory is its database at one moment. That of a fleet is an archive: its manifest, every agent's memory,
and what the hive holds; so it can be restored into any topology. Where copies went is noted, so that what is erased goes from
them as well; it is signed, and a receipt can be checked.
"""

import os
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from zipfile import is_zipfile

import typer

from hive_mind import backends
from hive_mind.cli import fleet as fleets
from hive_mind.cli import options
from hive_mind.cli.asking.asked import kept_open, refuse_kept_open
from hive_mind.cli.learning import refuse_replacing, source_of
from hive_mind.cli.options import DEFAULT_AGENT, Format, Group, for_copying, refuse_ineffective, settings_for
from hive_mind.cli.output import plain, say, show, show_document, show_json, show_result
from hive_mind.cli.running import FAILED
from hive_mind.clocks import wall_clock_ms
from hive_mind.counted import counted
from hive_mind.errors import InvalidInput, reason_of
from hive_mind.memory.fact_called import fact_called
from hive_mind.model.erasure import Erasure, erasure_of
from hive_mind.model.fact import Fact
from hive_mind.runtime.copies import note_copy
from hive_mind.runtime.settings import Settings, database_path, is_kept, kept_agents

if TYPE_CHECKING:
    # To forget takes an engine and keys, which a backup does without.
    from hive_mind.control.archive_file import Archived
    from hive_mind.runtime.erasing import Erased
    from hive_mind.runtime.receipts import Receipt


Agent = Annotated[str, typer.Option("--agent", "-a", help="The memory of this agent alone.", show_default=DEFAULT_AGENT)]


group = Group()


@group.called_as(
    "hive-mind backup monday.sqlite", "hive-mind backup ada.sqlite --agent ada", "hive-mind backup research.zip --fleet research"
)
def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where the copy goes; it must not be there yet.")],
    agent: Agent = "",
    fleet: Annotated[str, typer.Option("--fleet", help="All that this fleet knows.", autocompletion=fleets.fleet_names)] = "",
    force: Annotated[bool, typer.Option("--force", help="--fleet: replace the file if it is there.")] = False,
    home: options.Home = None,
    output: options.Output = Format.TEXT,
) -> Coroutine[Any, Any, None] | None:
    """Copy the memory of an agent, or of a whole fleet, to a file, even while it learns.

    That of an agent is a snapshot of one moment, checked before it gets its name; `facts export` writes the same as text. That of
    a fleet is an archive: its manifest, every agent's memory, and what the hive holds. The fleet may run meanwhile or be stopped.
    """
    settings = settings_for(home, embed="none")
    if fleet:
        refuse_ineffective("--fleet, which has all agents in it", agent=agent)
        return _backup_fleet(settings.home.absolute(), fleet, file, output, force=force)
    refuse_ineffective("a copy of one agent", force=force)
    name = agent or DEFAULT_AGENT
    settings = for_copying(settings, name)
    if file.exists():
        raise InvalidInput(f"{file} is there already: give another name, or remove it")
    path = database_path(settings, name)
    if not is_kept(settings, name):
        raise InvalidInput(f"agent {name!r} has learned nothing yet: {path} is not there")
    note_copy(settings.home, file, "backup", name)
    # In no loop and no thread: Ctrl-C ends it in the middle of the copy, however large that is.
    facts = backends.load("store", settings.store).backup(path, file)
    size = file.stat().st_size
    sentence = f"{file}: {counted(facts, 'fact')} of agent {name!r}, {size >> 10:,} KB, checked"
    show_result(output, {"file": str(file), "agent": name, "facts": facts, "bytes": size}, sentence)
    return None


async def _backup_fleet(home: Path, fleet: str, file: Path, output: Format, *, force: bool) -> None:
    from hive_mind.control.archive import export

    name = fleets.chosen_fleet(home, fleet)
    refuse_replacing(file, force=force)
    note_copy(home, file, "archive", name)
    async with fleets.opened(home, name) as controller:
        archived = await export(home, name, file, call=controller.call)
    _show_archived(archived, f"fleet {name} is in {file}", output)


@group.called_as(
    "hive-mind restore monday.sqlite --force", "hive-mind restore research.zip", "hive-mind restore research.zip --fleet copy"
)
def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file that `backup` wrote.")],
    agent: Agent = "",
    force: Annotated[
        bool, typer.Option("--force", help="A copy of an agent: replace what it has now, which is kept beside it.")
    ] = False,
    fleet: Annotated[str, typer.Option("--fleet", help="A fleet: another name for it.", show_default="the one it had")] = "",
    root: Annotated[
        str,
        typer.Option("--root", help="A fleet: only if this root has signed it: the first digits of its key, as backup shows it."),
    ] = "",
    home: options.Home = None,
    output: options.Output = Format.TEXT,
) -> Coroutine[Any, Any, None] | None:
    """Put a copy back: as an agent's memory, or as a fleet.

    The agent must not be in use. Its former memory is kept beside it, under another name.

    A fleet is restored into a home folder that has neither this fleet nor its agents, and is stopped until it is applied. To
    restore it into another topology, apply its manifest with that topology afterwards.
    """
    settings = settings_for(home, embed="none")
    if not file.exists():
        raise InvalidInput(f"{file}: there is no such file; check the path")
    if file.is_dir():
        raise InvalidInput(f"{file} is a folder; give the file that `hive-mind backup` wrote")
    if is_zipfile(file):
        refuse_ineffective(f"{file}, which is a whole fleet", agent=agent, force=force)
        return _restore_fleet(settings, file, fleet, root, output)
    refuse_ineffective(f"{file}, which is no archive of a fleet", fleet=fleet, root=root)
    _restore_agent(settings, file, agent or DEFAULT_AGENT, output, force=force)
    return None


async def _restore_fleet(settings: Settings, file: Path, fleet: str, root: str, output: Format) -> None:
    from hive_mind.control.archive import import_

    archived = await import_(file, settings.home.absolute(), fleet, root)
    _show_archived(archived, f"fleet {archived.fleet} is restored from {file}", output)
    if output is Format.TEXT:
        say("it is not running yet: hive-mind apply -f MANIFEST, or hive-mind rollout restart")


def _restore_agent(settings: Settings, file: Path, agent: str, output: Format, *, force: bool) -> None:
    if is_kept(settings, agent) and not force:
        raise InvalidInput(f"agent {agent!r} has a memory already: replace it with --force; it is kept beside the copy")
    refuse_kept_open(settings, agent)
    path = database_path(settings, agent)
    former = backends.load("store", settings.store).restore(file, path)
    document = {"file": str(file), "agent": agent, "former": str(former) if former else None}
    show_result(output, document, f"{path}: as it was in {file}")
    if former and output is Format.TEXT:
        say(f"what was there is {former}")


def _show_archived(archived: "Archived", sentence: str, output: Format) -> None:
    agents, lines = counted(len(archived.agents), "agent"), counted(archived.lines, "line")
    by = f", signed by root {archived.root[:12]}" if archived.root else ""
    text = f"{sentence}: {agents} with {lines} of memory, {counted(archived.assertions, 'assertion')} of the hive{by}"
    show_result(output, archived, text)


_SHOWN = 10

Subject = Annotated[str, typer.Option("--subject", help="Everything that names it, word for word: a person, a place, a project.")]
Source = Annotated[
    str, typer.Option("--source", help="Everything that only this source said: a file by its path, a feed, a person.")
]
Receipts = Annotated[
    Path | None,
    typer.Option("--check", metavar="RECEIPT", help="Erase nothing: check the signature of a receipt, and who has confirmed."),
]


@group.called_as(
    'hive-mind erase --subject "Ada Lovelace"',
    "hive-mind erase --source mail/2024-03.txt --yes",
    "hive-mind erase --check .hive/receipts/3f9a-1764.json",
)
async def erase(
    subject: Subject = "",
    source: Source = "",
    agent: Annotated[str, typer.Option("--agent", "-a", help="Everything this agent learned or said.")] = "",
    fact: Annotated[str, typer.Option("--fact", help="One fact, by its id or the beginning of it.")] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Do it. Without it, what would go is shown and nothing is changed.")] = False,
    check: Receipts = None,
    fleet: fleets.Fleet = "",
    timeout_s: fleets.Timeout = 60.0,
    home: options.Home = None,
    output: options.Output = Format.TEXT,
) -> None:
    """Forget something for good: facts, texts, vectors, graphs, journals, backups, on every member of a fleet that runs here.

    From then on it is refused, recognised by digests alone: nothing of it is kept. Members that are away learn of it on their
    return, before anything else. The receipt names who has confirmed and whose confirmation is missing; while one is, this fails:
    run it again. --check looks at a receipt later: exit code 1 where a confirmation is still missing, or its signature is wrong.
    """
    from hive_mind.runtime.erasing import Erased, erase_from_agents, erase_from_copies, erase_from_letters, look_for_residue
    from hive_mind.runtime.receipts import Receipt, make_ready, signed

    if check is not None:
        refuse_ineffective("--check", subject=subject, source=source, agent=agent, fact=fact, yes=yes, fleet=fleet)
        _check(check, home, output)
        return
    settings = settings_for(home, embed="none")
    erasures = await _wanted(settings, subject, source, agent, fact)
    if yes:
        make_ready(settings.home)
    erased = Erased(names={subject} - {""})
    running = await _erased_from_fleets(settings, fleet, erasures, erased, timeout_s=timeout_s, is_dry=not yes)
    agents = [name for name in kept_agents(settings) if name not in running]
    await erase_from_agents(settings, _at_rest(settings, agents, erased), erasures, erased, is_dry=not yes)
    erase_from_letters(settings.home, erasures, erased, is_dry=not yes)
    await erase_from_copies(settings.home, erasures, erased, is_dry=not yes)
    if not yes:
        _show_dry(erased, output)
        return
    look_for_residue(settings.home, erased)
    receipt = signed(
        settings.home,
        Receipt(tuple(erasure.key for erasure in erasures), tuple(erased.confirmed), tuple(erased.owed), wall_clock_ms()),
    )
    path = _kept(settings.home, receipt)
    _show(receipt, path, output)
    if path is None or not receipt.is_complete:
        raise typer.Exit(FAILED)


async def _wanted(settings: Settings, subject: str, source: str, agent: str, fact: str) -> list[Erasure]:
    names = [name for name in (subject, source, agent, fact) if name]
    if len(names) != 1:
        raise InvalidInput("say what is to be erased: one of --subject, --source, --agent and --fact")
    if fact:
        return [erasure_of("fact", await _fact_id(settings, fact))]
    if source:
        return [erasure_of("source", name) for name in _sources_meant(source)]
    return [erasure_of("subject" if subject else "agent", names[0])]


def _sources_meant(text: str) -> list[str]:
    """A file is learned under its whole path, and shown by the one that leads there from here. It need not be there any more."""
    path = Path(text)
    is_file = os.sep in text or path.suffix or path.exists()
    return list(dict.fromkeys([text, source_of(path)])) if is_file else [text]


async def _fact_id(settings: Settings, text: str) -> str:
    """In full, as some agent of this home has it; one that is given in full need not be here."""
    try:
        erasure_of("fact", text)
    except InvalidInput:
        return (await fact_called(_Kept(settings), text)).id
    return text


class _Kept:
    """The facts of all agents of a home, in a fleet or not."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    async def facts_with_prefix(self, prefix: str) -> list[Fact]:
        from hive_mind.runtime.wiring import kept_facts

        facts = {fact.id: fact for agent in kept_agents(self._settings) for fact in kept_facts(self._settings, agent)}
        return [fact for id, fact in sorted(facts.items()) if id.startswith(prefix)]


async def _erased_from_fleets(
    settings: Settings, fleet: str, erasures: Sequence[Erasure], erased: "Erased", *, timeout_s: float, is_dry: bool
) -> set[str]:
    """Let every fleet of the home that runs erase it; the agents that are theirs."""
    theirs: set[str] = set()
    for name in [fleet] if fleet else fleets.fleets_in(settings.home):
        from hive_mind.control.erasing import erase_from_fleet

        async with fleets.opened(settings.home, name) as controller:
            theirs |= await erase_from_fleet(controller, erasures, erased, timeout_s=timeout_s, is_dry=is_dry)
    return theirs


def _at_rest(settings: Settings, agents: Sequence[str], erased: "Erased") -> list[str]:
    """Those that no process keeps open; the others are owed."""
    from hive_mind.runtime.receipts import Owed

    keepers = {agent: kept_open(settings, agent) for agent in agents}
    erased.owed += [Owed(f"agent {agent}", f"{keeper}, and erase again") for agent, keeper in keepers.items() if keeper]
    return [agent for agent, keeper in keepers.items() if not keeper]


def _show_dry(erased: "Erased", output: Format) -> None:
    if output is Format.JSON:
        show_json({"would_erase": list(dict.fromkeys(erased.facts)), "from": plain(erased.confirmed), "owed": plain(erased.owed)})
        return
    for confirmation in erased.confirmed:
        show(f"{confirmation.who}: {counted(confirmation.facts, 'fact')}, {counted(confirmation.episodes, 'text')}")
    contents = list(dict.fromkeys(erased.facts))
    for content in contents[:_SHOWN]:
        show(f"  {content}")
    if len(contents) > _SHOWN:
        show(f"  and {len(contents) - _SHOWN:,} more")
    for owed in erased.owed:
        show(f"can't be done here: {owed.who}: {owed.why}")
    if not any(confirmation.facts or confirmation.episodes for confirmation in erased.confirmed):
        say("nothing that can be looked at here has it: hive-mind sources and facts search show what there is")
    say("nothing was changed: add --yes to erase it for good")


def _kept(home: Path, receipt: "Receipt") -> Path | None:
    """Where it is written; None where there is no room for it: what was erased can't be erased again for another one."""
    from hive_mind.runtime.receipts import kept

    try:
        return kept(home, receipt)
    except OSError as error:
        say(f"error: {error.filename}: {reason_of(error)}; what is erased stays so, and the receipt is printed", style="red")
        say("keep what is printed in a file elsewhere: hive-mind erase --check reads it")
        return None


def _show(receipt: "Receipt", path: Path | None, output: Format) -> None:
    if output is Format.JSON:
        show_json(plain(receipt) | {"file": str(path or ""), "is_complete": receipt.is_complete})
        return
    if path is None:
        from hive_mind.runtime.receipts import written

        show_document(written(receipt).decode().rstrip())
        return
    for confirmation in receipt.confirmed:
        show(f"erased: {confirmation.who}: {counted(confirmation.facts, 'fact')}, {counted(confirmation.episodes, 'text')}")
    for owed in receipt.owed:
        show(f"owed: {owed.who}: {owed.why}")
    show(f"receipt: {path}")


def _check(file: Path, home: Path | None, output: Format) -> None:
    """A receipt's signature, and whose it is. Fails where it does not match, and where a confirmation is still missing."""
    from hive_mind.runtime.receipts import is_own, read

    receipt = read(file)
    is_ours = is_own(settings_for(home).home, receipt)
    by = "this home" if is_ours else f"key {receipt.key_id[:12]}, which is not that of this home"
    genuine = f"{file} is genuine, signed by {by}: {counted(len(receipt.confirmed), 'confirmation')}"
    sentence = "\n".join((genuine, *(f"  owed: {debt.who}: {debt.why}" for debt in receipt.owed)))
    show_result(output, plain(receipt) | {"key_id": receipt.key_id, "is_complete": receipt.is_complete}, sentence)
    if not receipt.is_complete:
        raise typer.Exit(FAILED)
