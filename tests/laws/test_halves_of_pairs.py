"""Half of a surrogate pair that a file spells as an escape is no character and reads as U+FFFD; both halves are one."""

from pathlib import Path

import pytest

from hive_mind.agents.agent import LearningSteps
from hive_mind.cognition.extractive import ExtractiveReader
from hive_mind.memory.cognitive import CognitiveMemory
from hive_mind.model.content import Content
from hive_mind.runtime.texts.document import Document
from hive_mind.runtime.texts.text_files import document_in
from tests.builders import Home

HALF, PAIR, SHOWN = r"\ud83d", r"\ud83d\ude00", "\N{GRINNING FACE}"

FILES = {
    "front.md": '---\ntitle: "Pump {0}"\nowner {0}: "{0} Ada"\n---\nThe pump of {0} is red and tall.\n',
    "toml.md": '+++\ntitle = "Pump {0}"\n+++\nThe pump is red and tall.\n',
    "front.txt": '{{"title": "Pump {0}", "{0}": ["{0} is red", {{"name": "{0}"}}]}}\nThe pump is red and tall.\n',
    "note.json": '{{"text": "The {0} pump is red and tall.", "{0}": "Ada"}}',
    "lines.jsonl": '{{"question": "Why?", "answer": "The {0} pump is old and tall."}}\n',
    "note.yaml": 'pump: "The {0} pump is red and tall."\n',
    "talk.json": '[{{"role": "user", "content": "The {0} pump is red and tall."}}, {{"role": "assistant", "content": "So {0}"}}]',
    "slack.json": '[{{"type": "message", "user": "U{0}", "text": "The {0} pump is red.", "ts": "1700000000.000"}}]',
    "code.py": '"""The {0} pump is red and tall."""\nPUMP = "the {0} pump is red and tall"\n',
}


async def kept_of(name: str, escape: str) -> list[str]:
    document = document_in(Path(name), FILES[name].format(escape).encode())
    assert isinstance(document, Document)
    async with Home().memory() as memory:
        learned = await learn(memory, Content(document.text, source=name))
        assert learned
        return learned


async def learn(memory: CognitiveMemory, content: Content) -> list[str]:
    steps = LearningSteps(memory, ExtractiveReader())
    await steps.act(await steps.decide(await steps.orient(await steps.observe(content))))
    return [fact.content for fact in await memory.get_all_facts()]


@pytest.mark.parametrize("name", FILES)
async def test_a_file_with_half_a_pair_is_learned(name: str) -> None:
    for text in await kept_of(name, HALF):
        assert text.encode().decode() == text


@pytest.mark.parametrize("name", ["front.md", "front.txt"])
async def test_a_pair_in_two_escapes_is_the_character_that_it_is(name: str) -> None:
    assert any(f"Pump {SHOWN}" in text for text in await kept_of(name, PAIR))
