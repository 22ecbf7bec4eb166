"""Profiles, one per protocol: each module holds `PROFILE`. replay/transport/profile.py says what that is."""

__all__: list[str] = []
