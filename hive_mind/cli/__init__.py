"""The command line: one command per file, put together in `app`. Commands of a kind have a folder; those of one agent are here.

`running` turns errors into messages and exit codes, `options` holds what commands have in common, `output` prints.
"""
