"""`python -m tests.figures`: the figures of this tree, beside those when a redesign began; `--map` writes docs/map.md anew."""

import sys

from tests.figures import rooms
from tests.figures.figures import BEGUN, figures
from tests.figures.flow import flows

if __name__ == "__main__":
    if sys.argv[1:] == ["--map"]:
        rooms.PAGE.write_text(rooms.page(), "utf-8")
    elif sys.argv[1:]:
        sys.exit(__doc__)
    else:
        for name, value in {**figures(), **flows()}.items():
            begun = BEGUN.get(name)
            print(f"{name:36} {value:>12,}" + (f"   {value - begun:+,} of {begun:,}" if begun is not None else ""))
