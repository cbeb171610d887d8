"""Values that are plainly what an option takes, for which typer need not load pydantic.

It makes an adapter of pydantic for each option of the command that is called, also where nothing is given for it: a quarter of
what a short command takes. What was given right is taken here as it would take it; anything else is left to it.
"""

import os
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import typer.core


@dataclass(frozen=True, slots=True)
class PlainValues:
    """How a parameter of typer reads its values (its `RuntimeParam`); `adapted` makes the way that loads pydantic."""

    described: Any
    adapted: Any

    def coerce(self, value: Any, *, param: Any, ctx: Any) -> Any:
        """The value that a command gets for a parameter."""
        kind, info = self.described.annotation, self.described.parameter_info
        if isinstance(kind, type) and info.parser is None and not param.multiple and param.nargs == 1:
            if value is None or type(value) is kind:
                return value
            if issubclass(kind, Enum) and value in [member.value for member in kind]:
                return kind(value)
            if kind is Path and _is_any_path(info) and (os.access(value, os.R_OK) or not _is_there(value)):
                return Path(value)
        return self.adapted(self.described).coerce(value, param=param, ctx=ctx)


def _is_there(path: str) -> bool:
    try:
        return Path(path).exists()
    except OSError:
        # Too long, for instance; the command says so.
        return False


def _is_any_path(info: Any) -> bool:
    is_checked = info.exists or info.writable or info.resolve_path or info.allow_dash or info.path_type
    return not is_checked and info.file_okay and info.dir_okay


def read_plain_values() -> None:
    """From now on, in this process. Versions of typer that read values themselves stay as they are."""
    if (adapted := getattr(typer.core, "build_runtime_param", None)) is not None:
        setattr(typer.core, "build_runtime_param", lambda described: PlainValues(described, adapted))  # noqa: B010
