"""The command line, put together in `app`: a file has one command, or those that belong together.
Commands of a kind have a folder; those of one agent are here.

`running` turns errors into messages and exit codes, `options` holds what commands have in common, `output` prints.
"""
