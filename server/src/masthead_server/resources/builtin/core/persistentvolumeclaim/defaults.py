"""Defaults of PersistentVolumeClaims."""

from __future__ import annotations

from typing import Final

from masthead_server.resources.defaulting.fill import round_up, shape
from masthead_server.resources.defaulting.pod_template import CLAIM_SPEC

CLAIM: Final = shape(
    always={"spec": CLAIM_SPEC, "status": shape(blank={"phase": "Pending"})},
    inside={"status": shape(inside={"capacity": round_up, "allocatedResources": round_up})},
)
"""A claim of storage, which templates of claims are too."""
