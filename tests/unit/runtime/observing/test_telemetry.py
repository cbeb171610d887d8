import subprocess
import sys

import pytest

from hive_mind.errors import InvalidInput
from hive_mind.runtime.telemetry import send_spans


def test_spans_go_to_stderr_and_the_last_ones_are_not_lost() -> None:
    program = (
        "from hive_mind import tracing\n"
        "from hive_mind.runtime.telemetry import send_spans\n"
        "stop = send_spans('console', 'agent-1')\n"
        "with tracing.span('search_memory', {'hive.found': 3}): pass\n"
        "stop()"
    )

    # A provider is set once per process, so this needs one of its own.
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=100)

    assert '"name": "search_memory"' in done.stderr
    assert '"service.name": "agent-1"' in done.stderr


def test_an_endpoint_that_is_none_is_told() -> None:
    with pytest.raises(InvalidInput, match="OTLP collector"):
        send_spans("collector:4317", "agent-1")
