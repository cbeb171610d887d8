"""Tokens and money of a row: of answer and judge together, whether or not anything came of it."""

import asyncio
import json

from hive_mind.cognition.budget import Budget
from hive_mind.evals.answering import ModelAnswerer, ModelJudge
from hive_mind.evals.arms import ArmResult
from hive_mind.evals.datasets import LabelledQuestion
from hive_mind.evals.experiments import Learned, Row
from hive_mind.evals.running.cell import Asking, put
from hive_mind.llm.base import Usage
from hive_mind.llm.scripted import ScriptedModel
from tests.unit.cognition.reading import hit

QUESTION = LabelledQuestion("q7", "At what pressure does pump D4 run?", {"d1": 1})
KNOWN = json.dumps({"known": True, "answer": "42 bar [1]", "citations": [1]})
GROUNDED = json.dumps({"unsupported": [], "grounded": True})


class Finds:
    """An arm that found one fact."""

    def __init__(self) -> None:
        self.learned = Learned()
        self.documents: dict[str, list[str]] = {}

    async def ask(self, question: LabelledQuestion, limit: int) -> ArmResult:  # noqa: ARG002 - whatever is asked
        return ArmResult((hit("Pump D4 runs at 42 bar."),))

    async def close(self) -> None:
        """Nothing is open."""


def priced(*replies: str) -> ScriptedModel:
    return ScriptedModel(replies, "openai:gpt-5-mini")


def asked(answerer: ModelAnswerer, judge: ModelJudge | None = None) -> Row:
    row, _ = asyncio.run(put(Asking(Finds(), "single", 10, {}, answerer=answerer, judge=judge), QUESTION, "q7"))
    return row


def test_a_judge_is_paid_as_well():
    answerer, judge = ModelAnswerer(priced(KNOWN), Budget(10**6)), ModelJudge(priced(GROUNDED), Budget(10**6))

    row = asked(answerer, judge)

    both = answerer.spent + judge.spent
    assert judge.spent.tokens > 0
    assert (row.tokens_in, row.tokens_out, row.metrics["grounded"]) == (both.input_tokens, both.output_tokens, 1.0)
    assert row.usd == (answerer.usd(answerer.spent) or 0) + (judge.usd(judge.spent) or 0) > 0


def test_an_answer_that_can_not_be_used_was_paid_for_and_its_row_says_why_there_is_none():
    answerer = ModelAnswerer(priced("nonsense", "nonsense"), Budget(10**6))

    row = asked(answerer)

    assert (row.tokens_in, row.tokens_out) == (answerer.spent.input_tokens, answerer.spent.output_tokens)
    assert row.tokens_in > 0
    assert row.usd is not None
    assert (row.answer, row.error) == ("", "")
    assert "replied twice with something that can't be used" in row.unanswered


def test_with_a_price_of_one_and_not_of_the_other_there_is_none():
    judge = ModelJudge(priced(GROUNDED), Budget(10**6), has_price=False)

    assert asked(ModelAnswerer(priced(KNOWN), Budget(10**6)), judge).usd is None


def test_where_nothing_is_left_to_spend_nothing_is_asked_and_nothing_paid():
    answerer = ModelAnswerer(priced(), Budget(0))

    row = asked(answerer)

    assert answerer.spent == Usage()
    assert (row.tokens_in, row.tokens_out, row.usd) == (0, 0, None)
    assert row.unanswered.startswith("the token budget is spent")
