"""Prompts that a person picks in a client."""

from mcp.server import MCPServer

_BRIEF = """\
Read what memory holds on: {topic}. Recall it in a few ways (its names, its parts, what changed last), then give me a brief: what
is known, with the ids you rest on; what is disputed; what is missing. Say nothing that no fact says."""

_HAND_OVER = """\
This conversation ends. Write down what the next one has to know about: {topic}. Remember decisions and their reasons, what is
done, what is open and what was tried in vain, one statement a sentence, with a source. Correct what is no longer true. Then list
the ids."""

_SETTLE = """\
List the conflicts in memory. For each show me both statements with their sources and times, say which one you would keep and
why, and ask me. Correct only what I have decided."""


def add(server: MCPServer) -> None:
    """Offer all of them."""

    @server.prompt(name="brief", description="What is known about a topic, with its evidence.")
    def brief(topic: str) -> str:
        return _BRIEF.format(topic=topic)

    @server.prompt(name="hand-over", description="Keep what the next conversation has to know.")
    def hand_over(topic: str) -> str:
        return _HAND_OVER.format(topic=topic)

    @server.prompt(name="settle-conflicts", description="Decide with a person which of two statements holds.")
    def settle_conflicts() -> str:
        return _SETTLE
