"""Settings for every test."""

from __future__ import annotations

import os

from hypothesis import settings

# The same examples every time: a build must not fail by chance. To look for new ones, set HYPOTHESIS_PROFILE=random.
settings.register_profile("same", derandomize=True)
settings.register_profile("random")
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))
