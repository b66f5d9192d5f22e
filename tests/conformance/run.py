"""Runs cases against a server."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from tests.conformance.api import api_for_a_case
from tests.conformance.normal import normalised

if TYPE_CHECKING:
    from tests.conformance.api import Plain
    from tests.conformance.case import Case
    from tests.conformance.target import Target


def responses(case: Case, target: Target) -> list[Plain]:
    """Run a case in a namespace of its own, and return what is compared."""
    namespace = f"case-{secrets.token_hex(4)}"
    with api_for_a_case(target, namespace) as api:
        case.script(api)
    return normalised(api.steps, namespace)
