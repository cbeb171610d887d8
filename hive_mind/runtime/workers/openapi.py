"""The OpenAPI document of a worker: paths, and the requests to its agents as their register has them."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from hive_mind import __version__
from hive_mind.api.request import KEY_CHARACTERS_MAX
from hive_mind.api.requests import REQUESTS
from hive_mind.errors import HiveError
from hive_mind.runtime.workers import MembersSeen, WorkerStatus

Schema = dict[str, Any]

ERRORS = {
    400: "A value that can't be taken as it is.",
    401: "No token, or another one.",
    404: "Nothing of this name.",
    413: "A body of more than a megabyte.",
    421: "Another host than this machine, asked on loopback.",
    500: "A defect, of which the log says more.",
    501: "Something that is not installed.",
    502: "A service that it asked in turn has failed.",
    503: "Not ready now, or as much under way as it takes; ask again, after `Retry-After` seconds where it says so.",
    504: "No answer in time.",
}
_REFS = "#/components/schemas/{name}"
_TEXT, _NUMBER, _OR_NULL = {"type": "string"}, {"type": "number"}, {"type": ["number", "null"]}
_KEY = {"name": "Idempotency-Key", "in": "header", "schema": {"type": "string", "maxLength": KEY_CHARACTERS_MAX}}
_DESCRIPTION = """\
A worker answers on loopback for the agents whose memories it has open. A request that changes something may have a key
(`Idempotency-Key`): put again under it, it is carried out once. With `Accept: text/event-stream` a reply comes as
server-sent events: `progress` while it learns, `found` before an answer, then `reply` or `error`."""


def document() -> Schema:
    """OpenAPI 3.1."""
    requests = [entry for _, entry in sorted(REQUESTS.items()) if "http" in entry.doors]
    types = [WorkerStatus, tuple[MembersSeen, ...], *(entry.gives for entry in requests)]
    (status, members, *replies), schemas = msgspec.json.schema_components(types, ref_template=_REFS)
    _, bodies = msgspec.json.schema_components([entry.kind for entry in requests], ref_template=_REFS)
    # A request stands with its operation; values in it are named, as in replies.
    kinds = {entry.kind.__name__ for entry in requests}
    schemas |= {name: schema for name, schema in bodies.items() if name not in kinds}
    agent = {"name": "agent", "in": "path", "required": True, "schema": _TEXT}
    paths: Schema = {
        "/v1/status": {"get": _operation("status", "How the worker is, with its nodes and agents.", status, "worker")},
        "/v1/members": {"get": _operation("members", "The members, as each node sees them.", _ok(members), "worker")},
        "/v1/leave": {"post": _operation("leave", "Leave the hive for good.", _ok({}), "worker") | _body({"timeout_s": _NUMBER})},
        "/v1/evict": {"post": _operation("evict", "Put a member out.", _ok({}), "worker") | _body({"member": _TEXT}, "member")},
        "/v1/agents/{agent}/events": {"parameters": [agent], "get": _events()},
    }
    for entry, reply in zip(requests, replies, strict=True):
        fields = {name: bodies[entry.kind.__name__]["properties"][name] for name in entry.fields}
        for name, bounds in entry.bounds.items():
            fields[name] = {**fields[name], "minimum": bounds.least, "maximum": bounds.most}
        for name, words in entry.choices.items():
            fields[name] = {"type": "string", "enum": list(words)}
        body = _body(fields, *entry.needs) | {"parameters": [_KEY]}
        operation = _operation(f"agent_{entry.name}", entry.summary, _ok(reply), "agents") | body
        operation["responses"]["200"]["content"] |= {"text/event-stream": {"schema": {"type": "string"}}}
        paths[f"/v1/agents/{{agent}}/{entry.name}"] = {"parameters": [agent], "post": operation}
    return {
        "openapi": "3.1.0",
        "info": {"title": "hive-mind", "version": __version__, "description": _DESCRIPTION},
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": _without_false(schemas) | {"Refusal": _refusal()},
        },
    }


def _operation(name: str, summary: str, reply: Schema, tag: str) -> Schema:
    first, _, rest = summary.partition("\n")
    texts = {"summary": first} | ({"description": rest.strip()} if rest.strip() else {})
    success = {"description": "Done.", "content": {"application/json": {"schema": reply}}}
    return {"operationId": name, **texts, "tags": [tag], "responses": {"200": success, **_refusals()}}


def _without_false(schema: Any) -> Any:
    """A tuple's `items: false` says no more than its `maxItems`, and generators of clients stumble over it."""
    if isinstance(schema, dict):
        return {name: _without_false(value) for name, value in schema.items() if not (name == "items" and value is False)}
    return [_without_false(part) for part in schema] if isinstance(schema, list) else schema


def _body(properties: Mapping[str, Schema], *needs: str) -> Schema:
    body = {"type": "object", "properties": properties, "required": list(needs), "additionalProperties": False}
    return {"requestBody": {"required": bool(needs), "content": {"application/json": {"schema": body}}}}


def _events() -> Schema:
    since = {"name": "since", "in": "query", "schema": {"type": "integer", "minimum": 0}}
    success = {"description": "Until the caller goes away.", "content": {"text/event-stream": {"schema": {"type": "string"}}}}
    operation = {"operationId": "agent_events", "summary": "The events in the runs of an agent, as server-sent events."}
    return {**operation, "tags": ["agents"], "parameters": [since], "responses": {"200": success, **_refusals()}}


def _ok(reply: Schema) -> Schema:
    return {"type": "object", "properties": {"ok": reply}, "required": ["ok"]}


def _refusals() -> Schema:
    content = {"application/json": {"schema": {"$ref": _REFS.format(name="Refusal")}}}
    refusals: Schema = {str(code): {"description": why, "content": content} for code, why in ERRORS.items()}
    refusals["503"]["headers"] = {"Retry-After": {"description": "Seconds.", "schema": {"type": "integer", "minimum": 1}}}
    return refusals


def _refusal() -> Schema:
    kinds = sorted({"HiveError", *(kind.__name__ for kind in _below(HiveError))})
    properties = {"error": {"type": "string"}, "kind": {"type": "string", "enum": kinds}, "retry_after_s": _OR_NULL}
    return {"type": "object", "properties": properties, "required": ["error", "kind"]}


def _below(kind: type[HiveError]) -> Iterator[type[HiveError]]:
    for subclass in kind.__subclasses__():
        if subclass.__module__ == HiveError.__module__:
            yield subclass
            yield from _below(subclass)
