"""An agent's knowledge. `base` is the protocol an agent sees, `cognitive` one agent's own memory behind it, `distributed` the
same with a hive behind that; `gate` is between the two."""
