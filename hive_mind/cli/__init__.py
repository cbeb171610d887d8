"""The command line: one command per file, put together in `app`.

`running` turns errors into messages and exit codes, `options` holds what commands have in common, `output` prints.
"""
