"""Counts what is published, by type of message."""

from collections.abc import Mapping

from hive_mind.bus.base import Envelope, Measure, Traffic


class Meter:
    """Counts nothing without a measure."""

    def __init__(self, measure: Measure | None) -> None:
        self._measure = measure
        self._traffic: dict[str, Traffic] = {}

    @property
    def is_on(self) -> bool:
        return self._measure is not None

    @property
    def traffic(self) -> Mapping[str, Traffic]:
        return dict(self._traffic)

    def count(self, envelope: Envelope, copies: int) -> None:
        """Count the copies of an envelope that were sent."""
        if self._measure is None:
            return
        former = self._traffic.get(envelope.type, Traffic(0, 0))
        size = former.bytes + copies * self._measure(envelope.message)
        self._traffic[envelope.type] = Traffic(former.messages + copies, size)
