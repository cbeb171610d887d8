"""What should run and what to do so that it does. Pure: everything is handed in, and nothing is touched."""
