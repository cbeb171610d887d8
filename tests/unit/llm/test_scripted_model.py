import asyncio

import pytest

from hive_mind.errors import BackendRejected, BackendTimeout, InvalidInput
from hive_mind.llm.base import Completion, Prompt
from hive_mind.llm.scripted import ScriptedModel
from hive_mind.llm.scripted import open as open_scripted


def said(model: ScriptedModel, text: str = "hello") -> str:
    return asyncio.run(model.complete(Prompt("be brief", text))).text


def test_replies_come_in_order():
    model = ScriptedModel(["one", "two"])
    assert [said(model), said(model)] == ["one", "two"]


def test_an_exhausted_script_says_what_to_do():
    with pytest.raises(BackendRejected, match="give it one for every prompt"):
        said(ScriptedModel([]))


def test_a_mapping_replies_by_what_the_prompt_contains():
    assert said(ScriptedModel({"brief": "by instructions", "hello": "by text"})) == "by instructions"


def test_a_reply_can_be_computed():
    assert said(ScriptedModel(lambda prompt: prompt.text.upper())) == "HELLO"


def test_an_exception_in_the_script_is_raised():
    with pytest.raises(BackendTimeout):
        said(ScriptedModel([BackendTimeout("scripted", "too slow")]))


def test_prompts_are_recorded_and_usage_grows_with_them():
    model = ScriptedModel(["a", "a"])
    short, long = (asyncio.run(model.complete(Prompt("", "x" * length))) for length in (10, 1000))

    assert [len(prompt.text) for prompt in model.prompts] == [10, 1000]
    assert isinstance(short, Completion)
    assert short.usage.tokens < long.usage.tokens
    assert short.usage.calls == 1


def test_it_opens_by_name_with_its_one_reply():
    assert said(asyncio.run(open_scripted('scripted:{"facts": []}'))) == '{"facts": []}'
    with pytest.raises(InvalidInput, match="scripted:<reply>"):
        asyncio.run(open_scripted("openai:x"))
