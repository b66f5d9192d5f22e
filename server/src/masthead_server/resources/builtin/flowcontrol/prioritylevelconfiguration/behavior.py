"""Behavior of PriorityLevelConfigurations."""

from __future__ import annotations

from typing import Final

from masthead_server.resources.behavior import Behavior
from masthead_server.resources.builtin.flowcontrol.prioritylevelconfiguration.defaults import DEFAULTS

BEHAVIOR: Final = Behavior(defaults=DEFAULTS)
