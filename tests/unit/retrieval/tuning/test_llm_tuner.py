import asyncio
import json
import random
from importlib.resources import files

import pytest

from hive_mind.cognition.budget import Budget
from hive_mind.errors import BackendUnavailable, BudgetExceeded, ModelOutputError
from hive_mind.llm.scripted import ScriptedModel
from hive_mind.retrieval import RetrievalConfig
from hive_mind.retrieval.tuning.tuners import LlmTuner
from tests.unit.retrieval.tuning_world import bench, situation_of, tuned


def reply(reason="help pages mislead", **sections):
    config = {"name": "naive", "collection": "kb", "retrieval": {"method": "keyword"}, **sections}
    return json.dumps({"done": False, "reason": reason, "config": config})


GOOD = reply(filters={"category": ["api"]})


def tuner(*script, budget=100_000):
    async def no_wait(_seconds):
        return None

    model = ScriptedModel(script)
    return model, LlmTuner(model, Budget(budget), rng=random.Random(1), sleep=no_wait)


def test_the_model_reads_what_misled_and_writes_the_next_configuration(tmp_path):
    model, one = tuner(GOOD, '{"done": true, "reason": "nothing is left to gain"}')

    found = tuned(bench(tmp_path), one)

    assert (found.best.reason, found.best.nudcg, found.ended) == ("help pages mislead", 1.0, "scripted has nothing left to try")
    assert found.verdict.allowed
    first, second = (prompt.text for prompt in model.prompts)
    assert "category: api (3), faqs (2), news (1)" in first
    assert "1 D faqs/a.md (Heading) 1.0 -" in first
    assert "better-001: 1.000, 0, " in second


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ("no idea", "it contains no JSON object"),
        (reply(retrieval={"topk": 3}), "config.retrieval.topk (line 1): is not known; did you mean top_k?"),
        (reply(retrieval={"top_k": 0}), "config.retrieval.top_k (line 1): has to be at least 1"),
        (reply(retrieval={"method": "vector"}), "config: retrieval.method: vector needs embeddings"),
        (reply(filters={"category": ["faq"]}), 'config: filters.category[0]: no document has category "faq"; did you mean faqs?'),
        ('{"done": false, "reason": "x"}', "config: is missing"),
        (reply(), "config: it is the same as naive, which was measured already"),
        (reply(filters={"category": ["api"]}).replace('"kb"', '"other"'), "config: collection: is other"),
    ],
)
def test_a_reply_that_cannot_be_used_is_told_with_everything_that_is_wrong(tmp_path, bad, told):
    model, one = tuner(bad, GOOD)

    assert asyncio.run(one.propose(situation_of(tmp_path))).config.filters == {"category": ["api"]}
    assert f"Your last reply could not be used:\n- {told}" in model.prompts[1].instructions
    assert model.prompts[0].text == model.prompts[1].text


def test_a_second_bad_reply_ends_it_and_keeps_what_was_found(tmp_path):
    _, one = tuner(GOOD, "no", "no again")

    found = tuned(bench(tmp_path), one)

    assert found.name == "better"
    assert "replied twice with something that can't be used: it contains no JSON object" in found.ended


def test_json_may_stand_in_a_fence_and_have_comments(tmp_path):
    _, one = tuner(f"Here it is:\n```json\n// better\n{GOOD}\n```\nGood luck!")

    assert asyncio.run(one.propose(situation_of(tmp_path))) is not None


def test_a_budget_that_is_spent_ends_it_before_anything_is_sent(tmp_path):
    model, one = tuner(GOOD, budget=100)

    with pytest.raises(BudgetExceeded):
        asyncio.run(one.propose(situation_of(tmp_path / "a")))

    assert model.prompts == []
    assert "the token budget is spent" in tuned(bench(tmp_path / "b"), one).ended


def test_trouble_that_passes_is_waited_for(tmp_path):
    model, one = tuner(BackendUnavailable("llm", "busy"), GOOD)

    assert asyncio.run(one.propose(situation_of(tmp_path))) is not None
    assert len(model.prompts) == 2
    assert one.budget.spent.calls == 2


def test_a_reply_of_megabytes_is_refused(tmp_path):
    _, one = tuner("{" + "x" * 200_000 + "}", "{" * 90_000 + "}")

    with pytest.raises(ModelOutputError, match="twice"):
        asyncio.run(one.propose(situation_of(tmp_path)))


def test_the_prompt_names_every_field_of_a_configuration():
    text = files("hive_mind.retrieval").joinpath("prompts/tune.md").read_text("utf-8")

    for name, one in RetrievalConfig.model_fields.items():
        inner = getattr(one.annotation, "model_fields", {})
        names = [name, *(info.alias or field for field, info in inner.items())]
        assert [field for field in names if f"`{field}`" not in text] == []
