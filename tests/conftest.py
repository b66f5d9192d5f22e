"""Settings for every test."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# The same examples every time: a build must not fail by chance. To look for new ones, set HYPOTHESIS_PROFILE=random.
# How long drawing takes says something about the machine, and nothing about the code.
SLOW = [HealthCheck.too_slow]
settings.register_profile("same", derandomize=True, suppress_health_check=SLOW, deadline=None)
settings.register_profile("random", suppress_health_check=SLOW, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))
