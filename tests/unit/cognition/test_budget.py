import asyncio

import pytest

from hive_mind.cognition.budget import Budget, estimated_input_tokens, used_by
from hive_mind.errors import BackendThrottled, BackendTimeout, BackendUnreachable, BudgetExceeded
from hive_mind.llm.base import Completion, Prompt, Usage

PROMPT = Prompt("x" * 30, "x" * 30, max_output_tokens=79)
MOST = estimated_input_tokens(PROMPT) + 79


def spend(budget: Budget, used: Usage | None = None, error: Exception | None = None) -> None:
    async def call() -> None:
        async with budget.spending(PROMPT) as spending:
            if error is not None:
                raise error
            spending.used = used or Usage(10, 5, 1)

    asyncio.run(call())


def test_what_was_used_is_counted_and_the_rest_given_back():
    budget = Budget(1000)

    spend(budget, Usage(10, 5, 1))
    spend(budget, Usage(20, 5, 1))

    assert budget.spent == Usage(30, 10, 2)
    assert budget.remaining == 960
    assert repr(budget) == "Budget(40 of 1000 tokens spent in 2 calls)"


def test_a_call_that_could_cost_too_much_is_never_made_and_one_that_just_fits_is():
    budget = Budget(MOST - 1)

    with pytest.raises(BudgetExceeded, match="raise the budget"):
        spend(budget)
    assert budget.spent.calls == 0
    spend(Budget(MOST))


async def test_calls_side_by_side_cannot_overspend_together():
    budget = Budget(2 * MOST - 1)

    with pytest.raises(BudgetExceeded):
        async with budget.spending(PROMPT), budget.spending(PROMPT):
            pass
    assert budget.remaining == budget.max_tokens - budget.spent.tokens


def test_a_refused_call_costs_nothing_and_a_lost_one_its_input():
    refused, unsent, lost = Budget(1000), Budget(1000), Budget(1000)

    with pytest.raises(BackendThrottled):
        spend(refused, error=BackendThrottled("test", "wait"))
    with pytest.raises(BackendUnreachable):
        spend(unsent, error=BackendUnreachable("test", "away"))
    with pytest.raises(BackendTimeout):
        spend(lost, error=BackendTimeout("test", "slow"))

    assert refused.spent == unsent.spent == Usage(0, 0, 1)
    assert lost.spent == Usage(estimated_input_tokens(PROMPT), 0, 1)


def test_a_provider_that_does_not_count_is_counted_for():
    assert used_by(PROMPT, Completion("x" * 300, Usage(0, 0, 1))).tokens > 100
    assert used_by(PROMPT, Completion("x" * 300, Usage(3, 4, 1))) == Usage(3, 4, 1)


def test_a_budget_below_zero_is_a_mistake():
    with pytest.raises(ValueError, match="0 or more"):
        Budget(-1)
