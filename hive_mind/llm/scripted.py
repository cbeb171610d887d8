"""A language model that says what it was told to say: for tests and demonstrations, no key and no network.

Ships because it is a real implementation of the protocol: it counts usage, records prompts and can fail like a real one. It
does not read what it is asked unless its script does.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping

from hive_mind.errors import BackendRejected, InvalidInput
from hive_mind.llm.base import Completion, OnText, Prompt, Usage
from hive_mind.model import content

Reply = str | Exception
Conversation = Iterable[content.Reply | Exception] | Callable[[content.Turn], content.Reply | Exception]
Script = Iterable[Reply] | Mapping[str, Reply] | Callable[[Prompt], Reply]

# As coarse as a person's estimate; what matters is that a longer prompt costs more.
_CHARS_PER_TOKEN = 4


class ScriptedModel:
    """Replies from a script: in order (an iterable), by the first key a prompt contains (a mapping), or computed.

    An exception in the script is raised. `prompts` holds everything it was asked. Raises `BackendRejected` when the script has
    no reply. `conversation` is the script of `converse`: replies in order, or computed; `turns` holds what it was given.
    """

    def __init__(self, script: Script = (), name: str = "scripted", conversation: Conversation = ()) -> None:
        self.prompts: list[Prompt] = []
        self.turns: list[content.Turn] = []
        self._conversation = conversation if callable(conversation) else _in_turn(conversation)
        self.name = name
        self._reply_to = _replier(script)

    async def complete(self, prompt: Prompt) -> Completion:
        """The script's next reply, or its error."""
        self.prompts.append(prompt)
        reply = self._reply_to(prompt)
        if isinstance(reply, Exception):
            raise reply
        chars = len(prompt.instructions) + len(prompt.text)
        return Completion(reply, Usage(chars // _CHARS_PER_TOKEN + 1, len(reply) // _CHARS_PER_TOKEN + 1, 1))

    async def converse(self, turn: content.Turn, on_text: OnText | None = None) -> content.Reply:
        """The next reply of the conversation's script, or its error; its words one by one."""
        self.turns.append(turn)
        reply = self._conversation(turn)
        if isinstance(reply, Exception):
            raise reply
        if on_text:
            for word in re.findall(r"\S+\s*", reply.text):
                on_text(word)
        return reply

    async def close(self) -> None:
        """Nothing to release."""


async def open(name: str = "scripted") -> ScriptedModel:
    """A model that repeats one reply; the reply is the name's part behind "scripted:", by default an empty JSON object.

    Raises `InvalidInput` for a name of another back end.
    """
    kind, _, reply = name.partition(":")
    if kind != "scripted":
        raise InvalidInput(f'a scripted model is opened as "scripted:<reply>", not {name!r}')
    return ScriptedModel(lambda _: reply or json.dumps({}), name, lambda _: content.Reply(reply))


def _replier(script: Script) -> Callable[[Prompt], Reply]:
    if callable(script):
        return script
    if isinstance(script, Mapping):
        return lambda prompt: _by_content(script, prompt)
    replies = iter(script)
    return lambda _: next(replies, _exhausted("has no reply left; give it one for every prompt"))


def _in_turn(
    replies: Iterable[content.Reply | Exception],
) -> Callable[[content.Turn], content.Reply | Exception]:
    following = iter(replies)
    return lambda _: next(following, _exhausted("has no reply left; give it one for every turn"))


def _by_content(script: Mapping[str, Reply], prompt: Prompt) -> Reply:
    text = f"{prompt.instructions}\n{prompt.text}"
    return next((reply for key, reply in script.items() if key in text), _exhausted("has no reply for this prompt; add a key"))


def _exhausted(problem: str) -> BackendRejected:
    return BackendRejected("scripted", f"the script {problem}")
