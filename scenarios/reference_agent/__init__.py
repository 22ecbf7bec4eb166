"""A small coding agent that speaks the Agent Client Protocol over stdio.

    server.py     what a client may ask of us: one method per protocol request
    editor.py     what we ask of the client: updates, permissions, questions
    session.py    one conversation: its state is a fold over its log (state.py, journal.py, store.py)
    turn.py       a prompt: steps until the model has nothing left to do (call.py is one model call)
    dispatch.py   the tool calls of one step: hooks, permission, running, results in call order
    model/        the seam to a model, one adapter a file
    tools/        what the model can do, one noun a file

Start it with `python -m scenarios.reference_agent --config config.yaml`.
"""

__all__ = ["__version__"]

__version__ = "1.0.0"
