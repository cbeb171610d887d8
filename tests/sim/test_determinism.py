"""The same seed is the same run, to the last message, whatever Python's hashes are seeded with."""

import os
import subprocess
import sys
from pathlib import Path

from tests.sim.storms import COUNT, calm_or_storm

ROOT = Path(__file__).parents[2]
SEEDS = max(1, COUNT // 30)
OPERATIONS = 40
DIGESTS = f"""
from random import Random
from hive_mind.sim import parse
from hive_mind.sim.run import SimulationPlan, run
for topology in ("flat", "federated", "sharded"):
    for seed in range({SEEDS}):
        report = run(SimulationPlan(topology, seed, parse("all"), {OPERATIONS}), Random)
        print(topology, seed, report.digest, report.messages, report.events, report.virtual_ms)
"""


def digests(hash_seed: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    command = [sys.executable, "-c", DIGESTS]
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True, timeout=280)
    return ended.stdout


def test_three_hash_seeds_give_the_same_traces():
    first, *others = [digests(hash_seed) for hash_seed in ("0", "1", "4242")]
    assert len(first.splitlines()) == 3 * SEEDS
    assert all(other == first for other in others)


def test_another_seed_is_another_run():
    assert calm_or_storm("flat", 1, operations=10).digest != calm_or_storm("flat", 2, operations=10).digest
