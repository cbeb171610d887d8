"""Sections of a manifest: the base of all, and those about identity, about models, and about who looks after runs.

A section that tunes a part of the program inherits from that part's own settings: bounds, defaults and help stand there once. Of
its fields a section has those that are marked as a `Setting`, under the name and in the unit that people write.
"""

import ast
import inspect
from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal, get_origin, get_type_hints

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer
from pydantic.alias_generators import to_camel

from hive_mind.judge.health import HealthSettings
from hive_mind.model.setting import Setting
from hive_mind.runtime.workers.config import ModelsConfig, NotifyConfig


class ManifestSection(BaseModel):
    """A section of a manifest: unknown keys are refused, names are written in camelCase."""

    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel, populate_by_name=True, allow_inf_nan=False)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        own_hints, inherited = dict(vars(cls).get("__annotations__", {})), dict[str, Any]()
        for base in filter(is_dataclass, cls.__bases__):
            for name, kind, field in _fields(base, cls.__name__):
                if name not in own_hints:
                    inherited[name] = kind
                    if field is not None:
                        setattr(cls, name, field)
        cls.__annotations__ = inherited | own_hints


def _fields(settings: type[Any], section: str) -> Iterator[tuple[str, Any, Any]]:
    """Fields of settings as those of a section: name, type, default and bounds. Those that nobody writes are none of it."""
    hints, help = get_type_hints(settings, include_extras=True), _docstrings(settings)
    for field in fields(settings):
        hint = hints[field.name]
        setting = next((mark for mark in getattr(hint, "__metadata__", ()) if isinstance(mark, Setting)), None)
        place, _, name = (setting.name if setting else "").rpartition(".")
        if setting is None or (place and place != section.lower()):
            yield field.name, ClassVar[Any], None
            continue
        bounds = {key: getattr(setting, key) for key in ("gt", "ge", "le", "min_length", "max_length")}
        default: dict[str, Any] = {"default": setting.written(field.default)}
        kind, extras = hint.__origin__, tuple[Any, ...]()
        if get_origin(kind) is tuple:
            kind, extras = list[kind.__args__[0]], (AfterValidator(tuple), PlainSerializer(list))  # type: ignore[name-defined]
            default = {"default_factory": tuple}
        elif field.default_factory is not MISSING:
            default = {"default_factory": field.default_factory}
        elif setting.per > 1:
            kind, extras = float, (AfterValidator(_whole(setting.per)), PlainSerializer(setting.written))
            default["validate_default"] = True
        alias = {"alias": to_camel(name)} if name else {}
        options = default | alias | bounds | {"description": help[field.name]}
        yield field.name, Annotated[(kind, setting, *extras)], Field(**options)


def _whole(per: int) -> Any:
    # At least one: 0 often means "never".
    return lambda value: max(round(value * per), 1)


def _docstrings(settings: type[Any]) -> dict[str, str]:
    """The docstrings of its fields, and of those it has from settings of another part."""
    texts: dict[str, str] = {}
    for kind in reversed([base for base in settings.__mro__ if is_dataclass(base)]):
        (tree,) = ast.parse(inspect.getsource(kind)).body
        for field, text in pairwise(getattr(tree, "body", ())):
            match field, text:
                case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(words))):
                    texts[name] = " ".join(words.split())
    return texts


def off(value: Any) -> Any:
    """The word that YAML takes for a truth value."""
    return "off" if value is False else value


OFF = BeforeValidator(off)


IdentityMode = Literal["off", "warn", "require"]


class Identity(ManifestSection):
    """Authentication of members and encryption of messages. May be written as its mode alone, `identity: require`."""

    mode: Annotated[IdentityMode | None, OFF] = Field(
        None,
        description="Whether members prove by certificates who they are; warn: unproven members are trusted, with a warning. "
        "Left out: require for a new fleet whose bus is not on this machine, else as it was, or off.",
    )
    encryption: bool = Field(
        False,
        description="Whether messages are encrypted for members, so that the bus's operator can't read them; needs require.",
    )


def _with_mode(value: Any) -> Any:
    return {"mode": value} if value is None or isinstance(value, str | bool) else value


WrittenIdentity = Annotated[Identity, BeforeValidator(_with_mode, json_schema_input_type=Identity | IdentityMode)]


# A back end's name is a string, which pydantic checks.
_MODELS: Any = ModelsConfig()


class Embedding(ManifestSection, ModelsConfig):
    """How text becomes vectors."""

    kind: Literal["none", "sentence_transformers", "openai"] = Field("none", description="none: keyword search.")
    index: Literal["exact", "quantised", "usearch"] = Field(_MODELS.ann, description="How vectors are searched.")


class Llm(ManifestSection, ModelsConfig):
    """The language model that reads and answers, where there is one."""


class Queen(ManifestSection):
    """The agent that acts on tickets about runs. People decide at its desk, unless `spec.judge.desk` names another."""

    agent: str = Field(
        "", description="Its agent. It runs its own worker for each ticket, or the one that comes with the program."
    )


class Health(ManifestSection, HealthSettings):
    """The watch over the runs of the fleet, and from where on a run is in trouble."""

    agent: str = Field("", description="The agent beside which it looks; by default nobody does.")


class Notify(ManifestSection, NotifyConfig):
    """The recipient of a notice about each item of a run that waits for a person. By default there are none."""
