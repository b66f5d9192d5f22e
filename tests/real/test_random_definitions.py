"""CustomResourceDefinitions with random mistakes: the embedded server and a real one respond alike.

Empty lists, maps and texts count as unset here. The real server tells them apart in a few messages.

``MASTHEAD_RANDOM_DEFINITIONS`` is the number of definitions, ``MASTHEAD_RANDOM_SEED`` what they are made from.
"""

from __future__ import annotations

import http.client
import json
import os
import re
from contextlib import closing
from random import Random
from typing import TYPE_CHECKING, Any

from tests.conformance.target import Target, embedded_target, real_target
from tests.real.random_definitions import DefinitionMutator

if TYPE_CHECKING:
    from tests.real.random_definitions import Plain
    from tests.real_server import RealServer

DEFINITIONS = int(os.environ.get("MASTHEAD_RANDOM_DEFINITIONS", "60"))
SEED = int(os.environ.get("MASTHEAD_RANDOM_SEED", "1"))
PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All"
MOST_DIFFERENCES = 20


def test_definitions_with_random_mistakes_are_answered_alike(real_server: RealServer) -> None:
    mutator = DefinitionMutator(Random(SEED))
    different: list[str] = []
    with embedded_target() as embedded:
        real = real_target(real_server)
        with closing(real.connect()) as there, closing(embedded.connect()) as here:
            for number in range(DEFINITIONS):
                definition = mutator.definition()
                expected, actual = _post(there, real, definition), _post(here, embedded, definition)
                # Some definitions make the real server panic: selectable fields of a schema that it cannot read.
                if expected != actual and expected["status"] is not None:
                    different.append(f"{number}: {_difference(expected, actual)}\n{json.dumps(definition)}")
                if len(different) >= MOST_DIFFERENCES:
                    break
    assert not different, "\n\n".join(different)


def _post(connection: http.client.HTTPConnection, target: Target, definition: Plain) -> Plain:
    """Send a definition; returns what is compared, without an order where the real server has none."""
    headers = {"Authorization": f"Bearer {target.token}", "Content-Type": "application/json"}
    try:
        connection.request("POST", PATH, json.dumps(definition).encode(), headers)
        response = connection.getresponse()
    except http.client.RemoteDisconnected:
        connection.close()
        return {"status": None}
    body: Plain = json.loads(response.read())
    causes: list[Plain] = (body.get("details") or {}).get("causes") or []
    found: Plain = {"status": response.status, "warnings": sorted(response.headers.get_all("Warning") or [])}
    if response.status == 201:
        return found | {"spec": body["spec"], "object status": body["status"]}
    if causes:
        # Messages of the real server name the types of objects by random numbers.
        errors = sorted(
            (caus["field"], caus["reason"], re.sub(r"selfType\d+", "selfType", caus["message"])) for caus in causes
        )
        return found | {"errors": [list(error) for error in errors]}
    return found | {"message": body["message"]}


def _plain(message: str) -> str:
    """Return a message without the random numbers in the names of types, and with what is empty as unset."""
    return re.sub(r"selfType\d+", "selfType", re.sub(r":(\[\]|\{\})(?=[,}])", ":null", message))


def _difference(expected: Plain, actual: Plain) -> str:
    if expected.keys() != actual.keys() or "errors" not in expected:
        return f"real {_shown(expected)}\nhere {_shown(actual)}"
    missing = [each for each in expected["errors"] if each not in actual["errors"]]
    added = [each for each in actual["errors"] if each not in expected["errors"]]
    return f"missing {_shown(missing)}\nadded {_shown(added)}\nwarnings {actual['warnings']}"


def _shown(value: Any) -> str:
    return json.dumps(value)[:1000]
