"""The token budget: what a language model may cost, checked before anything is sent.

A call reserves the most it can cost and settles what it did cost, so calls that run side by side can't overspend together.

The price of a language model's tokens, as the providers publish it; nothing where no price is known.

The prices come with the extra `llm` (genai-prices) and are those of the installed version: nothing is looked up over the network.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import Random

from hive_mind.errors import BackendRejected, BackendThrottled, BackendUnreachable, BudgetExceeded
from hive_mind.llm.base import Completion, LanguageModel, Prompt, Usage
from hive_mind.model.content import BYTES_PER_TOKEN
from hive_mind.retry import RetrySettings, Sleep, retried


@dataclass(slots=True)
class Spending:
    """One call under way; `used` is what will be counted for it."""

    used: Usage


class Budget:
    """At most `max_tokens`, input and output together. `spent` and `reserved` show where it stands."""

    def __init__(self, max_tokens: int) -> None:
        if max_tokens < 0:
            raise ValueError("max_tokens must be 0 or more; 0 sends nothing")
        self.max_tokens = max_tokens
        self._spent = Usage()
        self._reserved = 0

    @property
    def spent(self) -> Usage:
        """Everything that was used so far, calls included."""
        return self._spent

    @property
    def remaining(self) -> int:
        """Tokens that are neither spent nor reserved, never below 0."""
        return max(0, self.max_tokens - self._spent.tokens - self._reserved)

    @asynccontextmanager
    async def spending(self, prompt: Prompt) -> AsyncIterator[Spending]:
        """Around one call: set aside the most it can cost, then count what it did cost.

        Raises `BudgetExceeded` before anything is sent when it does not fit. A call that ends without telling its cost (a
        timeout, a cancellation) may be billed all the same, so its input is counted; one that was refused, or not sent, costs
        nothing.
        """
        tokens = estimated_input_tokens(prompt) + prompt.max_output_tokens
        if tokens > self.remaining:
            raise BudgetExceeded(
                f"the token budget is spent: {self._spent.tokens} of {self.max_tokens} used and {self._reserved} reserved, "
                f"the next call may need {tokens}; raise the budget to go on"
            )
        self._reserved += tokens
        reserved = tokens
        call = Spending(Usage(estimated_input_tokens(prompt), 0, 1))
        try:
            yield call
        except (BackendThrottled, BackendRejected, BackendUnreachable):
            call.used = Usage(calls=1)
            raise
        finally:
            self._reserved -= reserved
            self._spent += call.used

    def __repr__(self) -> str:
        return f"Budget({self._spent.tokens} of {self.max_tokens} tokens spent in {self._spent.calls} calls)"


async def reply_of(
    model: LanguageModel,
    prompt: Prompt,
    budget: Budget,
    retry: RetrySettings,
    *,
    rng: Random,
    sleep: Sleep = asyncio.sleep,
    turn: Callable[[], Awaitable[None]] | None = None,
    spent: list[Spending] | None = None,
) -> str:
    """A model's reply, asked again while trouble may pass. `turn` is awaited before every call, whose cost goes to `spent`.

    Raises `BudgetExceeded` before a call that does not fit, and `BackendError`.
    """

    async def attempt() -> str:
        if turn:
            await turn()
        async with budget.spending(prompt) as call:
            if spent is not None:
                spent.append(call)
            completion = await model.complete(prompt)
            call.used = used_by(prompt, completion)
        return completion.text

    return await retried(attempt, retry, rng=rng, sleep=sleep)


def estimated_input_tokens(prompt: Prompt) -> int:
    """Tokens a prompt has at most, guessed from its length: no tokenizer is loaded for this."""
    length = len(prompt.instructions.encode("utf-8", "replace")) + len(prompt.text.encode("utf-8", "replace"))
    return length // BYTES_PER_TOKEN + 1


def used_by(prompt: Prompt, completion: Completion) -> Usage:
    """The usage of a call: as the provider counts, or estimated where it does not count."""
    if completion.usage.tokens:
        return completion.usage
    return Usage(estimated_input_tokens(prompt), len(completion.text.encode("utf-8", "replace")) // BYTES_PER_TOKEN + 1, 1)


def usd_of(model: str, usage: Usage) -> float | None:
    """US dollars for these tokens of a model named "provider:model", as if nothing was cached; None where no price is known."""
    provider, colon, name = model.partition(":")
    if not (provider and colon and name):
        return None
    try:
        import genai_prices
    except ImportError:
        return None
    tokens = genai_prices.Usage(input_tokens=usage.input_tokens, output_tokens=usage.output_tokens)
    try:
        return float(genai_prices.calc_price(tokens, name, provider_id=provider).total_price)
    except LookupError:
        return None
