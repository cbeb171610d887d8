"""One file for each format: `SUFFIXES`, `PACKAGE` ("" for none), `is_one` (of its first bytes) and `read`. See `register`."""
