"""What an agent shares and what stays home."""
