"""Every benchmark in turn, each in a process of its own: `python -m benchmarks.all --data DATA [--cache FOLDER]`.

Takes about an hour on two cores the first time: half of it embedding sentences into the cache, a quarter filling large hives.
"""

import argparse
import subprocess
import sys
from pathlib import Path

WITHOUT_DATA = (
    *("learn", "store", "fleet"),
    *("crdt", "placement", "gossip", "trust", "tail", "journal", "runner", "bus", "bus_query", "hive_query", "hive"),
)
WITH_DATA = ("search", "ann", "retrieval", "answers")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with *.corpus.jsonl and locomo/")
    parser.add_argument("--cache", type=Path, default=Path(".cache/benchmarks"), help="folder for embeddings")
    options = parser.parse_args()
    failed = [name for name in WITHOUT_DATA if not succeeded(name)]
    if not options.data.is_dir():
        print(f"\nno data in {options.data}: left out {', '.join(WITH_DATA)}; name its folder with --data", file=sys.stderr)
        return 1
    given = ["--data", str(options.data)]
    for name in WITH_DATA:
        cache = [] if name == "answers" else ["--cache", str(options.cache)]
        if not succeeded(name, *given, *cache):
            failed.append(name)
    if failed:
        print(f"\nfailed: {', '.join(failed)}", file=sys.stderr)
    return bool(failed)


def succeeded(name: str, *arguments: str) -> bool:
    print(f"\n== {name} ==", flush=True)
    return subprocess.run([sys.executable, "-m", f"benchmarks.{name}", *arguments], check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
