"""The operator under test: plots have copies in ConfigMaps, something outside the cluster, a status and a summary."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from tests.scenarios.controllers.judge import Judge

import masthead
from masthead.api.core.v1 import ConfigMap, Secret
from masthead.meta import Condition, Patch, Struct
from masthead.meta import set_controller as own
from masthead.testing.virtual_time import now

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from tests.scenarios.controllers.scenario import Mishap, Operator

    from masthead.aio import ReconcileContext
    from masthead.controller import CacheReader

FINALIZER: Final = "example.com/plot"
SUMMARY: Final = "summary"
TIMEOUT: Final = 40.0
"""Seconds after which a reconcile is cancelled."""


class PlotSpec(Struct):
    """What is wanted."""

    color: str = "red"
    copies: int = 0
    secret: str = ""


class PlotStatus(Struct):
    """What there is."""

    observed_generation: int | None = None
    copies: int = 0
    conditions: list[Condition] = []


class Plot(masthead.CustomResource, group="example.com", version="v1"):
    """A piece of land."""

    spec: PlotSpec
    status: PlotStatus


class OnPurposeError(Exception):
    """The error of what must fail."""


class OutsideWorld:
    """What the operator keeps outside the cluster, and must clean up.

    Attributes:
        things: What there is: the uid of each plot, and its key.
        cleanups: How often each uid was cleaned up.
    """

    def __init__(self) -> None:
        self.things: dict[str, str] = {}
        self.cleanups: dict[str, int] = {}


async def _nothing(_: Plot) -> None: ...


class OperatorUnderTest:
    """Makes managers, all of the same operator.

    Attributes:
        judge: Watches the reconciles.
        outside: What is outside the cluster.
        mishaps: What goes wrong next.
        most_copies: Counts copies, if that can be exact.
        on_race: Writes what others write at the same time.
    """

    def __init__(self, plan: Operator) -> None:
        self.plan = plan
        self.judge = Judge()
        self.outside = OutsideWorld()
        self.mishaps: list[Mishap] = []
        self.most_copies: Counting | None = None
        self.on_race: Callable[[Plot], Awaitable[None]] = _nothing

    def manager(self) -> masthead.Manager:
        """A manager with both controllers."""
        plan = self.plan
        app = masthead.Manager("gardener", leader_election="gardener" if plan.elects else None)
        app.controller(
            Plot,
            owns=[ConfigMap],
            watches={Secret: self.plots_of_secret},
            workers=plan.workers,
            timeout=TIMEOUT,
            resync=plan.resync,
            finalizer=FINALIZER,
            ignore_own_writes=plan.ignores_own,
        )(self.reconcile_plot)
        summaries = self.summarize_in_thread if plan.in_threads else self.summarize
        app.controller(
            ConfigMap,
            name="summaries",
            label_selector=f"kind={SUMMARY}",
            watches={Plot: self.summary_of_plot},
            timeout=TIMEOUT,
            ignore_own_writes=plan.ignores_own,
        )(summaries)
        return app

    # Mappers.

    def plots_of_secret(self, secret: Secret, cache: CacheReader) -> Iterable[Plot]:
        """The plots that show a secret."""
        self._fail_if("map")
        plots = cache.list(Plot, namespace=secret.metadata.namespace)
        return [plot for plot in plots if plot.spec.secret == secret.metadata.name]

    def summary_of_plot(self, plot: Plot) -> masthead.controller.Request:
        """The summary of a plot's namespace."""
        self._fail_if("map")
        return masthead.controller.Request(plot.metadata.namespace, SUMMARY)

    # Reconcilers.

    async def reconcile_plot(self, ctx: ReconcileContext[Plot], plot: Plot) -> masthead.controller.Result | None:
        """Make the copies of a plot, and show how many there are."""
        with self.judge.reconciling("plots", ctx):
            self._fail_if("raise first")
            self._postpone_if()
            await self._linger()
            is_over = await ctx.finalize(lambda: self._clean_up(plot))
            self.judge.wrote("plots", ctx, "plots.example.com", ctx._primary.latest)
            if is_over:
                return None
            self.outside.things[plot.metadata.uid] = plot.key
            secret = await ctx.get(Secret, plot.spec.secret) if plot.spec.secret else None
            text = str(secret.data.get("text")) if secret is not None else ""
            data = {"color": plot.spec.color, "secret": text}
            if self._takes("race"):
                await self.on_race(plot)
            await getattr(self, f"_{self.plan.style}")(ctx, plot, data)
            self._fail_if("raise last")
            copies = len(await ctx.owned(ConfigMap))
            ready = ctx.condition("Ready", copies == plot.spec.copies, "Counted", f"{copies} copies")
            await ctx.update_status({"copies": copies}, conditions=[ready])
            self.judge.wrote("plots", ctx, "plots.example.com", ctx._primary.latest)
            return masthead.controller.Result(requeue_after=self.plan.requeue) if self.plan.requeue else None

    async def summarize(self, ctx: ReconcileContext[ConfigMap], summary: ConfigMap) -> None:
        """Count the plots of a namespace."""
        with self.judge.reconciling("summaries", ctx):
            count = str(len(await ctx.list(Plot)))
            if summary.data.get("count") != count:
                copy = summary.copy()
                copy.data["count"] = count
                made = await ctx.client.core_v1.config_maps(summary.metadata.namespace).update(copy)
                self.judge.wrote("summaries", ctx, "configmaps", made)

    def summarize_in_thread(self, ctx: masthead.ReconcileContext[ConfigMap], summary: ConfigMap) -> None:
        """Count the plots of a namespace, in a thread."""
        with self.judge.reconciling("summaries", ctx._async):
            count = str(len(ctx.list(Plot)))
            if summary.data.get("count") != count:
                copy = summary.copy()
                copy.data["count"] = count
                made = ctx.client.core_v1.config_maps(summary.metadata.namespace).update(copy)
                self.judge.wrote("summaries", ctx._async, "configmaps", made)

    # How copies are written.

    async def _apply(self, ctx: ReconcileContext[Plot], plot: Plot, data: dict[str, str]) -> None:
        names = [f"{plot.metadata.name}-{number}" for number in range(plot.spec.copies)]
        for name in names:
            made = await ctx.apply(ConfigMap.new(name, labels={"plot": plot.metadata.name}, data=data))
            self.judge.wrote("plots", ctx, "configmaps", made)
        for each in await ctx.owned(ConfigMap):
            if each.metadata.name not in names:
                await self._delete(ctx, each)

    async def _update(self, ctx: ReconcileContext[Plot], plot: Plot, data: dict[str, str]) -> None:
        names = [f"{plot.metadata.name}-{number}" for number in range(plot.spec.copies)]
        maps = ctx.client.core_v1.config_maps(plot.metadata.namespace)
        for name in names:
            wanted = ConfigMap.new(name, labels={"plot": plot.metadata.name}, data=data)
            wanted.metadata.namespace = plot.metadata.namespace
            own(wanted, plot)
            cached = await ctx.get(ConfigMap, name)
            if cached is None:
                self.judge.wrote("plots", ctx, "configmaps", await maps.create(wanted))
                continue
            copy = cached.copy()
            copy.data.update(data)
            copy.metadata.labels["plot"] = plot.metadata.name
            copy.metadata.owner_references = wanted.metadata.owner_references
            if copy != cached:
                self.judge.wrote("plots", ctx, "configmaps", await maps.update(copy))
        for each in await ctx.owned(ConfigMap):
            if each.metadata.name not in names:
                await self._delete(ctx, each)

    async def _generate(self, ctx: ReconcileContext[Plot], plot: Plot, data: dict[str, str]) -> None:
        maps = ctx.client.core_v1.config_maps(plot.metadata.namespace)
        there = [each for each in await ctx.owned(ConfigMap) if each.metadata.deletion_timestamp is None]
        there.sort(key=lambda each: each.metadata.name)
        for _ in range(plot.spec.copies - len(there)):
            labels = {"plot": plot.metadata.name, "owner": plot.metadata.uid}
            wanted = ConfigMap.new("", labels=labels, data=data)
            wanted.metadata.generate_name = f"{plot.metadata.name}-"
            wanted.metadata.namespace = plot.metadata.namespace
            own(wanted, plot)
            if self.most_copies is not None:
                self.most_copies.check(plot)
            self.judge.wrote("plots", ctx, "configmaps", await maps.create(wanted))
        for each in there[plot.spec.copies :]:
            await self._delete(ctx, each)
        for each in there[: plot.spec.copies]:
            labels = {"plot": plot.metadata.name}
            if {**each.data, **data} != each.data or each.metadata.labels.get("plot") != plot.metadata.name:
                patch = Patch.merge({"data": data, "metadata": {"labels": labels}})
                self.judge.wrote("plots", ctx, "configmaps", await maps.patch(each.metadata.name, patch))

    async def _delete(self, ctx: ReconcileContext[Plot], copy: ConfigMap) -> None:
        await ctx.delete(copy)
        self.judge.deleted("plots", ctx, "configmaps", copy)

    # What goes wrong.

    async def _clean_up(self, plot: Plot) -> None:
        self._fail_if("cleanup")
        uid = plot.metadata.uid
        self.outside.cleanups[uid] = self.outside.cleanups.get(uid, 0) + 1
        self.outside.things.pop(uid, None)

    async def _linger(self) -> None:
        if self._takes("hang"):
            await asyncio.sleep(100_000)
        if self._takes("slow"):
            await asyncio.sleep(TIMEOUT / 2)
        if self._takes("stubborn"):
            try:
                await asyncio.sleep(100_000)
            finally:
                await asyncio.sleep(3)
        if self._takes("cancel"):
            raise asyncio.CancelledError

    def _postpone_if(self) -> None:
        if self._takes("raise temporary"):
            raise masthead.TemporaryError("not now", delay=3.0)

    def _fail_if(self, mishap: Mishap) -> None:
        if self._takes(mishap):
            raise OnPurposeError(f"{mishap} at {now():g}")

    def _takes(self, mishap: Mishap) -> bool:
        if mishap in self.mishaps:
            self.mishaps.remove(mishap)
            return True
        return False


class Counting:
    """Sees at each create whether there are enough copies already, by the server's own count."""

    def __init__(self, server: Any, judge: Judge) -> None:
        self._server = server
        self._judge = judge

    def check(self, plot: Plot) -> None:
        """A copy is created though the operator itself has created enough."""
        found = self._server.versions(
            masthead.GroupVersionResource("", "v1", "configmaps"),
            namespace=plot.metadata.namespace,
            label_selector=f"plot={plot.metadata.name},owner={plot.metadata.uid}",
        )
        if len(found) >= plot.spec.copies:
            self._judge.problems.append(
                f"at {now():.3f}: another copy of {plot.key} is created, though there are {len(found)}"
            )
