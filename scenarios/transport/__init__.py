"""The scenarios of transport replay, and the world that they play in."""
