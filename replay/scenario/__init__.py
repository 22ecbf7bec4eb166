"""A scenario's directory: its layout, loading it for a run, guarding it, writing it back.

Loading is on the replay path and imports neither the guard (`guard`, `content`) nor pydantic (`edges`).
"""

from replay.scenario.load import Scenario, ScenarioFiles, load_scenario

__all__ = ["Scenario", "ScenarioFiles", "load_scenario"]
