"""Every command with its arguments and options: how they are called, what they take, and what holds without them."""

import inspect
import typing
from collections.abc import Iterator
from enum import Enum
from types import UnionType
from typing import Any

import typer

from hive_mind.cli.app import app


def lines() -> Iterator[str]:
    """Without what the library itself adds: help, completion for shells."""
    yield from _below(typer.main.get_command(app), "hive-mind")


def _below(command: Any, path: str) -> Iterator[str]:
    hidden = " (hidden)" if command.hidden else ""
    if hasattr(command, "list_commands"):
        context = typer.Context(command)
        for name in command.list_commands(context):
            yield from _below(command.get_command(context, name), f"{path} {name}")
    else:
        yield f"{path}{hidden}"
    for parameter in command.params:
        known = inspect.signature(command.callback, eval_str=True).parameters
        if parameter.name in known and not parameter.is_eager:
            yield f"{path} {_parameter(known[parameter.name].annotation, parameter)}"


def _parameter(hint: Any, parameter: Any) -> str:
    """Types and bounds are those of the function: what its library makes of them differs from version to version."""
    kind, *notes = typing.get_args(hint) if typing.get_origin(hint) is typing.Annotated else (hint,)
    note = next((note for note in notes if hasattr(note, "param_decls")), None)
    names = "|".join([*parameter.opts, *parameter.secondary_opts])
    is_option = parameter.opts[0].startswith("-")
    bounds = "".join(f" {word}={value}" for word in ("min", "max") if (value := getattr(note, word, None)) is not None)
    more = " hidden" if getattr(note, "hidden", False) else ""
    default = " required" if parameter.required else f" = {_value(parameter.default)}"
    return f"{names if is_option else f'<{parameter.name}>'}: {_kind(kind)}{bounds}{default}{more}"


def _kind(kind: Any) -> str:
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        return _kind(inner[0])
    if origin in (typing.Union, UnionType):
        return "|".join(_kind(one) for one in inner if one is not type(None))
    if inner:
        return f"{origin.__name__}[{', '.join(_kind(one) for one in inner)}]"
    if isinstance(kind, type) and issubclass(kind, Enum):
        return "|".join(str(one.value) for one in kind)
    return getattr(kind, "__name__", str(kind))


def _value(default: Any) -> str:
    if isinstance(default, Enum):
        return str(default.value)
    return "computed" if callable(default) else repr(default) if not hasattr(default, "parts") else str(default)
