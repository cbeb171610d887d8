"""Fields of every kind of file that people write, by the commands that publish their schemas; and of a retrieval's folder."""

import json
from collections.abc import Iterator

from typer.testing import CliRunner

from hive_mind.cli.app import app
from hive_mind.forms.form import schema_of
from hive_mind.retrieval.files.workspace import ACTIVE, COLLECTION, CONFIG, GOLDEN
from tests.inventory.commands import lines as command_lines
from tests.inventory.schemas import lines_of

_SCHEMA = " schema"


def lines() -> Iterator[str]:
    for line in command_lines():
        if line.endswith(_SCHEMA) and line.startswith("hive-mind "):
            words = line.split()[1:]
            ended = CliRunner().invoke(app, words)
            assert ended.exit_code == 0, ended.output
            for place in lines_of(json.loads(ended.stdout)):
                yield f"{' '.join(words[:-1])} {place}"
    for form in (CONFIG, COLLECTION, GOLDEN, ACTIVE):
        for place in lines_of(schema_of(form)):
            yield f"retrieval {form.name}: {place}"
