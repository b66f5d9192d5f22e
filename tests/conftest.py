"""Settings for every test."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# The same examples every time, so that builds are deterministic. HYPOTHESIS_PROFILE=random generates new ones.
# The time to draw examples depends on the machine, not on the code.
SLOW = [HealthCheck.too_slow]
settings.register_profile("same", derandomize=True, suppress_health_check=SLOW, deadline=None)
settings.register_profile("random", suppress_health_check=SLOW, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))
