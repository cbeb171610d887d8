"""The files that people write: the manifest, read and checked, explained, and counted out into agents."""
