"""What the installed script calls; `python -m hive_mind` is the same as `hive-mind`.

Loading the command line takes half a second, so it is loaded where Ctrl-C is caught already.
"""

import sys

# That of `cli.running`, which is not loaded yet.
_STOPPED = 130


def main() -> None:
    """Run the command line of this process, and end the process."""
    try:
        from hive_mind.cli.app import main as run
    except KeyboardInterrupt:
        sys.exit(_STOPPED)
    run()


if __name__ == "__main__":
    main()
