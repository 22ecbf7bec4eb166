"""The `replay` command: one module a subcommand, registered in main.py."""

__all__: list[str] = []
