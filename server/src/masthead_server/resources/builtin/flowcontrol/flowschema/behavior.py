"""Behavior of FlowSchemas."""

from __future__ import annotations

from typing import Final

from masthead_server.resources.behavior import Behavior
from masthead_server.resources.builtin.flowcontrol.flowschema.defaults import DEFAULTS

BEHAVIOR: Final = Behavior(defaults=DEFAULTS)
