"""The model seam: what stands in for the model at its outermost boundary, in a process and on the wire.

`ReplayModel` is for Python agents and needs nothing else of this project. The gateway, for agents of any language,
is `replay.models.gateway` and is imported by the runner alone: it needs h11 and threads.
"""

from replay.models.replay_model import ModelCallError, ReplayModel

__all__ = ["ModelCallError", "ReplayModel"]
