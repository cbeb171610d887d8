"""`hive-mind facts retract` and `supersede`: a fact, or what a source said, is former from now on; nothing is lost.

For good is `hive-mind erase`.
"""

from dataclasses import replace
from typing import Annotated

import typer

from hive_mind.cli import options
from hive_mind.cli.asking.asked import AnsweringAgent, asked_agent
from hive_mind.cli.facts.facts_asked import AskedFacts, FactId
from hive_mind.cli.fleet.agents import AnyAgent
from hive_mind.cli.learning.files import source_named
from hive_mind.cli.options import Format, Group, is_confirmed
from hive_mind.cli.output import plain, printable, short_id, show, show_json, shown_source
from hive_mind.counted import counted
from hive_mind.errors import InvalidInput
from hive_mind.memory.fact_called import fact_called
from hive_mind.model.content import SOURCE
from hive_mind.model.fact import Sharing

Retracted = Annotated[
    str, typer.Argument(metavar="ID", help="A fact's id, or its first characters (6 or more).", show_default="none, for --source")
]
Source = Annotated[
    str,
    typer.Option("--source", help="All that this said: a file that was learned, or a source as `hive-mind sources` names it."),
]
By = Annotated[str, typer.Option("--by", help="The statement that holds now.")]
SaidBy = Annotated[str, typer.Option("--source", help="The source of the statement.")]


group = Group()


@group.called_as("hive-mind facts retract 4f1a2b3c --yes", "hive-mind facts retract --source notes/old.md --yes")
async def retract(id_: Retracted = "", source: Source = "", yes: options.Yes = False, *, at: AnyAgent) -> None:
    """Take a fact back, or all that a source said.

    A fact is kept for the record and found by its id only; it comes back when another source says it again. Where a fleet runs in
    the home folder, one of its agents takes it back, and the hive drops it too: an agent can retract what it said itself, a
    moderator what anybody said.

    Facts of a source that other sources confirm stay, without this one. The rest is kept for the record as former, and holds
    again when the source is learned again. `hive-mind erase` is for good.
    """
    if bool(id_) == bool(source):
        raise InvalidInput("say what is to be taken back: the ID of a fact, or --source, and not both")
    async with asked_agent(at.settings(), at.fleet, at.agent) as agent:
        await (_retract_source(agent, source, yes, at.output) if source else _retract_fact(agent, id_, yes, at.output))


async def _retract_fact(agent: AnsweringAgent, id_: str, yes: bool, output: Format) -> None:
    fact = await fact_called(AskedFacts(agent), id_)
    if not yes and not is_confirmed("retract", f"Retract “{fact.content}”?"):
        show("Kept.")
        return
    reply = await agent.call("retract", fact_id=fact.id)
    if output is Format.JSON:
        show_json(plain(replace(fact, sharing=Sharing(reply["sharing"]))))
    else:
        show(f"Retracted {short_id(fact.id)}: {fact.content}")


async def _retract_source(agent: AnsweringAgent, source: str, yes: bool, output: Format) -> None:
    counts = {row["source"]: row["facts"] for row in (await agent.call("sources", query=""))["sources"]}
    name = source_named(printable(source), counts)
    if not yes and not is_confirmed("retract", f"Retract {counted(counts[name], 'fact')} of {shown_source(name)}?"):
        show("Kept.")
        return
    former = (await agent.call("withdraw", source=name))["former"]
    if output is Format.JSON:
        show_json({"source": name, "former": former})
    else:
        show(f"{shown_source(name)}: {counted(former, 'fact is', 'facts are')} no longer said")


@group.called_as('hive-mind facts supersede 4f1a2b3c --by "The ferry leaves at ten."')
async def supersede(id_: FactId, by: By, source: SaidBy = SOURCE, *, at: AnyAgent) -> None:
    """Replace a fact by what holds now; the old one becomes former."""
    async with asked_agent(at.settings(), at.fleet, at.agent) as agent:
        former_id = (await fact_called(AskedFacts(agent), id_)).id
        newer_id = (await agent.call("correct", fact_id=former_id, content=printable(by), source=source))["fact_id"]
    if at.output is Format.JSON:
        show_json({"id": newer_id, "replaces": former_id})
    else:
        show(f"{short_id(former_id)} is former; {short_id(newer_id)} holds: {by}")
