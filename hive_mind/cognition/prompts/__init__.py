"""Prompts of language models. Each `.md` file is the instructions of one call; the text it is about is fenced as data.

The fence's name is computed from the text it encloses, so no text can contain its own closing fence.
"""

from functools import cache
from hashlib import blake2b
from importlib.resources import files

from hive_mind.llm.base import Prompt


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
    return files(__name__).joinpath(f"{name}.md").read_text("utf-8").strip()
