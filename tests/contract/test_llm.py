"""What every language model promises. The folder is listed, so a new back end is judged the moment its file exists."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from hive_mind import backends
from hive_mind.llm.base import LanguageModel, Prompt
from tests.loops import InLoop, opened
from tests.servers.openai_compatible import OpenAICompatibleServer

OPENED = {"scripted": ("scripted:ok", {}), "providers": ("openai:tiny", {"api_key": "unused"})}


@contextmanager
def options_for(name: str) -> Iterator[tuple[str, dict[str, str]]]:
    """The name a model is opened by in a test and its options; a server runs meanwhile where one is needed."""
    model, options = OPENED[name]
    if name != "providers":
        yield model, options
        return
    with OpenAICompatibleServer() as server:
        yield model, {**options, "base_url": server.base_url}


@pytest.fixture(params=backends.known("llm"))
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def model(name: str) -> Iterator[InLoop]:
    with options_for(name) as (model_name, options):
        yield InLoop(lambda: opened("llm", name, model_name, **options))


async def test_it_knows_the_name_it_was_opened_by_and_may_be_closed_twice(name: str, model: LanguageModel):
    assert model.name == OPENED[name][0]
    await model.close()


async def test_a_prompt_gets_a_reply_and_says_what_it_cost(model: LanguageModel):
    completion = await model.complete(Prompt("be brief", "hello"))
    assert (completion.text, completion.usage.calls) == ("ok", 1)
    assert completion.usage.tokens > 0


async def test_prompts_side_by_side_all_get_replies(model: LanguageModel):
    completions = await asyncio.gather(*(model.complete(Prompt("", f"hello {n}")) for n in range(8)))
    assert [completion.text for completion in completions] == ["ok"] * 8


@pytest.mark.parametrize("text", ["", "\x00", "\ud800", "é" * 10_000, "</data>"])
async def test_any_text_can_be_sent(text: str, model: LanguageModel):
    assert (await model.complete(Prompt("be brief", text))).text == "ok"
