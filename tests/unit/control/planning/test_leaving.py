"""Who hears whom while a fleet changes process by process."""

import msgspec
import pytest

from hive_mind.control.applying import hear_each_other
from hive_mind.control.platforms import Running
from hive_mind.runtime.workers.config import BusConfig, HiveConfig, IdentityConfig, WorkerConfig

CONFIG = WorkerConfig("town", "ada", "/home", "/run", HiveConfig("town"), (), (), identity=IdentityConfig("require", "/keys"))


@pytest.mark.parametrize(
    ("changed", "do_hear"),
    [
        ({"identity": IdentityConfig("warn", "/keys")}, True),
        ({"identity": IdentityConfig("require", "/keys", encryption=True)}, False),
        ({"bus": BusConfig("redis://127.0.0.1:7000")}, False),
        ({"hive": HiveConfig("town.g2")}, False),
    ],
)
def test_processes_of_two_configurations_hear_each_other_where_both_read_what_the_other_sends(
    changed: dict[str, object], *, do_hear: bool
) -> None:
    other = msgspec.structs.replace(CONFIG, **changed)
    assert hear_each_other(Running("ada", config=CONFIG), other) is do_hear
    assert hear_each_other(Running("ada", config=other), CONFIG) is do_hear
    assert not hear_each_other(None, other)
