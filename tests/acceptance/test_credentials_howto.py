"""What the how-to about credentials shows is what its commands print."""

import os
import re
import shlex
import sys
import textwrap
from pathlib import Path

from hive_mind.credentials import new_key
from tests.acceptance.hive_mind_command import HiveMind
from tests.servers.forked import run

ROOT = Path(__file__).parents[2]
HOWTO = (ROOT / "docs" / "howto" / "credentials.md").read_text("utf-8")
STEP = re.compile(r"^    \$ hive-mind (.*)\n((?:    .+\n)*)", re.MULTILINE)
VALUES = {"redis.password": "sw0rdfish-7\n", "model.key": "sk-another-1\n"}


def test_the_commands_say_what_the_how_to_shows(hive_mind: HiveMind) -> None:
    steps = STEP.findall(HOWTO)
    assert len(steps) == 6
    for line, told in steps:
        words, _, file = line.partition(" < ")
        is_wrong = told.lstrip().startswith("error: ")
        called = hive_mind.with_environment(HIVE_MIND_CREDENTIALS_KEY=new_key()) if is_wrong else hive_mind

        ended = called(*shlex.split(words), stdin=VALUES[file] if file else "")

        assert ended.code == (1 if is_wrong else 0), ended.err
        shown = (ended.err if is_wrong else ended.out).replace(str(hive_mind.home), "HOME")
        assert shown == textwrap.dedent(told)


def test_the_program_prints_what_stands_below_it(tmp_path: Path) -> None:
    (program,) = re.findall(r"^```python\n(.*?)^```", HOWTO, re.MULTILINE | re.DOTALL)
    environment = os.environ | {"PYTHONPATH": str(ROOT), "HIVE_MIND_HOME": str(tmp_path)}
    ended = run([sys.executable, "-c", program], 60, env=environment, text=True, check=True)
    assert f"\nprints\n\n{textwrap.indent(ended.stdout, '    ')}" in HOWTO


def test_the_variables_of_the_key_are_those_there_are() -> None:
    settings = (ROOT / "hive_mind" / "runtime" / "settings.py").read_text("utf-8")
    assert set(re.findall(r"HIVE_MIND_CREDENTIALS_\w+", HOWTO)) == {"HIVE_MIND_CREDENTIALS_KEY", "HIVE_MIND_CREDENTIALS_KEY_IN"}
    assert all(part in settings for part in ("credentials_key_in: str", '"CREDENTIALS_KEY"'))
