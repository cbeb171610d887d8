"""Commands that show a fleet and change nothing."""
