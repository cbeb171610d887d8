"""Pages of manuals as `man` prints them, in files and in web pages."""

from pathlib import Path

from hive_mind.runtime.texts.text_files import read_text

PAGE = """\
CLEAN(1)                     General Commands                     CLEAN(1)

NAME
       clean - removes what nobody needs

OPTIONS
       -n     Only  show what would be removed, and re-
              move nothing.

       -d days

       --days days
              Keep what is younger (default: 14).  For example:

                  clean -d 30
                    --all

              It counts from midnight.

   Signals
       o      TERM ends it
              at once.

Version 2                         May 2026                        CLEAN(1)
"""
SHOWN = """\
# CLEAN(1)

## NAME

clean - removes what nobody needs

## OPTIONS

- -n

  - Only show what would be removed, and remove nothing.

- -d days, --days days

  - Keep what is younger (default: 14). For example:

```
    clean -d 30
      --all
```

  - It counts from midnight.

### Signals

- TERM ends it at once.
"""


def test_a_page_becomes_sections_options_and_examples(tmp_path: Path) -> None:
    (tmp_path / "clean.txt").write_text(PAGE)
    assert read_text(tmp_path / "clean.txt") == SHOWN
    (tmp_path / "clean.html").write_text(f"<html><body><pre>{PAGE.replace('days', '<i>days</i>')}</pre></body></html>")
    assert read_text(tmp_path / "clean.html") == SHOWN


def test_other_texts_stay_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("Notes on f(1)\n\n    It is hot.\n")
    assert read_text(tmp_path / "notes.txt") == "Notes on f(1)\n\n    It is hot.\n"
