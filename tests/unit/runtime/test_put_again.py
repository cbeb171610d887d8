"""Requests that are put again under their key."""

import asyncio

import pytest

from hive_mind.errors import BackendTimeout, InvalidInput
from hive_mind.memory.opening import RequestsDone
from hive_mind.runtime.inquiry import PutAgain

OLD, NEW = "The gateway listens on port 8443.", "The gateway listens on port 9443."


class Work:
    """Counts how often it was done; fails the first time where it is told to, and goes on when it may."""

    def __init__(self, *, fails: bool = False) -> None:
        self.times, self._fails, self.may_go_on = 0, fails, asyncio.Event()

    async def __call__(self) -> int:
        self.times += 1
        await self.may_go_on.wait()
        if self._fails and self.times == 1:
            raise BackendTimeout("model", "no answer")
        return self.times


async def test_while_it_is_under_way_and_afterwards_the_same_answer_is_given() -> None:
    asked, work = PutAgain(), Work()
    first, second = (asyncio.ensure_future(asked.once("k", "request", work)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    work.may_go_on.set()
    assert (await second, await asked.once("k", "request", work), work.times) == (1, 1, 1)
    assert await asked.once("", "request", work) == 2


async def test_what_failed_is_done_again_and_a_key_is_for_one_request_and_not_too_long() -> None:
    asked, work = PutAgain(), Work(fails=True)
    work.may_go_on.set()
    with pytest.raises(BackendTimeout):
        await asked.once("k", "request", work)
    assert await asked.once("k", "request", work) == 2
    with pytest.raises(InvalidInput, match="another request was put under this key"):
        await asked.once("k", "other", work)
    with pytest.raises(InvalidInput, match="201 characters, at most 200"):
        await asked.once("k" * 201, "request", work)


def test_of_very_many_keys_the_latest_are_known() -> None:
    kept: dict[str, str] = {}
    done = RequestsDone({})
    for number in range(5000):
        kept |= {change.key: change.value for change in done.note(f"k{number}", f"f{number}")}
        done.remember(f"k{number}", f"f{number}")

    for known in (done, RequestsDone(kept)):
        assert [known.fact_id(f"k{number}") for number in (0, 903, 904, 4999)] == ["", "", "f904", "f4999"]
    assert len(kept) == 4096
    (following,) = RequestsDone(kept).note("next", "f")
    assert following.value.startswith("5001 ")
