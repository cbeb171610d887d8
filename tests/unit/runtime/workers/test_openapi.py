"""The OpenAPI document, and a client made of nothing but that."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import jsonschema
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

import hive_mind
from hive_mind.api.requests import REQUESTS
from hive_mind.runtime.worker_http import DOOR
from hive_mind.runtime.workers.openapi import document
from tests.sampled import thorough
from tests.unit.runtime.workers.test_health import KNOWN, Caller, calling

GATE = "The gate is blue."
TEXT = "The pump is red. The ferry leaves at nine."
WAYS: list[tuple[str, dict[str, Any]]] = [("", {"do": "stats"}), ("/stats", {})]


class Client:
    """Finds paths, bodies and replies in the document, and holds the worker to it."""

    def __init__(self, session: aiohttp.ClientSession, root: str, said: dict[str, Any]) -> None:
        self._session, self._root, self._said = session, root, said
        operations = ((path, method, one) for path, ways in said["paths"].items() for method, one in ways.items())
        self._operations = {one["operationId"]: (path, method, one) for path, method, one in operations if method != "parameters"}

    async def do(self, operation: str, code: int = 200, *, agent: str = "ada", **fields: object) -> Any:
        """The reply, which is as the document says."""
        path, method, one = self._operations[operation]
        if "requestBody" in one and code == 200:
            self._hold(fields, one["requestBody"])
        url = self._root + path.replace("{agent}", agent)
        async with self._session.request(method, url, headers=KNOWN, json=fields) as response:
            told = await response.json()
            assert response.status == code, told
        self._hold(told, one["responses"][str(code)])
        return told.get("ok", told)

    def _hold(self, value: object, to: dict[str, Any]) -> None:
        schema = to["content"]["application/json"]["schema"] | {"components": self._said["components"]}
        jsonschema.validate(value, schema, jsonschema.Draft202012Validator)


async def client_of(call: Caller) -> Client:
    status, said = await call.get("/v1/openapi.json", headers=KNOWN)
    assert status == 200
    return Client(call._session, f"http://127.0.0.1:{call.port}", said)


def schemas_in(part: Any) -> Iterator[dict[str, Any]]:
    for inner in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        yield from schemas_in(inner)
    if isinstance(part, dict) and "schema" in part:
        yield part["schema"]


# All paths of requests are made alike.
@pytest.mark.parametrize("every", [8, thorough(1)])
def test_the_document_is_valid_and_has_every_request(every: int) -> None:
    said = json.loads(json.dumps(document()))
    some = {
        path: said["paths"][path] for number, path in enumerate(said["paths"]) if number % every == 0 or "{agent}" not in path
    }
    OpenAPIV31SpecValidator(said | {"paths": some}).validate()
    for schema in schemas_in(said["paths"]):
        jsonschema.Draft202012Validator.check_schema(schema)
    named = {path.rpartition("/")[2] for path in said["paths"] if path.startswith("/v1/agents/")}
    assert named == {*REQUESTS, "events"}
    assert all(one["post"]["summary"] for path, one in said["paths"].items() if "post" in one)


def test_what_generators_of_clients_misunderstand_is_not_in_it() -> None:
    # openapi-python-client refuses the first, and sends the default of a field as what was meant.
    text = json.dumps(document())
    bodies = {
        name.rpartition("/")[2]: ways["post"]["requestBody"]["content"]["application/json"]["schema"]
        for name, ways in document()["paths"].items()
        if "requestBody" in ways.get("post", {})
    }

    assert '"items": false' not in text
    assert bodies["aggregate"]["properties"]["kind"] == {"type": "string", "enum": ["count", "list", "latest", "earliest"]}
    assert bodies["quarantine"]["properties"]["good"] == {"type": "boolean"}
    assert [
        (name, field)
        for name, body in bodies.items()
        for field in body["required"]
        if {"default", "anyOf"} & body["properties"][field].keys()
    ] == []


async def test_a_client_made_of_it_uses_an_agent_and_all_replies_are_as_it_says(tmp_path: Path) -> None:
    async with calling(tmp_path) as call:
        client = await client_of(call)
        kept = await client.do("agent_store", content=GATE, source="tour", key="k")
        assert await client.do("agent_store", content=GATE, source="tour", key="k") == kept
        learned = await client.do("agent_learn", text="The pump is red. The ferry leaves at nine.", source="notes", whole=True)
        newer = await client.do("agent_correct", fact_id=kept["fact_id"], content="The gate is green.")
        assert (await client.do("agent_why", fact_id=newer["fact_id"]))["replaces"] == [kept["fact_id"]]
        assert (await client.do("agent_named", fact_id=newer["fact_id"][:8]))["facts"][0]["content"] == "The gate is green."
        assert (await client.do("agent_search", query="gate", agent="ben"))["hits"][0]["content"] == "The gate is green."
        assert "nine" in (await client.do("agent_ask", question="When does the ferry leave?"))["answer"]
        assert len((await client.do("agent_facts", limit=0))["facts"]) == 3
        assert (await client.do("agent_replace", source="notes", episodes=[learned["episode"]]))["former"] == 0
        await client.do("agent_retract", fact_id=learned["facts"][0])
        assert (await client.do("agent_aggregate", kind="count", concept=""))["count"] == 2
        for operation in ("conflicts", "stats", "export", "told", "members", "rules", "runs", "tools"):
            await client.do(f"agent_{operation}")
        assert (await client.do("agent_trust", to="ben"))["trust"] == 1.0
        assert (await client.do("agent_tell", to="*", text="hello"))["told"] == []
        assert (await client.do("status"))["process"] == "town"
        await client.do("members")


async def test_what_is_refused_says_why_as_the_document_says(tmp_path: Path) -> None:
    refused: list[tuple[str, dict[str, Any], str]] = [
        ("agent_search", {"query": "x", "colour": "red"}, "search has no field 'colour'; it has query, limit"),
        ("agent_search", {}, "search needs the field 'query'"),
        ("agent_search", {"query": 7}, "no request"),
        ("agent_aggregate", {"kind": "sum"}, "`kind` is one of count, list, latest, earliest, not 'sum'"),
        ("agent_why", {"fact_id": "nope"}, "knows no fact 'nope'"),
        ("agent_stats", {"agent": "eve"}, "there is no agent 'eve'"),
        ("agent_learn", {"text": "x", "key": "k" * 201}, "at most 200"),
    ]
    async with calling(tmp_path) as call:
        client = await client_of(call)
        for operation, fields, why in refused:
            told = await client.do(operation, 400, **fields)
            assert (told["kind"], why in told["error"]) == ("InvalidInput", True), told
        assert (await call.post("/v1/agents/ada/dance", {}))[0] == 404
        assert (await call.post("/v1/agents/ada/stats", {}, {}))[0] == 401


async def test_a_reply_comes_as_events_with_what_is_known_before_it(tmp_path: Path) -> None:
    async def events(call: Caller, what: str, **fields: object) -> list[tuple[str, Any]]:
        url = f"http://127.0.0.1:{call.port}/v1/agents/ada/{what}"
        async with call._session.post(url, headers=KNOWN | {"Accept": "text/event-stream"}, json=fields) as response:
            assert (response.status, response.content_type) == (200, "text/event-stream")
            # On a busy machine a comment says in between that it goes on.
            told = [block for block in (await response.text()).split("\n\n")[:-1] if not block.startswith(":")]
            blocks = [dict(line.split(": ", 1) for line in block.split("\n")) for block in told]
        return [(block["event"], json.loads(block["data"])) for block in blocks]

    async with calling(tmp_path) as call:
        text = " ".join(f"Valve {number} stands in hall {number}." for number in range(600))
        learned = await events(call, "learn", text=text, source="plan")
        assert [name for name, _ in learned] == ["progress", "progress", "progress", "reply"]
        assert [says["done"] for _, says in learned[:-1]] == [256, 512, 600]
        assert learned[-1][1]["ok"]["added"] == 600
        asked = await events(call, "ask", question="Where does valve 7 stand?")
        assert [name for name, _ in asked] == ["found", "reply"]
        assert asked[0][1]["hits"][0]["content"] == asked[1][1]["ok"]["sources"][0]["content"]
        assert [(name, says["kind"]) for name, says in await events(call, "why", fact_id="x")] == [("error", "InvalidInput")]


async def test_a_request_is_where_it_declares_to_be_and_refused_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    async def answered(call: Caller, headers: dict[str, str]) -> list[tuple[int, str]]:
        replies = [await call.post(f"/v1/agents/ada{path}", body, headers) for path, body in WAYS]
        return [(status, told.get("error", "")) for status, told in replies]

    monkeypatch.setitem(REQUESTS, "stats", replace(REQUESTS["stats"], doors=frozenset({"command"})))
    assert "/v1/agents/{agent}/stats" not in document()["paths"]
    async with calling(tmp_path) as call:
        assert await answered(call, KNOWN | {DOOR: "command"}) == [(200, "")] * 2
        assert (
            await answered(call, KNOWN)
            == [(400, "stats is for the command line alone; /v1/openapi.json lists what programs may ask")] * 2
        )


@pytest.mark.parametrize(("door", "folder"), [("mcp", "mcp"), ("console", "console")])
def test_models_and_pages_put_what_is_open_to_them_and_no_more(door: str, folder: str) -> None:
    texts = [file.read_text("utf-8") for file in (Path(hive_mind.__file__).parent / folder).rglob("*.py")]
    put = {name for text in texts for name in re.findall(r"\.(?:call|decide)\((?:\w+(?:\[\"\w+\"\])?, )?\"(\w+)\"", text)}
    assert len(put) > 5
    assert {name for name in put if door not in REQUESTS[name].doors} == set()
