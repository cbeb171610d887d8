"""What others may ask over HTTP and MCP: paths, requests of the register with their fields and replies, tools and resources."""

import ast
import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hive_mind
from hive_mind.api.requests import REQUESTS
from hive_mind.mcp.server import memory_server
from hive_mind.runtime.workers.openapi import document
from tests.inventory.schemas import lines_of

_METHODS = {"get", "post", "put", "delete"}


def http_lines() -> Iterator[str]:
    """Every path that some server of the package answers, as its routes have them; and what may be refused."""
    for file in sorted(Path(hive_mind.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                yield from _routes(node)
    for code, refusal in next(iter(_operations()))[2]["responses"].items():
        yield f"answers {code}: {refusal['description']}"
    for path, method, operation in _operations():
        if not path.startswith("/v1/agents/{agent}/"):
            yield from _operation_lines(f"{method.upper()} {path}", operation)


def request_lines() -> Iterator[str]:
    """Each request to an agent: the doors at which it may be put, its fields, and what its reply has."""
    for name, entry in REQUESTS.items():
        yield f"{name} at {' '.join(sorted(entry.doors))}"
    for path, _, operation in _operations():
        if path.startswith("/v1/agents/{agent}/"):
            yield from _operation_lines(path.rpartition("/")[2], operation)


def _routes(call: ast.Call) -> Iterator[str]:
    function = ast.unparse(call.func)
    if function.startswith("web.") and function[4:] in _METHODS | {"static"} and isinstance(call.args[0], ast.Constant):
        yield f"path {function[4:].upper()} {call.args[0].value}"
    if function == "Page":
        for keyword in call.keywords:
            if keyword.arg in ("gets", "posts") and isinstance(keyword.value, ast.Dict):
                for key in keyword.value.keys:
                    yield f"page {keyword.arg[:-1].upper()} {ast.literal_eval(key)}"  # type: ignore[arg-type]


def _operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in document()["paths"].items():
        for method, operation in methods.items():
            if method in _METHODS:
                yield path, method, operation


def _operation_lines(name: str, operation: dict[str, Any]) -> Iterator[str]:
    definitions = document()["components"]["schemas"]
    yield name
    for parameter in operation.get("parameters", ()):
        yield from lines_of(parameter["schema"], definitions, f"{name} {parameter['in']} {parameter['name']}")
    if "requestBody" in operation:
        body = operation["requestBody"]["content"]["application/json"]["schema"]
        yield from (f"{name} takes {line}" for line in lines_of(body, definitions))
    for kind, content in operation["responses"]["200"]["content"].items():
        yield f"{name} gives {kind}"
        schema = content["schema"].get("properties", {}).get("ok", content["schema"])
        yield from (f"{name} gives {line}" for line in lines_of(schema, definitions, "ok"))


def mcp_lines() -> Iterator[str]:
    server: Any = memory_server(None, allows_retract=True)  # type: ignore[arg-type]

    async def listed() -> tuple[Any, ...]:
        templates = await server.list_resource_templates()
        return await server.list_tools(), await server.list_resources(), templates, await server.list_prompts()

    tools, resources, templates, prompts = asyncio.run(listed())
    for tool in tools:
        hints = tool.annotations.model_dump(exclude_none=True) if tool.annotations else {}
        yield f"tool {tool.name} {' '.join(f'{name}={value}' for name, value in sorted(hints.items()))}"
        yield from (f"tool {tool.name} takes {line}" for line in lines_of(tool.input_schema))
        yield from (f"tool {tool.name} gives {line}" for line in lines_of(tool.output_schema or {}))
    for resource in (*resources, *templates):
        yield f"resource {getattr(resource, 'uri_template', None) or resource.uri} {resource.mime_type}"
    for prompt in prompts:
        yield f"prompt {prompt.name} {' '.join(argument.name for argument in prompt.arguments or ())}"
