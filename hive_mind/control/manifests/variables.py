"""Which variables a manifest may set for a worker: values that libraries and tools read, told by how their names end.

Anything else may be read by the interpreter, the loader or a shell, and run other code in the worker (`PYTHONPATH`, `LD_PRELOAD`,
`BASH_ENV`, …); nobody knows all of those. Such a name needs the word of the person who runs the command, not only the manifest's.
"""

from fnmatch import fnmatchcase

ALLOWED = "HIVE_MIND_ENV_ALLOWED"
"""More names, with commas between them; `*` stands for any letters."""

_ENDS = frozenset(
    "KEY TOKEN SECRET PASSWORD LOGIN USER USERNAME ID NAME URL URI ENDPOINT HOST PORT REGION PROXY VERSION MODEL MODE LEVEL ORG "
    "ORGANIZATION PROJECT TENANT DEPLOYMENT TIMEOUT OFFLINE PARALLELISM THREADS LANG TZ".split()
)


def is_allowed(name: str, more: str) -> bool:
    """Whether a manifest may set it; `more`: what the person allows besides."""
    patterns = (one.strip() for one in more.split(","))
    return name.upper().rpartition("_")[2] in _ENDS or any(fnmatchcase(name, one) for one in patterns if one)
