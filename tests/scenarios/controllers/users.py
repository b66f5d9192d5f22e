"""Those who write beside the operator: users of plots and secrets, and others who meddle with what it owns."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from typing import TYPE_CHECKING, Any, TypeAlias

from tests.scenarios.controllers.operator import Plot
from tests.scenarios.controllers.scenario import (
    DeletePlot,
    DeleteSecret,
    EditStatus,
    Meddle,
    PutPlot,
    PutSecret,
    RecreatePlot,
)

import masthead
from masthead.api.core.v1 import ConfigMap, Secret
from masthead.meta import Patch
from masthead.testing.virtual_time import now

if TYPE_CHECKING:
    from masthead.aio import Client
    from masthead.meta import Object

UserStep: TypeAlias = PutPlot | DeletePlot | RecreatePlot | PutSecret | DeleteSecret | Meddle | EditStatus


class Users:
    """Writes as users do: they try again if the server fails, but not for ever.

    Attributes:
        writes: What the operator must look at: the resource, the key of the plot, and uid and version of what was
            written.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self.writes: list[tuple[str, str, str, int]] = []
        self._numbers = itertools.count()

    async def do(self, step: UserStep) -> None:
        """Write as a user, who tries again if the server fails, but not for ever."""
        for attempt in range(6):
            try:
                await self._write(step)
            except masthead.NotFoundError:
                return
            except (masthead.MastheadError, OSError):
                await asyncio.sleep(0.1 * 4**attempt)
            else:
                return

    async def _write(self, step: UserStep) -> None:
        client = self._client
        match step:
            case PutPlot(namespace, name, color, copies, shown):
                spec = {"color": color, "copies": copies, "secret": shown}
                await self.put(client.resource(Plot, namespace), Plot.new(name, spec=spec), {"spec": spec})
            case DeletePlot(namespace, name):
                await client.resource(Plot, namespace).delete(name)
            case RecreatePlot(namespace, name, color, copies):
                plots = client.resource(Plot, namespace)
                with contextlib.suppress(masthead.NotFoundError):
                    await plots.delete(name)
                    await asyncio.sleep(0.01)
                spec = {"color": color, "copies": copies, "secret": ""}
                await self.put(plots, Plot.new(name, spec=spec), {"spec": spec})
            case PutSecret(namespace, name, value):
                secrets = client.core_v1.secrets(namespace)
                data = {"text": value.encode()}
                secret = Secret.new(name, data=data)
                await self.put(secrets, secret, {"data": secret.to_dict()["data"]})
            case DeleteSecret(namespace, name):
                await client.core_v1.secrets(namespace).delete(name)
            case EditStatus(namespace, name, copies):
                status = {"copies": copies, "conditions": [_condition(next(self._numbers))]}
                patch = Patch.merge({"status": status})
                made = await client.resource(Plot, namespace).patch(name, patch, subresource="status")
                self._note("plots.example.com", made)
            case Meddle():
                await self._meddle(step)
            case _:
                raise AssertionError(step)

    async def put(self, resource: Any, obj: Object, change: dict[str, Any]) -> None:
        try:
            made = await resource.create(obj)
        except masthead.AlreadyExistsError:
            made = await resource.patch(obj.metadata.name, self._patch(change))
        if isinstance(made, Plot):
            self._note("plots.example.com", made)

    async def race(self, plot: Plot) -> None:
        """Write a copy of a plot while the operator is about to."""
        with contextlib.suppress(masthead.MastheadError):
            await self._meddle(Meddle("edit", 0), f"plot={plot.metadata.name}", plot.metadata.namespace)

    async def _meddle(self, step: Meddle, selector: str = "plot", namespace: str | None = None) -> None:
        found = await self._client.core_v1.config_maps(namespace).list(label_selector=selector)
        if not found.items:
            return
        chosen = found.items[step.which % len(found.items)]
        maps = self._client.core_v1.config_maps(chosen.metadata.namespace)
        name = chosen.metadata.name
        match step.how:
            case "delete":
                await maps.delete(name)
                return
            case "edit":
                made = await maps.patch(name, self._patch({"data": {"color": "grey"}}))
            case "label":
                made = await maps.patch(name, self._patch({"metadata": {"labels": {"at": str(int(now()))}}}))
            case "steal":
                number = str(next(self._numbers))
                wanted = ConfigMap.new(name, data={"color": "stolen"}, annotations={"number": number})
                made = await maps.apply(wanted, field_manager="thief", force=True)
            case "orphan":
                made = await maps.patch(name, self._patch({"metadata": {"ownerReferences": None}}))
        self._note("configmaps", made, chosen)

    def _patch(self, change: dict[str, Any]) -> Patch:
        """A patch that changes something in any case."""
        metadata = {**change.get("metadata", {}), "annotations": {"number": str(next(self._numbers))}}
        return Patch.merge({**change, "metadata": metadata})

    def _note(self, resource: str, made: Object, before: Object | None = None) -> None:
        """Note a change that the operator must look at."""
        uid, version = made.metadata.uid, int(made.metadata.resource_version)
        if before is None:
            self.writes.append((resource, made.key, uid, version))
            return
        for owner in before.metadata.owner_references:
            if owner.kind == "Plot":
                self.writes.append((resource, f"{made.metadata.namespace}/{owner.name}", uid, version))


def _condition(number: int) -> dict[str, str]:
    at = "2026-01-01T00:00:00Z"
    return {
        "type": "Other",
        "status": "True",
        "reason": f"N{number}",
        "message": "",
        "lastTransitionTime": at,
    }
