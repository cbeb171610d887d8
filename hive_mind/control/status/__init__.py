"""What is observed of a fleet, and what people are shown of it."""
