"""Defaults of references to a Service, such as that of a webhook."""

from __future__ import annotations

from typing import Final

from masthead_server.resources.defaulting.fill import shape

SERVICE_REFERENCE: Final = shape(unset={"port": 443})
