"""What an index leaves to the model that is loaded after it: threads of OpenMP that sleep when they have nothing to do."""

import os
import subprocess
import sys

import pytest

# What is set when the library is loaded is what counts.
_TOLD = """
import builtins, os
load = builtins.__import__
def noted(name, *rest):
    if name == "numkong":
        print(os.environ.get("OMP_WAIT_POLICY"))
    return load(name, *rest)
builtins.__import__ = noted
import hive_mind.ann.{index}
"""


def told(index: str, **given: str) -> list[str]:
    environment = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"} | given
    command = [sys.executable, "-c", _TOLD.format(index=index)]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=100, env=environment).stdout.split()


@pytest.mark.parametrize("index", ["quantised", "usearch"])
def test_its_library_is_loaded_with_threads_that_sleep(index: str) -> None:
    assert set(told(index)) == {"PASSIVE"}


def test_who_wants_them_to_spin_is_heeded() -> None:
    assert set(told("quantised", OMP_WAIT_POLICY="ACTIVE")) == {"ACTIVE"}
