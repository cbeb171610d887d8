"""The entry point of the installed script; `python -m hive_mind` is the same as `hive-mind`.

Loading the command line takes half a second, so it is loaded where Ctrl-C is caught already.
"""

import gc
import os
import sys
from io import FileIO
from pathlib import Path

_OBJECTS_BETWEEN_COLLECTIONS = 50_000
# These compute so little that numpy's threads cost more than they give: to begin them takes a tenth of a second of CPU.
_BRIEF = frozenset({"ask", "facts", "hook", "learn", "sources", "stats"})
_WORKER = ["agent", "--config"]
# That of `cli.running`, which is not loaded yet.
_STOPPED = 130


def main() -> None:
    """Run the command line of this process, and end the process."""
    if sys.getfilesystemencoding() == "ascii":
        # A locale without letters beyond English, and `PYTHONUTF8=0`, which keeps Python from speaking UTF-8 in it all the
        # same: names and texts would lose what they have of these.
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])  # noqa: S606 - ourselves
    # The parent may have closed them (`>&-`, some daemons). Their numbers must not go to files that we open. Standard output is
    # opened to be read, so that writing fails as to a closed one: a result that nobody gets is no success.
    for name, mode, access in (("stdin", "r", os.O_RDONLY), ("stdout", "w", os.O_RDONLY), ("stderr", "w", os.O_WRONLY)):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, access), mode, encoding="utf-8"))
    if isinstance(getattr(sys.stdout, "buffer", None), FileIO):
        # Where Python does not buffer, as in our image, what a full disk or a signal cuts short would be lost without a word.
        sys.stdout = os.fdopen(sys.stdout.fileno(), "w", 1, sys.stdout.encoding, sys.stdout.errors, closefd=False)
    # Loading makes much that stays; looking through it again and again takes a sixth of a short command's time.
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    # A process that it starts would inherit that, and is not brief.
    if _BRIEF.intersection(sys.argv[1:2]) and "--watch" not in sys.argv:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        # Of a worker, and of a question to a process that runs, most of the command line need not be loaded.
        if sys.argv[1:3] == _WORKER and len(sys.argv) == len(_WORKER) + 2:
            from hive_mind.cli.agent_config import run_alone

            return run_alone(Path(sys.argv[-1]))
        if sys.argv[1:2] == ["ask"]:
            from hive_mind.cli.asking.quick_ask import asked_and_answered

            if asked_and_answered(sys.argv[1:]):
                return None
        from hive_mind.cli.app import app

        app(prog_name="hive-mind")
    except KeyboardInterrupt:
        # Between commands' own handling: while modules load, or a second Ctrl-C.
        sys.exit(_STOPPED)


if __name__ == "__main__":
    main()
