"""The gate: facts an agent shares and facts that stay home."""
