"""The command: `python -m tests.inventory` shows what appeared and vanished; with `--update` the file says so from now on."""

import sys

from tests.inventory.inventory import FILE, changes, inventory


def main(words: list[str]) -> int:
    if words not in ([], ["--update"]):
        print(__doc__, file=sys.stderr)
        return 2
    lines = inventory()
    print("\n".join(changes(lines)) or "nothing appeared, nothing vanished")
    if words:
        FILE.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return 0


sys.exit(main(sys.argv[1:]))
