"""`hive-mind facts forget` and `supersede`: what a source said, or a fact, is former from now on; nothing is lost.

For good is `hive-mind erase`.
"""

from typing import Annotated

import typer

from hive_mind.cli import options
from hive_mind.cli.asking.asked import asked_agent
from hive_mind.cli.facts.facts_asked import AskedFacts, FactId
from hive_mind.cli.fleet.agents import AnyAgent
from hive_mind.cli.learning.files import source_named
from hive_mind.cli.options import Format, examples, is_confirmed
from hive_mind.cli.output import printable, short_id, show, show_json, shown_source
from hive_mind.cli.running import command
from hive_mind.counted import counted
from hive_mind.memory.fact_called import fact_called
from hive_mind.model.content import SOURCE

Source = Annotated[
    str, typer.Option("--source", help="A file that was learned, or another source as `hive-mind sources` names it.")
]
By = Annotated[str, typer.Option("--by", help="The statement that holds now.")]
SaidBy = Annotated[str, typer.Option("--source", help="The source of the statement.")]


group = typer.Typer()


@group.command(epilog=examples("hive-mind facts forget --source notes/old.md --yes"))
@command
async def forget(source: Source, yes: options.Yes = False, *, at: AnyAgent) -> None:
    """Take back all that a source said; facts that other sources confirm stay, without this one.

    It is kept for the record as former, and holds again when the source is learned again. `hive-mind erase` is for good.
    """
    async with asked_agent(at.settings(), at.fleet, at.agent) as agent:
        known = {one["source"]: one["facts"] for one in (await agent.call("sources", query=""))["sources"]}
        name = source_named(printable(source), known)
        if not yes and not is_confirmed("forget", f"Forget {counted(known[name], 'fact')} of {shown_source(name)}?"):
            show("Kept.")
            return
        former = (await agent.call("withdraw", source=name))["former"]
    if at.output is Format.JSON:
        show_json({"source": name, "former": former})
    else:
        show(f"{shown_source(name)}: {counted(former, 'fact is', 'facts are')} no longer said")


@group.command(epilog=examples('hive-mind facts supersede 4f1a2b3c --by "The ferry leaves at ten."'))
@command
async def supersede(id_: FactId, by: By, source: SaidBy = SOURCE, *, at: AnyAgent) -> None:
    """Replace a fact by what holds now; the old one becomes former."""
    async with asked_agent(at.settings(), at.fleet, at.agent) as agent:
        former_id = (await fact_called(AskedFacts(agent), id_)).id
        newer_id = (await agent.call("correct", fact_id=former_id, content=printable(by), source=source))["fact_id"]
    if at.output is Format.JSON:
        show_json({"id": newer_id, "replaces": former_id})
    else:
        show(f"{short_id(former_id)} is former; {short_id(newer_id)} holds: {by}")
