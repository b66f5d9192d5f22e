"""Behavior of HorizontalPodAutoscalers."""

from __future__ import annotations

from typing import Final

from masthead_server.resources.behavior import Behavior, Conversion, StrategyHooks
from masthead_server.resources.builtin.autoscaling.horizontalpodautoscaler import conversion
from masthead_server.resources.builtin.autoscaling.horizontalpodautoscaler.defaults import (
    V1_DEFAULTS,
    V2_DEFAULTS,
)
from masthead_server.resources.builtin.autoscaling.horizontalpodautoscaler.validation import (
    scaler_changes,
    scaler_errors,
)
from masthead_server.resources.validation.status import counters

BEHAVIOR: Final = Behavior(
    defaults_by_version={"v1": V1_DEFAULTS, "v2": V2_DEFAULTS},
    hooks=StrategyHooks(
        validate_create=scaler_errors,
        validate_update=scaler_changes,
        validate_status=counters("currentReplicas", "desiredReplicas"),
    ),
    conversions={
        "v1": Conversion(conversion.v1_to_v2, conversion.v2_to_v1),
        "v2": Conversion(conversion.without_v1_annotations, conversion.without_v1_annotations),
    },
)
