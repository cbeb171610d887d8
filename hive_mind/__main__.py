"""`python -m hive_mind` is the same as `hive-mind`."""

from hive_mind.cli.app import main

if __name__ == "__main__":
    main()
