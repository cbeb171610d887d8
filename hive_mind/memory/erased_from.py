"""Erasing from a memory in use: facts stored meanwhile are judged by the new rule already."""

from collections.abc import Sequence

from hive_mind.memory.cognitive import CognitiveMemory
from hive_mind.memory.erasing import ErasureScope, erase, found_in
from hive_mind.memory.opening import Awake
from hive_mind.model.erasure import Erasure, Erasures
from hive_mind.remembered import forget_texts


async def lacking(memory: CognitiveMemory, erasures: Sequence[Erasure]) -> Sequence[Erasure]:
    """Those that were not erased from it yet."""
    async with memory.awake() as awake:
        return [erasure for erasure in erasures if erasure not in awake.erasures]


async def would_erase(memory: CognitiveMemory, erasures: Sequence[Erasure], *, everything: bool = False) -> ErasureScope:
    """The items `erase_from` would take; nothing is changed."""
    async with memory.awake() as awake:
        return await found_in(awake.store, Erasures(erasures), everything=everything)


async def erase_from(memory: CognitiveMemory, wanted: Sequence[Erasure], at_us: int, *, everything: bool = False) -> ErasureScope:
    """Let go of what is meant for good, and refuse it from now on. No byte of it is left in the file when this returns."""

    async def work(awake: Awake) -> ErasureScope:
        for erasure in wanted:
            awake.erasures.add(erasure)
        scope = await erase(awake.store, wanted, at_us, everything=everything)
        # Nothing is put aside of what is in RAM: it still has what was erased.
        awake.recall.tokenized = 0
        forget_texts()
        return scope

    return await memory.overhaul(work)
