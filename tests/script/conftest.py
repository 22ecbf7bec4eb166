"""Property tests of this room: a busy machine must not fail them."""

from hypothesis import HealthCheck, settings

settings.register_profile("room", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("room")
