"""The command: `python -m tests.replay` shows what is answered otherwise; `--update` writes the files anew, `--build` the homes.

Names of homes may follow: alone, flat, sharded.
"""

import sys
import tempfile
from pathlib import Path

from tests.replay.homes import HOMES, built
from tests.replay.replay import differences, replies
from tests.servers import children, forked


def main(words: list[str]) -> int:
    options = {word for word in words if word.startswith("-")}
    names = [word for word in words if word not in options] or list(HOMES)
    if options - {"--update", "--build"} or set(names) - set(HOMES):
        print(__doc__, file=sys.stderr)
        return 2
    children.begin_session()
    for name in names:
        if "--build" in options:
            with tempfile.TemporaryDirectory() as folder:
                built(HOMES[name], Path(folder).resolve())
            continue
        with tempfile.TemporaryDirectory() as folder:
            answered = replies(HOMES[name], Path(folder).resolve())
        for file, text in answered.items():
            print("\n".join(differences(file, text)))
            if "--update" in options:
                file.write_text(text, "utf-8")
    forked.stop()
    return 0


sys.exit(main(sys.argv[1:]))
