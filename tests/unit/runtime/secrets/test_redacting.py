"""What a worker says, logs and fails with holds no value of a credential that its configuration refers to."""

import io
import logging
from pathlib import Path

import msgspec
import pytest

from hive_mind.credentials.base import Secret, new_key
from hive_mind.credentials.redaction import Redaction
from hive_mind.errors import BackendUnavailable, CredentialUnreadable
from hive_mind.runtime.logs import JsonLines
from hive_mind.runtime.secrets.redacting import RedactedLines, redact_error, redacted_status, redaction_of
from hive_mind.runtime.secrets.references import credentials_of
from hive_mind.runtime.workers.config import BusConfig, ModelsConfig, WorkerConfig
from hive_mind.runtime.workers.status import AgentStatus, NodeStatus, WorkerStatus
from tests.unit.runtime.worker_builders import config, play, running
from tests.waiting import until

VALUE = 'sw0rd"fish/7'
HIDDEN = Redaction([Secret("tickets", VALUE)])


def with_reference(home: Path) -> WorkerConfig:
    return msgspec.structs.replace(config(home), env={"KEY": "<${credential:tickets}>"})


def test_all_credentials_of_a_configuration_are_taken_out(tmp_path: Path) -> None:
    for name in ("tickets", "model", "bus", "other"):
        credentials_of(tmp_path).set(name, f"value of {name}")
    models, bus = ModelsConfig(llm_key="${credential:model}"), BusConfig(credential="k=${credential:bus}")
    given = msgspec.structs.replace(with_reference(tmp_path), models=models, bus=bus)

    said = redaction_of(given).text("value of tickets, value of model, value of bus, value of other")
    assert said == "${credential:tickets}, ${credential:model}, ${credential:bus}, value of other"


def test_without_credentials_none_is_read_and_nothing_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIVE_MIND_CREDENTIALS_KEY_IN", "a drawer")
    assert redaction_of(config(tmp_path)).text(VALUE) == VALUE


def test_a_status_says_what_is_wrong_without_values() -> None:
    nodes = (NodeStatus("town", error=f"no {VALUE}", findings=(f"saw {VALUE}",)),)
    agents = (AgentStatus("ada", error=f"at {VALUE}"),)
    status = WorkerStatus("town", 1, "c", "h", "failed", 0, nodes, agents, error=f"of {VALUE}", notices=(f"by {VALUE}",))

    told = msgspec.to_builtins(redacted_status(status, HIDDEN))

    assert VALUE not in str(told)
    found = (
        told["error"],
        told["notices"][0],
        told["nodes"][0]["error"],
        told["nodes"][0]["findings"][0],
        told["agents"][0]["error"],
    )
    assert found == tuple(f"{word} ${{credential:tickets}}" for word in ("of", "by", "no", "saw", "at"))


@pytest.mark.parametrize("inner", [logging.Formatter("%(levelname)s %(message)s"), JsonLines()])
def test_a_log_holds_none_also_in_stack_traces(inner: logging.Formatter) -> None:
    handler = logging.StreamHandler(out := io.StringIO())
    handler.setFormatter(RedactedLines(inner, HIDDEN))
    log = logging.Logger("of a test")
    log.addHandler(handler)
    try:
        raise ValueError(f"refused: {VALUE}")
    except ValueError:
        log.exception("%s failed", VALUE)

    assert VALUE not in out.getvalue()
    assert "fish" not in out.getvalue()
    assert out.getvalue().count("${credential:tickets}") >= 2


def test_an_error_on_its_way_says_the_same_without_values() -> None:
    error = BackendUnavailable("bus", f"refused {VALUE}")
    redact_error(error, HIDDEN)
    assert str(error) == "bus: refused ${credential:tickets}"


async def test_a_worker_tells_what_can_not_be_opened_without_values(tmp_path: Path) -> None:
    credentials_of(tmp_path).set("tickets", "nowhere-at-all")
    url = "redis://127.0.0.1:1/${credential:tickets}"
    given = msgspec.structs.replace(with_reference(tmp_path), bus=BusConfig(url))

    async with running(given) as worker:
        await until(lambda: "127.0.0.1:1" in worker.status().error)
        assert "nowhere-at-all" not in str(worker.status())
        assert "${credential:tickets}" in worker.status().error


async def opened(given: WorkerConfig) -> None:
    async with running(given):
        pass


def test_a_wrong_key_ends_a_worker_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    credentials_of(tmp_path).set("tickets", VALUE)
    monkeypatch.setenv("HIVE_MIND_CREDENTIALS_KEY", new_key())
    with pytest.raises(CredentialUnreadable, match="restore the key"):
        play(opened(with_reference(tmp_path)))
