"""What moving a large memory costs: `facts import` and `facts export` of a million facts, as a person calls them.

`python -m benchmarks.importing` makes the file, imports it in a process of its own, exports it again and compares both files;
`--facts 100000` does less, `--store` names a back end. Peak memory is that of the called process, as the system counts it.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

from benchmarks.harness import parser_of
from hive_mind.memory.transfer import line_of
from hive_mind.model.content import Episode
from hive_mind.model.fact import Fact, Relation
from hive_mind.model.ids import episode_id, fact_id
from hive_mind.store import Link

FIRST_US = 1_700_000_000_000_000
FACTS_PER_EPISODE = 20
WORDS = "pump valve hall tide crane berth ferry winter report engineer seal pressure harbour night shift water gate buoy".split()


def lines(facts: int, seed: int) -> Iterator[str]:
    """A memory in the order in which it is exported: episodes, facts of some 200 characters, links of every tenth fact."""
    chance = random.Random(seed)
    episodes = [an_episode(number) for number in range(-(-facts // FACTS_PER_EPISODE))]
    yield from map(line_of, episodes)
    links = []
    for number in range(facts):
        fact = a_fact(number, chance)
        if number % 10 == 0:
            links.append(line_of(Link(Relation.DERIVES_FROM, fact.id, episodes[number // FACTS_PER_EPISODE].id)))
        yield line_of(fact)
    yield from sorted(links)


def an_episode(number: int) -> Episode:
    text, source = f"Log book, page {number}.", f"shift {number % 300}"
    return Episode(episode_id(text, source), text, source, "", FIRST_US + number)


def a_fact(number: int, chance: random.Random) -> Fact:
    said = " ".join(chance.choices(WORDS, k=28))
    content = f"Observation {number}: {said}."
    sources = tuple(f"shift {(number + offset) % 300}" for offset in range(1 + number % 2))
    entities = (f"Hall {number % 97}",) if number % 3 == 0 else ()
    return Fact(fact_id(content), content, "harbour", 0.8, sources, FIRST_US + number, entities=entities)


def measured(home: Path, store: str, *arguments: str) -> dict[str, float]:
    """One call of the command: seconds of it, and its peak of memory in MB."""
    environment = os.environ | {"HIVE_MIND_HOME": str(home), "HIVE_MIND_EMBED": "none", "HIVE_MIND_STORE": store}
    command = [sys.executable, "-m", "hive_mind", "facts", *arguments]
    start = perf_counter()
    ended = subprocess.run([sys.executable, "-S", "-c", _USED, *command], env=environment, stdout=subprocess.PIPE, text=True)
    code, cpu, peak = ended.stdout.splitlines()[-1].split()
    if int(code):
        raise SystemExit(f"{' '.join(command)}: exit code {code}")
    return {
        "seconds": round(perf_counter() - start, 1),
        "cpu_seconds": round(float(cpu), 1),
        "peak_mb": round(int(peak) / 1024),
    }


# Linux counts as a process's peak also what its parent had when it was started: ours is small, and starts it.
_USED = """
import os, sys
null = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=null)
_, status, used = os.wait4(pid, 0)
print(os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss)
"""


def main() -> None:
    parser = parser_of(__doc__, facts=1_000_000, seed=1)
    parser.add_argument("--store", default="sqlite")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file, again, home = Path(folder, "memory.jsonl"), Path(folder, "again.jsonl"), Path(folder, "home")
        with file.open("w", encoding="utf-8", newline="\n") as out:
            out.writelines(f"{line}\n" for line in lines(given.facts, given.seed))
        rows = {"facts": given.facts, "seed": given.seed, "file_mb": file.stat().st_size >> 20}
        rows |= {"import": measured(home, given.store, "import", str(file))}
        rows |= {"import again": measured(home, given.store, "import", str(file))}
        rows |= {"record_mb": sum(path.stat().st_size for path in home.rglob("*") if path.is_file()) >> 20}
        rows |= {"export": measured(home, given.store, "export", str(again))}
        rows |= {"is the same": file.read_bytes() == again.read_bytes()}
    print(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
