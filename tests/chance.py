"""Where tests take their chance from: the same tree draws the same, unless somebody asks for something new."""

import os
import secrets

EXPLORE = "HIVE_EXPLORE"
"""Set to a number, it is the seed; set to anything else, every run draws a new one."""

_USUAL = 20_260_913


def examples() -> int:
    """How many are drawn where a law does not say it; `make test-all` draws 300."""
    return int(os.environ.get("HIVE_EXAMPLES", "25"))


def is_exploring() -> bool:
    return bool(os.environ.get(EXPLORE))


def seed_of_this_run() -> int:
    """A failing test says it, so that `HIVE_EXPLORE=seed` plays the run again."""
    asked = os.environ.get(EXPLORE, "")
    if asked.isascii() and asked.isdecimal():
        return int(asked)
    return secrets.randbits(32) if asked else _USUAL
