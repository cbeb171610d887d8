"""Indexes over vectors, one file each: exact for small memories, approximate for large ones."""

import os

# Read when the first library that has threads of OpenMP is loaded, and those of a model that embeds are then ruled by it, too:
# idle ones must sleep, spinning ones cost it a factor of 4 on busy cores.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
