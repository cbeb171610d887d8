"""What a program may rely on is found under `hive_mind`, however it is imported."""

import re
import subprocess
import sys
from pathlib import Path

import hive_mind
from hive_mind import public

ROOT = Path(__file__).parents[2]


def test_a_star_import_brings_every_public_name():
    told = f"from hive_mind import *; print(set({public.__all__!r}) <= set(globals()))"

    ended = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True, cwd=ROOT)

    assert ended.stdout == "True\n"


def test_every_public_name_is_there_once_and_in_order():
    assert sorted(set(public.__all__)) == public.__all__
    assert all(getattr(hive_mind, name) is getattr(public, name) for name in public.__all__)


def test_what_begins_a_fleet_and_what_is_written_by_others_is_public():
    wanted = {"open_embedder", "Embedder", "Reader", "Extraction", "Memory", "ModelOutputError", "DatabaseLocked"}

    assert wanted <= set(public.__all__)
    assert not re.findall(r"^from hive_mind\.\S+ import", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)
