"""Calls the command line as a person would, in this process or in one of its own."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from hive_mind.cli.app import app
from tests.servers.children import Child
from tests.servers.forked import Forked


def manifest_of(spec: str) -> str:
    """A fleet with these lines of a specification, without a brace of its own: it can be formatted."""
    return f"apiVersion: hive-mind/v1\nkind: Hive\nmetadata:\n  name: harbour\nspec:\n{spec}"


@dataclass(frozen=True)
class Ended:
    """How a call ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as JSON; fails when it holds anything else."""
        return json.loads(self.out)


@dataclass(frozen=True)
class HiveMind:
    """The command with a home of its own, without embeddings."""

    home: Path
    more: tuple[tuple[str, str], ...] = ()

    def with_environment(self, **variables: str) -> "HiveMind":
        """The same with these variables set."""
        return replace(self, more=(*self.more, *variables.items()))

    def __call__(self, *arguments: object, stdin: bytes | str = "") -> Ended:
        """Run in this process."""
        result = CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin, env=self.environment)
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Ended(result.exit_code, result.stdout, result.stderr)

    def applies(self, manifest: str, folder: Path) -> None:
        """`apply` it, which must succeed."""
        (folder / "fleet.yaml").write_text(manifest)
        ended = self("apply", "-f", folder / "fleet.yaml")
        assert ended.code == 0, ended.err

    @property
    def environment(self) -> dict[str, str]:
        """What the environment says in addition."""
        return {"HIVE_MIND_HOME": str(self.home), "HIVE_MIND_EMBED": "none", "COLUMNS": "100", **dict(self.more)}

    def start(
        self,
        *arguments: object,
        stdout: int,
        stderr: int,
        stdin: int | None = None,
        ignoring: str = "",
        is_new: bool = False,
        **environment: str,
    ) -> subprocess.Popen[bytes]:
        """Start in a process of its own; `ignoring` names a signal that is ignored when it starts.

        With that, with a variable for Python itself, or where it `is_new`, Python starts anew.
        """
        command = [sys.executable, "-m", "hive_mind", *map(str, arguments)]
        is_new = is_new or bool(ignoring) or any(name.startswith("PYTHON") for name in environment)
        if ignoring:
            command = ["sh", "-c", f'trap "" {ignoring}; exec "$@"', "sh", *command]
        root = str(Path(__file__).parents[2])
        everything = os.environ | self.environment | {"PYTHONPATH": root} | environment
        begin = Child if is_new else Forked
        return begin(command, env=everything, cwd=self.home.parent, stdin=stdin, stdout=stdout, stderr=stderr)
