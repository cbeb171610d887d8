"""Fields of every kind of file that people write, by the command that publishes their schemas; and of a retrieval's folder."""

import json
from collections.abc import Iterator
from typing import get_args

from typer.testing import CliRunner

from hive_mind.cli.app import app
from hive_mind.cli.file import KindName
from hive_mind.forms import schema_of
from hive_mind.retrieval.workspace import ACTIVE, COLLECTION, CONFIG, GOLDEN
from tests.inventory.schemas import lines_of


def lines() -> Iterator[str]:
    for kind in get_args(KindName):
        ended = CliRunner().invoke(app, ["file", "explain", kind, "--schema"])
        assert ended.exit_code == 0, ended.output
        for place in lines_of(json.loads(ended.stdout)):
            yield f"{kind} {place}"
    for form in (CONFIG, COLLECTION, GOLDEN, ACTIVE):
        for place in lines_of(schema_of(form)):
            yield f"retrieval {form.name}: {place}"
