"""Asking the person in front of a client before something is taken back."""

from collections.abc import Awaitable, Callable

from mcp.server.mcpserver import Context, Elicit
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel, Field

from hive_mind.errors import HiveError
from hive_mind.mcp.served import ServedAgent

_SHOWN_MAX = 500


class Confirmed(BaseModel):
    """What a person answers."""

    take_back: bool = Field(description="Take it back, here and in the hive.")


def retraction_confirmed(agent: ServedAgent) -> Callable[[str, str, Context], Awaitable[Confirmed | Elicit[Confirmed]]]:
    """Fills a tool's parameter: by a person where the client can ask one, else the client's own rules for tools have to do."""

    async def confirmed(id: str, reason: str, context: Context) -> Confirmed | Elicit[Confirmed]:
        capabilities = context.client_capabilities
        if capabilities is None or capabilities.elicitation is None:
            return Confirmed(take_back=True)
        try:
            content = str((await agent.call("why", fact_id=id))["content"])
        except HiveError as error:
            raise ToolError(str(error)) from error
        return Elicit(f"Take back “{content[:_SHOWN_MAX]}”? Reason: {reason[:_SHOWN_MAX]}", Confirmed)

    return confirmed
