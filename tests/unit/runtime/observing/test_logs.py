import io
import json
import logging
import subprocess
import sys
from collections.abc import Iterator

import pytest

from hive_mind.errors import InvalidInput
from hive_mind.runtime.logs import log_as_json, send_spans


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    written, logger = io.StringIO(), logging.getLogger("hive_mind")
    level, propagates = logger.level, logger.propagate
    handler = log_as_json(logging.INFO, written)
    yield written
    logger.removeHandler(handler)
    logger.setLevel(level)
    logger.propagate = propagates


def test_a_record_is_one_line_of_json_with_what_it_is_about(stream: io.StringIO) -> None:
    log = logging.getLogger("hive_mind.runtime")
    log.warning("node %s\nasks", "n1", extra={"node": "n1", "correlation": "q7", "found": 3, "where": {1}})

    (line,) = stream.getvalue().splitlines()
    said = json.loads(line)
    assert said["message"] == "node n1\nasks"
    assert (said["level"], said["logger"]) == ("warning", "hive_mind.runtime")
    assert (said["node"], said["correlation"], said["found"], said["where"]) == ("n1", "q7", 3, "{1}")
    assert said["time"].endswith("+00:00")


def test_an_error_brings_its_traceback(stream: io.StringIO) -> None:
    try:
        raise KeyError("gone")
    except KeyError:
        logging.getLogger("hive_mind").exception("failed")

    assert json.loads(stream.getvalue())["error"].endswith("KeyError: 'gone'")


def test_spans_go_to_stderr_and_the_last_ones_are_not_lost() -> None:
    program = (
        "from hive_mind import tracing\n"
        "from hive_mind.runtime.logs import send_spans\n"
        "stop = send_spans('console', 'agent-1', '1.2')\n"
        "with tracing.span('search_memory', {'hive.found': 3}): pass\n"
        "stop()"
    )

    # A provider is set once per process, so this needs one of its own.
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=100)

    assert '"name": "search_memory"' in done.stderr
    assert '"service.name": "agent-1"' in done.stderr


def test_an_endpoint_that_is_none_is_told() -> None:
    with pytest.raises(InvalidInput, match="OTLP collector"):
        send_spans("collector:4317", "agent-1", "1.2")
