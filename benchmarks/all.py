"""Every benchmark in turn, each in a process of its own: `python -m benchmarks.all --data DATA [--cache FOLDER]`.

First the table of `benchmarks.evidence`, then the plots of `benchmarks.growth` (into the cache folder), then all the rest.

Takes about an hour on two cores the first time: half of it embedding sentences into the cache, a quarter filling large hives.
"""

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.harness import parser_of

WITHOUT_DATA = (
    "learn store fleet fleet_of_processes conditions review signal_weights crdt placement gossip trust tail journal ledger runs "
    "bus bus_query hive"
).split()
WITH_DATA = (
    "search ann asked_again retrieval repeated distraction answers deciding retrieval_collection retrieval_quality".split()
)
FIRST: dict[str, Callable[[Path], list[str]]] = {
    "evidence": lambda cache: ["--json", str(cache / "evidence.json")],
    "growth": lambda cache: ["--out", str(cache / "growth")],
}
WITHOUT_CACHE, WITH_SCRATCH = (
    ("asked_again", "repeated", "answers", "deciding", "retrieval_collection"),
    ("retrieval_collection", "retrieval_quality"),
)


def main() -> int:
    parser = parser_of(__doc__, "data")
    parser.add_argument("--cache", type=Path, default=Path(".cache/benchmarks"), help="folder for embeddings")
    options = parser.parse_args()
    given = ["--data", str(options.data)] if options.data.is_dir() else []
    failed = [
        name for name, more in FIRST.items() if not succeeded(name, *given, "--cache", str(options.cache), *more(options.cache))
    ]
    failed += [name for name in WITHOUT_DATA if not succeeded(name)]
    if not options.data.is_dir():
        print(f"\nno data in {options.data}: left out {', '.join(WITH_DATA)}; name its folder with --data", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as scratch:
        for name in WITH_DATA:
            cache = [] if name in WITHOUT_CACHE else ["--cache", str(options.cache)]
            room = ["--scratch", scratch] if name in WITH_SCRATCH else []
            if not succeeded(name, *given, *cache, *room):
                failed.append(name)
    if failed:
        print(f"\nfailed: {', '.join(failed)}", file=sys.stderr)
    return bool(failed)


def succeeded(name: str, *arguments: str) -> bool:
    print(f"\n== {name} ==", flush=True)
    return subprocess.run([sys.executable, "-m", f"benchmarks.{name}", *arguments], check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
