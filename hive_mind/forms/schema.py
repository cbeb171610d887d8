"""The form of a file as JSON Schema, for editors that complete and check while one types."""

from typing import Any

from hive_mind.forms.form import Form

SCHEMA_KEY = "$schema"
SCHEMA_ID = "https://json-schema.org/draft/2020-12/schema"


def schema_of(form: Form[Any]) -> dict[str, Any]:
    """What may stand in such a file. What contradicts itself is not in it."""
    schema = _untitled(form.model.model_json_schema(by_alias=True))
    if form.syntax == "json":
        schema["properties"][SCHEMA_KEY] = {"type": "string", "description": "For editors: where this schema is."}
    return {SCHEMA_KEY: SCHEMA_ID, **schema, "title": f"hive-mind {form.name}"}


def _untitled(schema: Any) -> Any:
    """Without the titles that repeat each field's name."""
    if isinstance(schema, list):
        return [_untitled(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: _untitled(value) for key, value in schema.items() if key != "title" or not isinstance(value, str)}
