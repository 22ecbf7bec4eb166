"""An agent built on pydantic-ai, over the trace seam."""
