"""The contract of an agent: all that it can be asked, and how it answers."""
