"""One memory that has everything: the reference for all other arms."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b

from hive_mind.evals.arms.base import ArmResult, Means, Progress
from hive_mind.evals.arms.costs import Learning, outcome_of, prepare
from hive_mind.evals.arms.keeping import keep
from hive_mind.evals.arms.methods import Search
from hive_mind.evals.datasets import LabelledQuestion, Scope
from hive_mind.evals.experiments.values import Cell
from hive_mind.evals.rows import Learned
from hive_mind.memory.base import Memory
from hive_mind.runtime.members.nodes import Borrowed
from hive_mind.runtime.wiring import memory_with


class MemoryArm:
    """A memory that has learned a scope, asked in one way."""

    def __init__(self, memory: Memory, search: Search, documents: Mapping[str, Sequence[str]], learned: Learned) -> None:
        self._memory, self._search = memory, search
        self.documents, self.learned = documents, learned

    async def ask(self, question: LabelledQuestion, limit: int) -> ArmResult:
        return await outcome_of(lambda: self._search(self._memory, question.text, limit))

    async def close(self) -> None:
        await self._memory.close()


async def open_arm(cell: Cell, scope: Scope, means: Means, search: Search) -> MemoryArm:
    """A memory of its own in RAM; with `means.keep`, over a database there, which may know the scope from an earlier run."""
    if means.keep is None:
        await prepare(scope, means.settings, means.embedder)
    learning = Learning()
    settings = replace(means.settings, home=means.keep) if means.keep else replace(means.settings, store="memory")
    memory = memory_with(settings, _name_for(scope, means.embedder.model), Borrowed(means.embedder), cell.retrieval.ranking)
    arm = await learned_by(memory, scope, search, means.progress, learning)
    if means.keep:
        # Documents learned by an earlier run are not learned again, so that nothing was measured.
        arm.learned = Learned(len(arm.documents))
    return arm


async def learned_by(
    memory: Memory, scope: Scope, search: Search, progress: Progress | None = None, learning: Learning | None = None
) -> MemoryArm:
    """Let this memory learn the scope; the arm closes it."""
    learning = learning or Learning()
    try:
        documents = await keep(memory, scope, progress)
    except BaseException:
        await memory.close()
        raise
    return MemoryArm(memory, search, documents, learning.done().of(len(documents), 1, None))


def _name_for(scope: Scope, model: str) -> str:
    """A name that is another one for other documents or another model, so that a kept database never mixes two."""
    digest = blake2b(model.encode(), digest_size=6)
    for document in scope.documents:
        kept = (document.id, document.text, document.speaker, document.said_at, document.before, "")
        digest.update("\0".join(kept).encode("utf-8", "replace"))
    # A scope may be called what no agent may be called.
    name = re.sub(r"[^A-Za-z0-9._-]", "-", scope.name[:20])
    return f"eval-{name}-{digest.hexdigest()}"
