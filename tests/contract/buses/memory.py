"""The bus within a process: no broker, so nothing to harm."""

from hive_mind.bus.address import BusAddress, address_of
from tests.contract.buses.base import BaseHarness


class Harness(BaseHarness):
    def address(self) -> BusAddress:
        return address_of("memory")
