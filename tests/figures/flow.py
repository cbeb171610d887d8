"""How much of hive_mind really runs for one command: its functions, their files, and how deep they call. Without imports.

`python -m tests.figures.flow FILE COMMAND …` is the command under a profiler, which writes that to FILE. Its times mean nothing.
"""

import atexit
import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from types import FrameType

import hive_mind

_ROOM = str(Path(hive_mind.__file__).parent) + os.sep
_TEXT = "The deploy key of Juniper is kept in vault 7.\nStaging runs on port 8443.\nAnna leads the billing team since March.\n"
_LIMIT_S = 120


def flows() -> dict[str, int]:
    """Of three sentences learned and of one question, each by one process that has nothing open, by keywords."""
    figures = {}
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "HIVE_MIND_EMBED": "none", "HIVE_MIND_HOME": f"{folder}/home"}
        for name, words in (("learn", ["learn", "-"]), ("ask", ["ask", "On which port does staging run?"])):
            command = [sys.executable, "-m", "tests.figures.flow", f"{folder}/{name}", *words]
            subprocess.run(
                command, env=environment, input=_TEXT, text=True, check=True, timeout=_LIMIT_S, stdout=subprocess.DEVNULL
            )
            figures |= {f"{what} of {name}": count for what, count in json.loads(Path(folder, name).read_bytes()).items()}
    return figures


class Flow:
    """The functions that ran, by file, and the most of them that stood on one stack."""

    def __init__(self) -> None:
        self.functions: set[tuple[str, str]] = set()
        self.deepest = 0

    def note(self, frame: FrameType, event: str, _: object) -> None:
        """Called by the interpreter for each call."""
        if event != "call" or not frame.f_code.co_filename.startswith(_ROOM):
            return
        depth, caller = 0, frame
        while caller is not None:
            code, caller = caller.f_code, caller.f_back  # type: ignore[assignment]
            if code.co_filename.startswith(_ROOM):
                depth += 1
                if code.co_name == "<module>":
                    return
        # A comprehension is a part of its function.
        if not frame.f_code.co_qualname.endswith(">"):
            self.functions.add((frame.f_code.co_filename, frame.f_code.co_qualname))
        self.deepest = max(self.deepest, depth)

    def write(self, path: Path) -> None:
        sys.setprofile(None)
        files = {file for file, _ in self.functions}
        path.write_text(json.dumps({"functions": len(self.functions), "files": len(files), "depth": self.deepest}), "utf-8")


if __name__ == "__main__":
    from hive_mind.__main__ import main

    flow, target = Flow(), Path(sys.argv[1])
    sys.argv = ["hive-mind", *sys.argv[2:]]
    atexit.register(flow.write, target)
    threading.setprofile(flow.note)
    sys.setprofile(flow.note)
    main()
