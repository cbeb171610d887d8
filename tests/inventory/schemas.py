"""A JSON Schema as lines: each place in a document, what may stand there, its bounds and its default."""

import json
from collections.abc import Iterator
from typing import Any

Schema = dict[str, Any]

# Said elsewhere, or by people for people.
_UNSAID = {
    *("$schema", "title", "description", "properties", "required", "items", "prefixItems", "$defs", "anyOf"),
    *("oneOf", "allOf"),
}
_UNSAID |= {"default", "additionalProperties", "type", "enum", "const", "$ref", "discriminator", "examples", "patternProperties"}


def lines_of(schema: Schema, definitions: Schema | None = None, place: str = "") -> Iterator[str]:
    """Without what stands in itself."""
    yield from _lines(schema, definitions if definitions is not None else schema.get("$defs", {}), place, ())


def _lines(schema: Schema, definitions: Schema, place: str, above: tuple[str, ...], note: str = "") -> Iterator[str]:
    names, options = set[str](), list[Schema]()
    for option in _options(schema):
        option, name = _meant(option, definitions)
        if name and name in above:
            yield f"{place}: as above{note}".strip()
            return
        options.append(option)
        names |= {name} - {""}
    if place:
        yield f"{place}: {' or '.join(dict.fromkeys(map(_said, options)))}{_default(schema, options)}{note}"
    for option in options:
        within = (*above, *names)
        required = set(option.get("required", ()))
        for name, inner in option.get("properties", {}).items():
            here = f"{place}.{name}".removeprefix(".")
            yield from _lines(inner, definitions, here, within, " required" if name in required else "")
        for inner in (option.get("items"), *option.get("prefixItems", ())):
            if isinstance(inner, dict) and inner:
                yield from _lines(inner, definitions, f"{place}[]", within)
        if isinstance(more := option.get("additionalProperties"), dict) and more:
            yield from _lines(more, definitions, f"{place}.*", within)


def _options(schema: Schema) -> list[Schema]:
    for word in ("anyOf", "oneOf", "allOf"):
        if word in schema:
            return [one for part in schema[word] for one in _options(part)]
    return [schema]


def _meant(schema: Schema, definitions: Schema) -> tuple[Schema, str]:
    if "$ref" not in schema:
        return schema, ""
    name = schema["$ref"].rpartition("/")[2]
    return definitions[name] | {key: value for key, value in schema.items() if key != "$ref"}, name


def _said(schema: Schema) -> str:
    if "const" in schema or "enum" in schema:
        return "|".join(json.dumps(value) for value in schema.get("enum", [schema.get("const")]))
    kind = schema.get("type", "anything")
    bounds = [f"{word}={json.dumps(value)}" for word, value in sorted(schema.items()) if word not in _UNSAID]
    closed = ["closed"] if schema.get("additionalProperties") is False else []
    return " ".join([*([kind] if isinstance(kind, str) else ["|".join(kind)]), *bounds, *closed])


def _default(*schemas: Any) -> str:
    schema, options = schemas
    for one in (schema, *options):
        if "default" in one:
            return f" = {json.dumps(one['default'], ensure_ascii=False)}"
    return ""
