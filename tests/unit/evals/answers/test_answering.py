"""The one answerer of an experiment: what it sees, what it says, and what it costs."""

import asyncio
import json
from dataclasses import replace
from decimal import Decimal

import pytest

from hive_mind.cognition.budget import Budget, usd_of
from hive_mind.errors import BudgetExceeded, InvalidInput, ModelOutputError
from hive_mind.evals.answering import Answerer, AnswererKind, GivenAnswer, ModelAnswerer, QuotingAnswerer, open_answerer
from hive_mind.evals.datasets import LabelledQuestion
from hive_mind.evals.metrics import answered_figures
from hive_mind.llm.base import Completion, Prompt, Usage
from hive_mind.llm.scripted import Reply, ScriptedModel
from hive_mind.model.query import Hit
from hive_mind.runtime.settings import Settings
from tests.servers.openai_compatible import OpenAICompatibleServer
from tests.servers.openai_compatible import Reply as ServedReply
from tests.unit.cognition.reading import hit

QUESTION = LabelledQuestion(
    "q7",
    "At what pressure does pump D4 run?",
    {"secret-document": 1},
    category="secret-category",
    answer="secret-answer",
    required=("secret-required",),
    acceptable=("secret-acceptable",),
    gap="secret-gap",
)
HITS = (hit("Pump D4 runs at 42 bar."), hit("The ferry leaves at nine.", 0.2))
KNOWN = json.dumps({"known": True, "answer": "42 bar [1]", "citations": [1]})
UNKNOWN = json.dumps({"known": False})


def answered(model: ScriptedModel, hits: tuple[Hit, ...] = HITS, max_tokens: int = 10**6) -> GivenAnswer:
    return asyncio.run(ModelAnswerer(model, Budget(max_tokens)).answer(QUESTION, hits))


def opened(kind: AnswererKind, settings: Settings) -> Answerer:
    answerer = asyncio.run(open_answerer(kind, settings))
    assert answerer is not None
    return answerer


def test_none_answers_nothing() -> None:
    assert asyncio.run(open_answerer("none", Settings())) is None


def test_quoting_gives_the_words_of_what_was_found_and_costs_nothing() -> None:
    answerer = opened("quoting", Settings())

    assert asyncio.run(answerer.answer(QUESTION, HITS)) == GivenAnswer("“Pump D4 runs at 42 bar.”", is_known=True)
    assert (answerer.name, answerer.spent) == ("quoting", Usage())


def test_how_quotations_are_introduced_is_no_part_of_what_keywords_are_looked_for_in() -> None:
    asked = LabelledQuestion("q", QUESTION.text, {}, acceptable=("memory", "quoted"))

    assert answered_figures(asked, asyncio.run(QuotingAnswerer().answer(asked, HITS)))["keyword_hit"] == 0.0


def test_quoting_declines_where_nothing_speaks_about_the_question() -> None:
    assert not asyncio.run(QuotingAnswerer().answer(QUESTION, HITS[1:])).is_known


def test_a_model_answers_and_counts_what_that_takes() -> None:
    answerer = ModelAnswerer(ScriptedModel([KNOWN, UNKNOWN]), Budget(10**6))

    first, second = (asyncio.run(answerer.answer(QUESTION, hits)) for hits in (HITS, HITS[:1]))

    assert (first.text, first.is_known, second.is_known) == ("42 bar [1]", True, False)
    assert answerer.spent.calls == 2
    assert answerer.usd(answerer.spent) is None, "nobody knows what a script costs"


def test_a_reply_that_has_to_be_asked_for_again_is_paid_for_twice() -> None:
    once, twice = (ModelAnswerer(ScriptedModel(replies), Budget(10**6)) for replies in ([KNOWN], ["no JSON", KNOWN]))
    for answerer in (once, twice):
        asyncio.run(answerer.answer(QUESTION, HITS))

    assert twice.spent.input_tokens > 2 * once.spent.input_tokens


