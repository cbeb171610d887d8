"""Processes of this machine: started, known again, asked, read and ended; the private Redis server is one."""
