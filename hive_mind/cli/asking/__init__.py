"""Commands that ask an agent."""
