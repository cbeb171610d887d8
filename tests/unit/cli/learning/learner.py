"""A learner over an agent of this process, as a test made it."""

from typing import Any

import msgspec

from hive_mind.agents.agent import LearningAgent
from hive_mind.api.request import Progress
from hive_mind.cli.learning.pieces import Learner
from hive_mind.runtime.calls import AgentCalls


class AgentHere:
    """Answers requests like one whose memory a command opened."""

    fleet = ""

    def __init__(self, agent: LearningAgent) -> None:
        self.name, self._calls = agent.name, AgentCalls(agent, None, is_kept=True)

    async def call(self, request: str, progress: Progress | None = None, /, **fields: object) -> Any:
        return msgspec.to_builtins(await self._calls.answer(request, progress and (lambda _, says: progress(**says)), **fields))


def learner_over(agent: LearningAgent) -> Learner:
    return Learner(AgentHere(agent))
