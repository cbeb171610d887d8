"""An agent's memory for other programs' agents, over the Model Context Protocol."""
