"""A package whose bytecode is built by py_bytecode."""
