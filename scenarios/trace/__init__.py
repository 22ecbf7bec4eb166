"""Two agents at one help desk, their recorded traces, and the changes that a suite must catch or let pass."""
