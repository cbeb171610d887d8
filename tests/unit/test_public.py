"""What a program may rely on is found under `hive_mind`, however it is imported."""

import inspect
import re
import runpy
from pathlib import Path

import hive_mind
from hive_mind import public

ROOT = Path(__file__).parents[2]


def test_every_public_name_is_there_once_and_in_order_and_a_star_brings_it(tmp_path: Path):
    (program := tmp_path / "program.py").write_text("from hive_mind import *")
    assert set(public.__all__) <= set(runpy.run_path(str(program)))
    assert sorted(set(public.__all__)) == public.__all__
    assert all(getattr(hive_mind, name) is getattr(public, name) for name in public.__all__)


def test_what_begins_a_fleet_and_what_is_written_by_others_is_public():
    wanted = {"open_embedder", "Embedder", "Reader", "Extraction", "Memory", "ModelOutputError", "DatabaseLocked"}
    assert wanted <= set(public.__all__)
    assert not re.findall(r"^from hive_mind\.\S+ import", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)


def test_all_that_opens_something_takes_the_settings_first_and_says_so_in_one_line():
    signatures = {name: inspect.signature(getattr(public, name)) for name in public.__all__ if name.startswith("open_")}
    assert {"open_agent", "open_fleet", "open_member", "open_memory"} <= set(signatures)
    assert {next(iter(signature.parameters)) for signature in signatures.values()} == {"settings"}
    assert [name for name, signature in signatures.items() if len(_in_short(signature)) > 300] == []


def test_what_is_taken_out_of_a_content_begins_with_the_candidates():
    assert next(iter(inspect.signature(public.Extraction).parameters)) == "candidates"


def _in_short(signature: inspect.Signature) -> str:
    """As `help` shows it, without the modules of types."""
    return re.sub(r"\b(?:\w+\.)+(\w+)", r"\1", str(signature))
