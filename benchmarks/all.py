"""Every benchmark in turn, each in a process of its own: `python -m benchmarks.all --data DATA [--cache FOLDER]`.

First the table of `benchmarks.evidence`, then the plots of `benchmarks.growth` (into the cache folder), then all the rest.

Takes about an hour on two cores the first time: half of it embedding sentences into the cache, a quarter filling large hives.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.harness import parser_of

WITHOUT_DATA = (
    "learn store fleet fleet_of_processes conditions review signal_weights crdt placement gossip trust tail journal ledger runs "
    "bus bus_query hive"
).split()
# Which folders each takes besides the data.
WITH_DATA = dict.fromkeys(("search", "retrieval", "distraction"), ("cache",)) | {
    **dict.fromkeys(("asked_again", "repeated", "answers", "deciding"), ()),
    "retrieval_collection": ("scratch",),
    "retrieval_quality": ("cache", "scratch"),
}


def main() -> int:
    parser = parser_of(__doc__, "data")
    parser.add_argument("--cache", type=Path, default=Path(".cache/benchmarks"), help="folder for embeddings")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folders = {"cache": ["--cache", str(options.cache)], "scratch": ["--scratch", scratch]}
        data = ["--data", str(options.data)] if options.data.is_dir() else []
        wanted = {
            "evidence": [*data, *folders["cache"], "--json", str(options.cache / "evidence.json")],
            "growth": [*data, *folders["cache"], "--out", str(options.cache / "growth")],
            **dict.fromkeys(WITHOUT_DATA, ()),
        }
        if data:
            wanted |= {name: [*data, *(word for kind in kinds for word in folders[kind])] for name, kinds in WITH_DATA.items()}
        failed = [name for name, arguments in wanted.items() if not succeeded(name, *arguments)]
    if not data:
        print(f"\nno data in {options.data}: left out {', '.join(WITH_DATA)}; name its folder with --data", file=sys.stderr)
    if failed:
        print(f"\nfailed: {', '.join(failed)}", file=sys.stderr)
    return bool(failed or not data)


def succeeded(name: str, *arguments: str) -> bool:
    print(f"\n== {name} ==", flush=True)
    return subprocess.run([sys.executable, "-m", f"benchmarks.{name}", *arguments], check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
