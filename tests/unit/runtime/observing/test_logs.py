import io
import json
import logging
from collections.abc import Iterator

import pytest

from hive_mind.runtime.logs import log_as_json


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

    said = json.loads(stream.getvalue())
    assert said["error"].endswith("KeyError: 'gone'")
