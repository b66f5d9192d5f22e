"""The structural schemas of values that Kubernetes gives a meaning beyond their type."""

from __future__ import annotations

from typing import Final

from masthead._schema.schema import Schema

__all__ = ["ANYTHING", "EMBEDDED", "INT_OR_STRING", "QUANTITY", "QUANTITY_PATTERN", "TIME"]

QUANTITY_PATTERN: Final = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
"""The pattern by which a quantity is recognized."""

INT_OR_STRING: Final = Schema(any_of=(Schema(type="integer"), Schema(type="string")), int_or_string=True)
QUANTITY: Final = Schema(
    any_of=(Schema(type="integer"), Schema(type="string")), pattern=QUANTITY_PATTERN, int_or_string=True
)
TIME: Final = Schema(type="string", format="date-time")
ANYTHING: Final = Schema(preserve_unknown=True)
"""Any JSON."""
EMBEDDED: Final = Schema(type="object", embedded_resource=True, preserve_unknown=True)
"""A whole object of any kind."""
