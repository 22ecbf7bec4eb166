"""The reference agent over the trace seam."""
