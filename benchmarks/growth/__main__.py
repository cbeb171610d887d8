"""How cost grows with facts, with agents and with failures: measured into growth.json, drawn from it into SVG files beside it.

`python -m benchmarks.growth --data DATA --cache FOLDER` measures and draws; `--draw` draws what was measured before. Each plot
says the command, the machine and the day.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from benchmarks.evidence import ONE_THREAD
from benchmarks.figure import machine
from benchmarks.growth.measuring import DEADLINE_MS, FACTS, MEMBERS, with_agents, with_facts, with_failures
from benchmarks.growth.plots import Line, Plot, draw
from benchmarks.harness import parser_of

FOLDER = Path(__file__).parent
TITLES = {
    "facts": ("One memory, more and more facts", "facts with 384-d vectors", True),
    "agents": (f"{FACTS:,} facts dealt to more and more agents, one process, hybrid", "agents", True),
    "failures": (f"{MEMBERS} members of which more and more are dead, deadline {DEADLINE_MS} ms", "% of members dead", False),
}


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--data", type=Path, help="folder with *.corpus.jsonl and locomo/")
    parser.add_argument("--cache", type=Path, default=Path(".cache/benchmarks"), help="folder for embeddings")
    parser.add_argument("--only", nargs="+", choices=TITLES, default=list(TITLES))
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder of growth.json and the plots")
    parser.add_argument("--draw", action="store_true", help="measure nothing")
    options = parser.parse_args()
    if not options.draw and ONE_THREAD.keys() - os.environ.keys():
        # numpy reads it when it is loaded: two threads that wait for each other would be counted as work.
        again = [sys.executable, "-m", "benchmarks.growth", *sys.argv[1:]]
        return subprocess.run(again, env=os.environ | ONE_THREAD, check=False).returncode
    options.out.mkdir(parents=True, exist_ok=True)
    file = options.out / "growth.json"
    plots = {plot.name: plot for plot in known(file)}
    for name in () if options.draw else options.only:
        if name == "facts" and options.data is None:
            print("left out: facts; name the folder of the collections with --data", file=sys.stderr)
            continue
        plots[name] = plot_of(name, options.data, options.cache)
        kept = [plots[one] for one in TITLES if one in plots]
        file.write_bytes(msgspec.json.format(msgspec.json.encode(kept), indent=1) + b"\n")
    for plot in plots.values():
        print(draw(plot, options.out))
    return 0


def known(file: Path) -> list[Plot]:
    return msgspec.json.decode(file.read_bytes(), type=list[Plot]) if file.is_file() else []


def plot_of(name: str, data: Path | None, cache: Path) -> Plot:
    print(f"measuring {name} …", file=sys.stderr, flush=True)
    ways: dict[str, Callable[[], tuple[Line, ...]]] = {"agents": with_agents, "failures": with_failures}
    if data is not None:
        ways["facts"] = lambda: with_facts(data, cache)
    title, x, is_log = TITLES[name]
    lines = tuple(rounded(line) for line in ways[name]())
    given = " --data DATA --cache FOLDER" if name == "facts" else ""
    command = f"python -m benchmarks.growth --only {name}{given}"
    where = f"{machine()}, {os.getloadavg()[0]:.0f} processes busy"
    return Plot(name, title, x, lines, command, where, datetime.now(UTC).date().isoformat(), is_log)


def rounded(line: Line) -> Line:
    return msgspec.structs.replace(line, y=tuple(float(f"{y:.3g}") for y in line.y))


if __name__ == "__main__":
    sys.exit(main())
