"""References to variables, files and credentials: what they stand for, and what is said of those that stand for nothing."""

import asyncio
import io
import logging
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.credentials import Secret, new_key
from hive_mind.credentials.redaction import Redaction
from hive_mind.errors import BackendUnavailable, CredentialUnreadable, InvalidInput
from hive_mind.runtime.buses import purge, reach
from hive_mind.runtime.logs import JsonLines
from hive_mind.runtime.secrets import (
    FILE_BYTES_MAX,
    RedactedLines,
    Reference,
    credentials_in,
    credentials_of,
    redact_error,
    redacted_status,
    redaction_of,
    references_in,
    resolved,
    resolved_here,
)
from hive_mind.runtime.workers import AgentStatus, NodeStatus, WorkerStatus
from hive_mind.runtime.workers.config import BusConfig, ModelsConfig, WorkerConfig
from tests.unit.runtime.worker_builders import config, play, running
from tests.waiting import until


def of(text: str) -> str:
    return resolved(
        text,
        read_env={"KEY": "s3cret", "EMPTY": "", "LOOP": "${env:KEY}"}.get,
        read_file=lambda path: f"text of {path}\n",
        read_credential={"tickets": Secret("tickets", "${env:KEY}\n")}.get,
    )


@pytest.mark.parametrize(
    ("text", "stands_for"),
    [
        ("a ${env:KEY} b ${file:notes/x.md} $c {d}", "a s3cret b text of notes/x.md $c {d}"),
        ("a ${credential:tickets} b", "a ${env:KEY}\n b"),
        ("${env:LOOP}", "${env:KEY}"),
        ("$${env:KEY}", "${env:KEY}"),
    ],
    ids=["all else stays", "a credential to its last character", "not looked at again", "two dollars"],
)
def test_a_reference_is_replaced_once(text: str, stands_for: str) -> None:
    assert of(text) == stands_for


def test_references_are_listed_in_their_order_and_credentials_told_from_others() -> None:
    assert references_in("${file:a b.txt}$${env:A}${env:KEY}") == (Reference("file", "a b.txt"), Reference("env", "KEY"))
    assert credentials_in("${env:A}${credential:b}$${credential:c}${credential:d}") == ("b", "d")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("${env:MISSING} ${env:KEY}", "MISSING"),
        ("${env:EMPTY} ${env:KEY}", "EMPTY"),
        (
            "${credential:tickets} ${credential:other}",
            r"\$\{credential:other\} is not set: hive-mind credentials set other",
        ),
    ],
)
def test_what_is_not_set_is_named_a_credential_with_the_command_that_sets_it(text: str, why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        of(text)


@pytest.mark.parametrize(
    "text",
    [
        *("${", "${}", "${KEY}", "${env:}", "${env: KEY}", "${env:A-B}", "${vault:KEY}", "${env:KEY"),
        *("${file:}", "${env:{x}}", "${credential:}", "${credential:A}", "${credential:a_b}"),
        *("${credential:../x}", "${credential:a"),
    ],
)
def test_what_begins_like_a_reference_and_is_none_is_told(text: str) -> None:
    for look in (of, references_in):
        with pytest.raises(InvalidInput, match="is not a reference"):
            look(text)


@given(st.text().filter(lambda text: "${" not in text))
def test_text_without_references_stays_as_it_is(text: str) -> None:
    assert of(text) == text
    assert references_in(text) == ()


def test_files_are_seen_from_a_folder_and_lose_their_last_line_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "key").write_text("abc\n")
    monkeypatch.setenv("SOME_KEY", "xyz")
    assert resolved_here("${file:key}-${env:SOME_KEY}", tmp_path) == "abc-xyz"


def test_a_file_that_is_missing_too_large_or_no_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"x" * (FILE_BYTES_MAX + 1))
    (tmp_path / "binary").write_bytes(b"\xff\xfe\xfa")
    for name, why in (("none", "No such file"), ("large", "larger than"), ("binary", "not text")):
        with pytest.raises(InvalidInput, match=rf"{name}.* {why}"):
            resolved_here(f"${{file:{name}}}", tmp_path)


def test_credentials_are_those_of_a_home_and_without_one_of_the_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    credentials_of(tmp_path / "here").set("tickets", "sw0rdfish-7")
    credentials_of(tmp_path / "there").set("tickets", "another-1")
    monkeypatch.setenv("HIVE_MIND_HOME", str(tmp_path / "here"))
    assert resolved_here("<${credential:tickets}>") == "<sw0rdfish-7>"
    assert resolved_here("<${credential:tickets}>", home=tmp_path / "there") == "<another-1>"


def test_where_nothing_refers_to_a_credential_none_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIVE_MIND_CREDENTIALS_KEY_IN", "a drawer")
    assert resolved_here("plain", home=tmp_path) == "plain"
    assert redaction_of(config(tmp_path)).text(VALUE) == VALUE
    with pytest.raises(InvalidInput, match="is file or keyring, not 'a drawer'"):
        resolved_here("${credential:tickets}", home=tmp_path)


def test_a_bus_is_reached_with_the_credentials_of_its_home(tmp_path: Path) -> None:
    bus = BusConfig("memory:", credential="${credential:bus}")

    for work in (lambda: reach(bus, tmp_path), lambda: purge(bus, ["town"], tmp_path)):
        with pytest.raises(InvalidInput, match="credentials set bus"):
            asyncio.run(work())
    credentials_of(tmp_path).set("bus", "sw0rdfish-7")

    asyncio.run(reach(bus, tmp_path))
    assert asyncio.run(purge(bus, ["town"], tmp_path)) == []


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


def test_a_wrong_key_ends_a_worker_with_what_to_do_and_no_value_is_guessed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def opened() -> None:
        async with running(with_reference(tmp_path)):
            pass

    credentials_of(tmp_path).set("tickets", VALUE)
    monkeypatch.setenv("HIVE_MIND_CREDENTIALS_KEY", new_key())
    with pytest.raises(CredentialUnreadable, match="HIVE_MIND_CREDENTIALS_KEY does not open"):
        resolved_here("${credential:tickets}", home=tmp_path)
    with pytest.raises(CredentialUnreadable, match="restore the key"):
        play(opened())
