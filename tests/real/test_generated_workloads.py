"""A real server accepts and refuses the steps of generated workloads as the embedded one does."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, cast

import pytest
from tests.unit.testing.test_generated_workloads import DEFINITIONS, steps_of

import masthead
from masthead.testing import Environment, generate_workload

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tests.real_server import RealServer

pytestmark = pytest.mark.real


def rename(definition: Mapping[str, object], number: int) -> dict[str, Any]:
    """Return a definition in a group of its own: all are on one server."""
    renamed = copy.deepcopy(cast("dict[str, Any]", definition))
    renamed["spec"]["group"] = group = f"generated-{number}.example.com"
    renamed["metadata"]["name"] = f"{renamed['spec']['names']['plural']}.{group}"
    return renamed


@pytest.mark.parametrize("name", DEFINITIONS)
async def test_a_real_server_accepts_valid_states_and_refuses_others(real_server: RealServer, name: str) -> None:
    definition = rename(DEFINITIONS[name], list(DEFINITIONS).index(name))
    workload = generate_workload(definition, seed=5)
    config = masthead.Config(server=real_server.url, token=real_server.token, ca_file=real_server.ca_file)
    async with Environment(config=config, crds=[definition]) as env:
        for step in steps_of(workload):
            before = len(workload.notes)
            await step.act(env)
            refusals = [note for note in workload.notes[before:] if note.startswith("refused:")]
            assert bool(refusals) is (step.kind == "refused"), (step.name, refusals)