def test_the_model_sees_the_question_when_it_is_asked_and_the_hits_and_none_of_the_labels() -> None:
    model, asked = ScriptedModel([KNOWN]), replace(QUESTION, asked_at="2023-05-30T23:40")

    asyncio.run(ModelAnswerer(model, Budget(10**6)).answer(asked, HITS))

    (prompt,) = model.prompts
    assert f"Question: {QUESTION.text}\nAsked at: 2023-05-30T23:40\n" in prompt.text
    assert all(one.fact.content in prompt.text for one in HITS)
    assert "secret" not in prompt.text + prompt.instructions


def test_a_model_is_shown_every_hit_however_many_an_arm_gives() -> None:
    model = ScriptedModel([KNOWN])

    answered(model, tuple(hit(f"Pump {number} hums.") for number in range(200)))

    assert "[200] Pump 199 hums." in model.prompts[0].text


def test_without_hits_nothing_is_asked_or_paid() -> None:
    assert answered(ScriptedModel([]), ()) == GivenAnswer(
        "I don't know: nothing in memory answers this for certain.", is_known=False
    )


def test_what_a_model_cannot_answer_is_raised_and_its_tokens_are_counted() -> None:
    answerer = ModelAnswerer(ScriptedModel(["nonsense", "nonsense"]), Budget(10**6))

    with pytest.raises(ModelOutputError):
        asyncio.run(answerer.answer(QUESTION, HITS))
    assert answerer.spent.calls == 2


def test_nothing_is_sent_beyond_the_budget() -> None:
    model = ScriptedModel([KNOWN])

    with pytest.raises(BudgetExceeded):
        answered(model, max_tokens=200)
    assert model.prompts == []


def test_the_model_and_the_budget_are_those_of_the_settings() -> None:
    answerer = opened("model", Settings(llm=f"scripted:{KNOWN}", token_budget=100))

    assert answerer.name == f"scripted:{KNOWN}"
    with pytest.raises(BudgetExceeded, match="of 100 used"):
        asyncio.run(answerer.answer(QUESTION, HITS))
    asyncio.run(answerer.close())


def test_a_model_that_is_not_named_is_asked_for() -> None:
    with pytest.raises(InvalidInput, match="set HIVE_MIND_LLM, or take the answerer 'quoting'"):
        opened("model", Settings())


class Named(ScriptedModel):
    """Says what it is told, under the name of a model that has a price; counts as if it were the real one."""

    def __init__(self, replies: list[Reply], name: str) -> None:
        super().__init__(replies, name)

    async def complete(self, prompt: Prompt) -> Completion:
        return Completion((await super().complete(prompt)).text, Usage(2_000, 500, 1))


def test_money_is_counted_where_the_models_price_is_known_and_holds() -> None:
    genai_prices = pytest.importorskip("genai_prices")
    listed = genai_prices.calc_price(
        genai_prices.Usage(input_tokens=2_000, output_tokens=500), "gpt-5-mini", provider_id="openai"
    )
    assert listed.total_price > Decimal(0)

    answerer = ModelAnswerer(Named([KNOWN], "openai:gpt-5-mini"), Budget(10**6))

    asyncio.run(answerer.answer(QUESTION, HITS))
    assert answerer.usd(answerer.spent) == float(listed.total_price)


def test_a_server_of_ones_own_has_no_price_whatever_its_model_is_called() -> None:
    pytest.importorskip("pydantic_ai")

    async def asked(url: str) -> tuple[str, float | None]:
        answerer = await open_answerer("model", Settings(llm="openai:gpt-5-mini", llm_url=url))
        assert answerer is not None
        try:
            answer = await answerer.answer(QUESTION, HITS)
            assert answerer.spent.tokens > 0
            return answer.text, answerer.usd(answerer.spent)
        finally:
            await answerer.close()

    with OpenAICompatibleServer([ServedReply(KNOWN)]) as server:
        assert asyncio.run(asked(server.base_url)) == ("42 bar [1]", None)


@pytest.mark.parametrize("name", ["scripted", "scripted:{}", "openai:no-such-model", "nobody:gpt-5-mini", "", ":", "openai:"])
def test_a_price_that_nobody_knows_is_none(name: str) -> None:
    assert usd_of(name, Usage(10, 10, 1)) is None
