"""The desired processes and the steps towards them. Pure: everything is handed in, and nothing is touched."""
