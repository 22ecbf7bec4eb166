"""Nothing: what starting a Python program costs before it does anything."""
