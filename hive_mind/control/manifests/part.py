"""The common base of all sections of a manifest."""

from typing import Any

from pydantic import BaseModel, BeforeValidator, ConfigDict
from pydantic.alias_generators import to_camel


class ManifestSection(BaseModel):
    """A section of a manifest: unknown keys are refused, names are written in camelCase."""

    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel, populate_by_name=True, allow_inf_nan=False)


def _off(given: Any) -> Any:
    return "off" if given is False else given


# To YAML `off` is a truth value.
OFF = BeforeValidator(_off)
