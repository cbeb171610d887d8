"""How much may lie in a queue together with its dead letters, which come out of the same room."""

from dataclasses import dataclass

from hive_mind.devbroker.servicebus.errors import quota_reached


@dataclass(slots=True)
class Quota:
    """Counted in messages and in bytes."""

    messages_max: int
    bytes_max: int
    messages: int = 0
    bytes: int = 0

    def check(self, messages: int, size: int) -> None:
        """Raises `AmqpError` when so many more messages of this size together do not fit."""
        if self.messages + messages > self.messages_max:
            raise quota_reached(f"{self.messages} messages are kept, of at most {self.messages_max}")
        if self.bytes + size > self.bytes_max:
            raise quota_reached(f"{self.bytes} bytes are kept, of at most {self.bytes_max}")

    def take(self, size: int) -> None:
        """One message more; whoever sends checks before."""
        self.messages += 1
        self.bytes += size

    def give_back(self, size: int) -> None:
        """A message is gone."""
        self.messages -= 1
        self.bytes -= size
