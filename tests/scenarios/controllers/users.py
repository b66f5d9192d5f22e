"""Those who write beside the operator: users of plots and secrets, and others who meddle with what it owns."""

from __future__ import annotations

import asyncio
import contextlib
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
        writes: What the operator must look at: the resource, the key of the plot, and the version of each write.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self.writes: list[tuple[str, str, int]] = []

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
                patch = Patch.merge({"status": {"copies": copies}})
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
            made = await resource.patch(obj.metadata.name, Patch.merge(change))
        if isinstance(made, Plot):
            self._note("plots.example.com", made)

    async def _meddle(self, step: Meddle) -> None:
        found = await self._client.core_v1.config_maps(None).list(label_selector="plot")
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
                made = await maps.patch(name, Patch.merge({"data": {"color": "grey"}}))
            case "label":
                made = await maps.patch(name, Patch.merge({"metadata": {"labels": {"at": str(int(now()))}}}))
            case "steal":
                wanted = ConfigMap.new(name, data={"color": "stolen"})
                made = await maps.apply(wanted, field_manager="thief", force=True)
            case "orphan":
                made = await maps.patch(name, Patch.merge({"metadata": {"ownerReferences": None}}))
        self._note("configmaps", made, chosen)

    def _note(self, resource: str, made: Object, before: Object | None = None) -> None:
        """Note a change that the operator must look at."""
        version = int(made.metadata.resource_version)
        if before is None:
            self.writes.append((resource, made.key, version))
            return
        for owner in before.metadata.owner_references:
            if owner.kind == "Plot" and made.metadata.resource_version != before.metadata.resource_version:
                self.writes.append((resource, f"{made.metadata.namespace}/{owner.name}", version))
