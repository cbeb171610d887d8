"""The files of a workspace: what may stand in them, reading and writing them, a workspace to begin with."""
