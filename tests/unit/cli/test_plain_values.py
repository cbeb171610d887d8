"""What is read without pydantic is what typer reads with it."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.testing import CliRunner

from hive_mind.cli.app import PlainValues


class Form(StrEnum):
    TEXT, JSON = "text", "json"


KINDS: dict[str, Any] = {
    "text": Annotated[str | None, typer.Option("--option")],
    "form": Annotated[Form | None, typer.Option("--option")],
    "any case": Annotated[Form | None, typer.Option("--option", case_sensitive=False)],
    "number": Annotated[int | None, typer.Option("--option", min=1, max=9)],
    "path": Annotated[Path | None, typer.Option("--option")],
    "file": Annotated[Path | None, typer.Option("--option", exists=True, dir_okay=False)],
    "paths": Annotated[list[Path] | None, typer.Option("--option")],
    "parsed": Annotated[str | None, typer.Option("--option", parser=str.upper)],
}
VALUES = ("json", "JSON", "xml", "7", "12", "", ".", "/nowhere/at all", __file__, f"{__file__}/below", "n" * 300)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("line", [[], *(["--option", value] for value in VALUES)], ids=" ".join)
def test_plain_values_are_those_that_typer_reads(kind: str, line: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with_pydantic = pytest.importorskip("typer._coercion").build_runtime_param

    def read(build: Any) -> tuple[int, str, object]:
        monkeypatch.setattr("typer.core.build_runtime_param", build)
        app, values = typer.Typer(), []

        def command(option: Any = None) -> None:
            values.append((type(option), option))

        command.__annotations__["option"] = KINDS[kind]
        app.command()(command)
        ended = CliRunner().invoke(app, line)
        return ended.exit_code, ended.output, values

    assert read(lambda described: PlainValues(described, with_pydantic)) == read(with_pydantic)
