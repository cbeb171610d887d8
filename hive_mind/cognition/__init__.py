"""Reading and answering: from content to candidates, from hits to an answer. Knows nothing of storage or topology.

Here is the interface of a reader, which is all an agent knows. The default (`extractive`) needs no key and never invents;
`prompted` asks a language model.

And here are the prompts of language models. Each file of `prompts` is the instructions of one call; its text is fenced as data.
The fence's name is computed from the text it encloses, so no text can contain its own closing fence.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from typing import Protocol

from hive_mind.llm.base import Prompt
from hive_mind.model.content import Candidate, Content, LeftOut
from hive_mind.model.gathered import Answer, Question
from hive_mind.model.query import Hit


@dataclass(frozen=True, slots=True)
class Extraction:
    """The statements taken out of content. `said_at` is the content's own time (004's temporal metadata), ISO 8601 or "".

    `dropped` counts statements that a language model returned and that could not be kept (no text, a confidence of 8100).
    `left_out` are the texts that the reader did not take, in the order of the content; a language model doesn't say.
    """

    candidates: tuple[Candidate, ...]
    said_at: str = ""
    dropped: int = 0
    left_out: tuple[LeftOut, ...] = ()


class Reader(Protocol):
    """Reads for an agent. All three are pure where no model is involved: the same input gives the same output."""

    async def extract(self, content: Content) -> Extraction:
        """Temporal metadata and structured facts. Raises `ModelOutputError`, `BackendError`."""

    async def summarise(self, content: Content, candidates: Sequence[Candidate]) -> str:
        """The concept map of the content: one line per concept with what it is linked to. Raises like `extract`."""

    async def synthesise(self, question: Question, hits: Sequence[Hit]) -> Answer:
        """An answer that rests on `hits` alone, or an honest "not known". Raises like `extract`."""


def prompt(name: str, data: str, max_output_tokens: int) -> Prompt:
    """The prompt of the call `name` ("temporal", "facts", "concepts", "answer") about some untrusted text."""
    return fenced(instructions_of(name), data, max_output_tokens)


def fenced(instructions: str, data: str, max_output_tokens: int) -> Prompt:
    """A prompt about some untrusted text with instructions from elsewhere."""
    fence = f"data-{blake2b(data.encode('utf-8', 'surrogatepass'), digest_size=6).hexdigest()}"
    instructions_text = f"{instructions}\n\n{instructions_of('untrusted').replace('FENCE', fence)}"
    return Prompt(instructions_text, f"<{fence}>\n{data}\n</{fence}>", max_output_tokens)


@cache
def instructions_of(name: str) -> str:
    """The instructions of the call `name`."""
    return files(__name__).joinpath("prompts", f"{name}.md").read_text("utf-8").strip()
