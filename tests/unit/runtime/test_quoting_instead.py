"""A model that was late is let alone for a while, so that questions do not queue behind it."""

from hive_mind.cognition.budget import Budget
from hive_mind.cognition.prompted import PromptedReader, PromptedSettings, QuotingInstead
from hive_mind.errors import BackendTimeout, BackendUnavailable
from hive_mind.llm.scripted import ScriptedModel
from hive_mind.model.gathered import Answer, Question
from hive_mind.model.query import ComponentScores, Hit
from hive_mind.retry import RetrySettings
from tests.builders import fact

SCORES = ComponentScores(keyword=1.0, semantic=0.0, exact=0.0, confirmations=0.0, trust=0.5)
HIT = Hit(fact("The ferry leaves at nine."), 1.0, SCORES)
REASONED = '{"known": true, "answer": "At nine.", "citations": [1]}'


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


async def answer(reader: QuotingInstead) -> Answer:
    return await reader.synthesise(Question("When does the ferry leave?"), [HIT])


def quoting(*script: str | Exception) -> tuple[QuotingInstead, ScriptedModel, Clock]:
    model, clock = ScriptedModel(script), Clock()
    return QuotingInstead(PromptedReader(model, Budget(100_000)), clock_s=clock), model, clock


async def test_after_a_late_reply_questions_are_quoted_at_once_and_one_finds_out_when_it_is_back() -> None:
    late = BackendTimeout("model", "late")
    reader, model, clock = quoting(late, late, REASONED, REASONED)
    assert [(await answer(reader)).method for _ in range(3)] == ["quoted"] * 3
    assert len(model.prompts) == 1

    clock.now_s += 31
    assert [(await answer(reader)).method for _ in range(3)] == ["quoted"] * 3
    assert len(model.prompts) == 2

    clock.now_s += 31
    assert [(await answer(reader)).method for _ in range(2)] == ["reasoned"] * 2

    # While one finds out, the others do not wait for it.
    reader, _, clock = quoting(late, REASONED)
    await answer(reader)
    clock.now_s += 31
    assert [reader._skip_while_late() for _ in range(2)] == [False, True]


async def test_other_trouble_is_no_reason_to_let_it_alone() -> None:
    once = PromptedSettings(retry=RetrySettings(attempts_max=1))
    model = ScriptedModel([BackendUnavailable("model", "away"), REASONED])
    reader = QuotingInstead(PromptedReader(model, Budget(100_000), once))
    assert [(await answer(reader)).method for _ in range(2)] == ["quoted", "reasoned"]
