"""What an agent knows. `base` is the protocol an agent sees; `cognitive` is one agent's own memory behind it."""
