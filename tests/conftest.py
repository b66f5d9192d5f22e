"""Settings for every test."""

from __future__ import annotations

import os
import signal

from hypothesis import HealthCheck, settings

# The same examples every time, so that builds are deterministic. HYPOTHESIS_PROFILE=random generates new ones.
# The time to draw examples depends on the machine, not on the code.
SLOW = [HealthCheck.too_slow]
settings.register_profile("same", derandomize=True, suppress_health_check=SLOW, deadline=None)
settings.register_profile("random", suppress_health_check=SLOW, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))

# Programs inherit what is ignored: without this, those that tests interrupt would go on where the tests themselves were
# started in the background, or by nohup.
for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number is signal.SIGINT else signal.SIG_DFL)
