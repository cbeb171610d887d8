"""What one process of a hive sends: counted by its bus, weighed at once while agents learn and afterwards for questions.

To encode a message costs more than to send it, and would be measured as a question's time. What members tell one another by the
clock belongs to no fact and is left out (`weighing`).
"""

from collections.abc import Mapping
from typing import Protocol

from hive_mind.bus.base import Traffic, type_of
from hive_mind.evals.arms.weighing import is_caused, is_of_question, weight_of
from hive_mind.model.messages import Message


class Counts(Protocol):
    """What of a bus is asked."""

    @property
    def traffic(self) -> Mapping[str, Traffic]:
        """What was published so far, by type."""
        ...


class MemberTraffic:
    """`weigh` is what the bus measures with; then give it that `bus`. A question's message goes to one node."""

    def __init__(self) -> None:
        self.bus: Counts | None = None
        self._questions: list[Message] = []
        self._types: set[str] = set()

    def weigh(self, message: Message) -> int:
        """The bytes of a message; of one that is weighed later, none yet."""
        if is_of_question(message):
            self._questions.append(message)
            return 0
        if not is_caused(message):
            return 0
        self._types.add(type_of(message))
        return weight_of(message)

    def learning(self) -> tuple[int, int]:
        """Messages and bytes since the beginning, one to two nodes being two."""
        sent = self.bus.traffic if self.bus else {}
        return sum(sent[kind].messages for kind in self._types), sum(sent[kind].bytes for kind in self._types)

    def asking(self) -> tuple[int, int]:
        """Messages and bytes of questions since the last time."""
        sent, self._questions = self._questions, []
        return len(sent), sum(weight_of(message) for message in sent)
