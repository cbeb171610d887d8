"""One token budget for all processes of a run, whatever becomes of them."""

import asyncio
from pathlib import Path

import pytest

from hive_mind.cognition.budget import estimated_input_tokens
from hive_mind.errors import BackendRejected, BudgetExceeded
from hive_mind.evals.answering import RunBudget, since
from hive_mind.llm.base import Prompt, Usage

ASKED = Prompt("Answer.", "Who moors the ferry?", 100)
MOST = estimated_input_tokens(ASKED) + 100


def call(budget: RunBudget, used: Usage | None = None, error: Exception | None = None) -> None:
    async def calling() -> None:
        async with budget.spending(ASKED) as spending:
            if error:
                raise error
            spending.used = used or Usage(30, 20, 1)

    asyncio.run(calling())


def test_what_one_spends_the_others_lack_and_one_that_goes_on_too(tmp_path: Path):
    file = tmp_path / "run" / "tokens.txt"
    here, there = RunBudget(2 * MOST, file), RunBudget(2 * MOST, file)

    call(here, Usage(MOST - 20, 20, 1))
    call(there, Usage(1, 0, 1))
    with pytest.raises(BudgetExceeded, match=f"{MOST + 1} of {2 * MOST} used.*raise HIVE_MIND_TOKEN_BUDGET"):
        call(here)
    with pytest.raises(BudgetExceeded):
        call(RunBudget(2 * MOST, file))

    call(RunBudget(2 * MOST + 1, file))
    assert (here.spent, there.spent) == (Usage(MOST - 20, 20, 1), Usage(1, 0, 1))


async def test_calls_side_by_side_set_aside_what_they_may_cost(tmp_path: Path):
    file = tmp_path / "tokens.txt"

    async with RunBudget(2 * MOST - 1, file).spending(ASKED):
        with pytest.raises(BudgetExceeded):
            async with RunBudget(2 * MOST - 1, file).spending(ASKED):
                raise AssertionError


def test_a_call_that_was_refused_costs_nothing_and_one_that_failed_its_input(tmp_path: Path):
    file = tmp_path / "tokens.txt"

    with pytest.raises(BackendRejected):
        call(RunBudget(MOST, file), error=BackendRejected("llm", "no"))
    with pytest.raises(TimeoutError):
        call(RunBudget(MOST, file), error=TimeoutError())

    assert sum(map(int, file.read_text().split())) == estimated_input_tokens(ASKED)


def test_what_was_used_in_between_is_the_difference():
    assert since(Usage(1, 2, 3), Usage(10, 20, 30)) == Usage(9, 18, 27)
