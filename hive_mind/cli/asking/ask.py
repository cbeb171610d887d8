"""`hive-mind ask`: an answer with its sources, or an honest "I don't know", which is a success like any other."""

from typing import Annotated

import typer

from hive_mind.cli import options
from hive_mind.cli.asking.asked import AnyEmbeddingAgent, asked_agent
from hive_mind.cli.asking.quick_ask import show_reply
from hive_mind.cli.options import ConfigFile, Format, Group, SearchMethod, as_of_field, ways_of
from hive_mind.cli.output import printable, say
from hive_mind.model.query import LIMIT
from hive_mind.runtime.settings import ANSWERING_GIVEN

group = Group()


@group.called_as(
    'hive-mind ask "When does the ferry leave?"',
    'hive-mind ask "Which pump failed in March?" --explain',
    'hive-mind ask "Which port does the gateway use?" --as-of 2026-03-01',
    'hive-mind ask "What does PMP-014 say?" --output json',
)
async def ask(
    context: typer.Context,
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="In your own words, in quotation marks.")],
    limit: options.Limit = LIMIT,
    explain: Annotated[bool, typer.Option("--explain", help="Show how each source's score came about.")] = False,
    method: options.Method = SearchMethod.HYBRID,
    as_of: options.AsOf = "",
    config: ConfigFile = None,
    *,
    at: AnyEmbeddingAgent,
) -> None:
    """Ask what the agent has learned.

    The answer comes with the facts it rests on. Not knowing is an answer too, not an error. Where a fleet runs in the home
    folder, one of its agents is asked, and answers from what all of them share.
    """
    settings, ways = at.settings(), ways_of(context, config, method.value, limit)
    question = printable(question)
    async with asked_agent(settings, at.fleet, at.agent, ways.ranking, opening=[*at.opening(), ANSWERING_GIVEN]) as agent:
        if agent.fleet and ways.ranking:
            say("note: an agent of a fleet ranks as its manifest says: of --config it takes method and top_k", style="yellow")
        fields = {"limit": ways.limit, "method": ways.method, **as_of_field(as_of)}
        reply = await agent.call("ask", question=question, **fields)
    request = {"question": question, "fleet": agent.fleet, "agent": agent.name}
    show_reply(request, reply, is_json=at.output is Format.JSON, explain=explain)
