"""The example of `hive-mind retrieval`, with a configuration that is good and one that is bad, and the command as a process."""

import json
import subprocess
from pathlib import Path

from tests.acceptance.hive_mind_command import Ended, HiveMind

COMMANDS = ("init", "describe", "validate", "index", "query", "evaluate", "compare", "tune", "deploy", "history")
NAIVE = "v1-naive"
GOOD = {
    "name": "good",
    "collection": "quaymaster",
    "retrieval": {"method": "keyword", "top_k": 5},
    "filters": {"status": ["current"], "audience": ["developers"]},
}
BAD = {
    "name": "bad",
    "collection": "quaymaster",
    "retrieval": {"method": "keyword"},
    "filters": {"category": ["faqs", "changelogs"]},
}


def in_a_process(hive_mind: HiveMind, *arguments: object, stdin: bytes = b"") -> Ended:
    process = hive_mind.start("retrieval", *arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = process.communicate(stdin, timeout=120)
    return Ended(process.returncode, out.decode(), err.decode())


def indexed_example(home: Path) -> Path:
    """The folder of its workspace."""
    hive_mind = HiveMind(home)
    assert hive_mind("retrieval", "init").code == 0
    folder = hive_mind.home / "retrieval"
    for config in (GOOD, BAD):
        (folder / "configs" / f"{config['name']}.json").write_text(json.dumps(config))
    assert hive_mind("retrieval", "index").code == 0
    return folder
