"""A running server and its controls, for its own event loop and for any other thread."""

from __future__ import annotations

import asyncio
import logging
import math
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from masthead._meta.gvk import GroupVersionResource
from masthead._meta.names import problem_with_dns1123_label
from masthead._module import set_module
from masthead.errors import ArgumentError, ClosedError, ConfigError, RecordingError
from masthead_server.admission.registry import make_chain
from masthead_server.argument_checks import (
    check_port,
    check_seconds,
    check_text,
    check_texts,
    check_type,
    check_whole_number,
)
from masthead_server.authentication.authenticator import RequestAuthenticator
from masthead_server.authentication.signing_keys import SigningKeyFile
from masthead_server.authentication.token_file import read_token_file
from masthead_server.authentication.tokens import TokenAuthenticator
from masthead_server.change_log import ChangeLog
from masthead_server.choices import choose_admission, choose_controllers, set_authorizer
from masthead_server.clock import VirtualClock
from masthead_server.cluster import ClusterState
from masthead_server.controllers.event_expiry import EventExpiryController
from masthead_server.controllers.manager import (
    SCHEDULER,
    ControllerManager,
)
from masthead_server.controllers.objects import ObjectClient, ObjectRef
from masthead_server.controllers.pods import PodController
from masthead_server.credentials import ServerCredentials, check_credentials
from masthead_server.faults import Faults
from masthead_server.field_managers.own_entries import CLUSTER_MANAGER
from masthead_server.files import write_private
from masthead_server.held_watches import HeldWatches
from masthead_server.http import HttpHandler
from masthead_server.idleness import ITERATIONS_TO_ACCEPT, Idleness
from masthead_server.inert_kinds import InertKinds
from masthead_server.kubelet.connecter_table import Connecters
from masthead_server.kubelet.kubelet import Kubelet
from masthead_server.kubelet.ports import check_address
from masthead_server.kubelet.runtime import PodRuntime
from masthead_server.listener import ServerListener
from masthead_server.listening import address_of, explain_error, open_sockets
from masthead_server.loop_caller import LoopCaller
from masthead_server.option_conflicts import LOADED_NODES
from masthead_server.request_metrics import RequestMetrics
from masthead_server.request_origin import CURRENT_ORIGIN, RequestOrigin
from masthead_server.resources.catalog import Catalog
from masthead_server.resources.custom.installer import DefinitionInstaller
from masthead_server.simulated_metrics import ServerMetrics
from masthead_server.snapshot import Snapshot, SnapshotContent, read_snapshot
from masthead_server.storage import JournalError, Storage
from masthead_server.stored_objects import StoredObjects
from masthead_server.tls import can_issue
from masthead_server.verbs.discovery import VERSION
from masthead_server.verbs.rest import Rest
from masthead_server.verbs.watch import WatchLimits
from masthead_server.web.flow_control import abort_connection
from masthead_server.web.server import HttpServer
from masthead_server.wire.options import CollectionOptions, FeatureGates
from masthead_server.wire.request_info import RequestInfo

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from masthead._meta.object import Object
    from masthead_server.certificate_signer import ClientCertificate
    from masthead_server.change_log import RecordedChange
    from masthead_server.clock import Timer
    from masthead_server.kubelet.controller import KubeletController
    from masthead_server.kubelet.lifecycle import PodLifecycle
    from masthead_server.loading.manifests import Manifest
    from masthead_server.profiles.profile import ClusterProfile
    from masthead_server.replay.playback import Playback
    from masthead_server.replay.replay import Replay
    from masthead_server.request_recorder import RecordedRequest
    from masthead_server.settings import Settings
    from masthead_server.wire.plain import Plain

__all__ = ["RecordedWrite", "Server"]

ResultT = TypeVar("ResultT")
ObjectT = TypeVar("ObjectT", bound="Object")
_COMPACT_EVERY: Final = 300.0
"""Seconds between compactions; a continue token or version lives at least as long, and at most twice as
long."""
_STOP_WITHIN: Final = 0.5
"""Seconds for responses to be sent when the server stops."""
_log: Final = logging.getLogger("masthead.server")
_CONNECTIONS: Final = logging.getLogger("masthead.server.connections")
"""Errors of the server itself, outside of what it responds with a Status."""
_IDLE_TIMEOUT: Final = 30.0
_VOLUME_BINDER: Final = "persistentvolumes"
_WILDCARDS: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}
"""Wildcard addresses, and one to connect to instead."""


@set_module("masthead.server")
@dataclass(frozen=True, slots=True)
class RecordedWrite(Generic[ObjectT]):
    """A write to an object, as `Server.history` returns it.

    Attributes:
        type: ``ADDED``, ``MODIFIED`` or ``DELETED``.
        version: The resourceVersion of the write.
        object: The object after the write; for a deletion, its last state.
    """

    type: str
    version: str
    object: ObjectT


@set_module("masthead.server")
class Server:
    """A running server. `masthead.server.run` makes one.

    All methods are thread-safe, but for `start` and `stop`, which `run` calls in the server's own event loop.
    Once the server has stopped, `requests`, `history` and `revision` still work; `compact`, `advance`,
    `wait_for_idle` and `block_until_idle` raise `ClosedError`.

    Attributes:
        url: Its base URL.
        token: The bearer token of clients; None if no authentication is needed.
        faults: The faults to inject.
        kubelet: What runs in pods: their logs, their commands and their phases.
    """

    def __init__(self, settings: Settings) -> None:
        self.url: str = ""
        catalog = Catalog.builtin()
        self.faults: Faults = Faults(catalog, self._release_watches, self._readable_revisions)
        self._settings = settings
        # Before anything is opened: there may be no such plugin.
        plugins = choose_admission(settings)
        self._credentials = ServerCredentials(settings)
        self._loop = LoopCaller()
        self._progress = asyncio.Event()
        before = None if settings.snapshot is None else read_snapshot(settings.snapshot)
        journal = settings.journal()
        try:
            # After the data file: a data file that cannot be opened leaves no token file behind.
            self.token: str | None = settings.resolve_token()
            users = {} if settings.token_file is None else read_token_file(Path(settings.token_file))
            self._keys = SigningKeyFile(settings.signing_key_file, before.signing_key if before else None)
        except ConfigError:
            if journal is not None:
                journal.close()
            raise
        self._storage = Storage(
            journal,
            state=before.state if before else None,
            window=settings.history,
            most_bytes=settings.history_bytes,
        )
        if isinstance(settings.clock, VirtualClock) and self._storage.tables():
            from masthead_server.loading.clock_start import begin_after_objects

            tables = self._storage.tables()
            begin_after_objects(settings.clock, (record.value for _, table in tables for record in table.records()))
        self._profile = None if settings.like is None else _find_profile(settings.like)
        self._cluster = ClusterState(
            self._storage,
            settings.clock,
            catalog,
            seed=settings.seed,
            service_network=self._profile.service_network if self._profile else None,
            # A profile shows the authority in its objects.
            authority=self._credentials.authority if self._profile else self._credentials.known_authority,
            on_idle=self._progress.set,
        )
        self._cluster.tokens = TokenAuthenticator(self._cluster, admin=self.token, users=users, keys=self._keys)
        self._cluster.tokens.accounts.label_used_secret = self._label_secret
        self._cluster.find_signer = self._credentials.find_signer
        self._labelling: set[asyncio.Task[bool]] = set()
        set_authorizer(self._cluster, settings)
        self._cluster.admission = make_chain(self._cluster, plugins)
        self._definitions = DefinitionInstaller(self._cluster)
        self._stored = StoredObjects(self._cluster)
        # Before anything is written, so that it has all changes.
        self._change_log = self._make_change_log(settings, before.changes if before else ())
        inert_kinds = InertKinds(
            is_alone=settings.controllers is not False,
            controllers=choose_controllers(settings),
            enforces_roles=self._cluster.escalation is not None,
        )
        self._runtime = PodRuntime(self._cluster)
        self._cluster.observe(self._runtime.served.table, self._runtime.observe)
        self.kubelet: Kubelet = Kubelet(
            self._runtime,
            lambda: self._lifecycle,
            self._loop.call,
            lambda write: self._loop.perform(write, self._cluster.background),
        )
        self._controllers = self._make_controllers(settings)
        limits = WatchLimits(
            bookmark_every=settings.bookmark_every,
            timeout=settings.watch_timeout,
            backlog=settings.backlog,
        )
        gates = FeatureGates(watch_list=settings.watch_list, sharded_list_and_watch=settings.sharded_list_and_watch)
        self._handler = HttpHandler(
            Rest(self._cluster, self.faults, limits, self._progress.set, gates),
            self.faults,
            authenticator=RequestAuthenticator(
                self._cluster.tokens,
                settings.clock,
                needs_credentials=self.token is not None,
                allows_anonymous=settings.anonymous is not False,
            ),
            authorizer=lambda: self._cluster.authorizer,
            hosts=settings.hosts(),
            clock=settings.clock,
            revision=lambda: self._storage.revision,
            on_idle=self._progress.set,
            metrics=RequestMetrics(self._storage, settings.clock.now().timestamp(), VERSION),
            connecters=Connecters(self._runtime),
            inert_kinds=inert_kinds,
            records_origins=settings.record_changes,
        )
        self._idleness = Idleness(
            self._cluster, self._handler, self._controllers, self._progress, self._loop.check_running
        )
        self._held_watches = HeldWatches(self.faults, self._storage, self._handler.watchers)
        self._storage.find_pin = self._held_watches.find_oldest_revision
        self._http = HttpServer(self._handler.handle, clock=settings.clock, logger=_CONNECTIONS)
        self._manifests: Sequence[Manifest] = ()
        self._listeners: list[ServerListener] = []
        self._compaction_timer: Timer | None = None
        self._last_revision = self._storage.revision

    @cached_property
    def _lifecycle(self) -> PodLifecycle:
        from masthead_server.kubelet.lifecycle import PodLifecycle  # which servers without pods do not need

        return PodLifecycle(self._runtime, 1 if self._settings.nodes is None else self._settings.nodes)

    @cached_property
    def _playback(self) -> Playback | None:
        if self._settings.recording is None:
            return None
        from masthead_server.replay.playback import open_playback  # which few servers need

        return open_playback(self._settings, self._cluster)

    @property
    def replay(self) -> Replay:
        """The replay of the server's recording.

        Raises:
            ConfigError: If the server has none.
        """
        from masthead_server.replay.replay import Replay

        if self._playback is None:
            raise ConfigError("this server replays no recording: start it with run(recording=...)")
        return Replay(self._playback, self._loop)

    def _make_change_log(self, settings: Settings, before: Sequence[RecordedChange]) -> ChangeLog | None:
        if not settings.record_changes:
            return None
        limits = {"max_changes": settings.history, "max_bytes": settings.history_bytes}
        return ChangeLog(self._cluster, before=before, **limits)

    def _make_controllers(self, settings: Settings) -> ControllerManager:
        made = ControllerManager(
            self._cluster,
            choose_controllers(settings),
            self._progress.set,
            records_origins=settings.record_changes,
        )
        if settings.event_ttl < math.inf:
            ttl = timedelta(seconds=settings.event_ttl)
            made.add("event-expiry", EventExpiryController(ObjectClient(self._cluster), ttl))
        if settings.runs_pods:
            from masthead_server.kubelet.controller import KubeletController
            from masthead_server.kubelet.lifecycle import KUBELET

            client = ObjectClient(self._cluster, KUBELET)
            kubelet = KubeletController(client, self._lifecycle)
            made.add("kubelet", kubelet)
            self._lifecycle.nodes.on_change = lambda node: self._report_change(kubelet, node)
            self._connect_node_controller(made)
            pods = made.controllers.get("pods")
            if isinstance(pods, PodController):
                pods.has_kubelet = True
        if SCHEDULER in made.controllers and _VOLUME_BINDER in made.controllers:
            from masthead_server.scheduling.scheduler import Scheduler

            scheduler = made.controllers[SCHEDULER]
            if isinstance(scheduler, Scheduler):
                scheduler.wait_for_claims()
        for name, seconds in settings.controller_delays.items():
            made.set_delay(name, seconds)
        return made

    def _connect_node_controller(self, made: ControllerManager) -> None:
        if "node-lifecycle" not in made.controllers:
            return
        from masthead_server.controllers.node_lifecycle.lifecycle import NodeLifecycleController

        controller = made.controllers["node-lifecycle"]
        if isinstance(controller, NodeLifecycleController):
            controller.has_kubelet = self._lifecycle.nodes.runs
            self._lifecycle.nodes.has_controller = True

    def _report_change(self, kubelet: KubeletController, node: str) -> None:
        """Reconcile a node that has failed or recovered, since neither changes an object."""
        self._controllers.enqueue("kubelet", kubelet.resume(node))
        self._controllers.enqueue("node-lifecycle", [ObjectRef("nodes", node)])

    async def start(self) -> None:
        """Start to listen; `run` calls this in the server's own event loop.

        Raises:
            ConfigError: If the server cannot listen on the address, or a dump or a node is refused.
        """
        settings = self._settings
        # Before the sockets, which a broken dump would leave open.
        if dumps := settings.dumps():
            from masthead_server.loading.container_logs import load_logs
            from masthead_server.loading.loader import load_dump

            self._manifests = await load_dump(self._cluster, dumps)
            await load_logs(self._runtime, dumps)
        if self._playback is not None:
            self._start_playback(self._playback)
        try:
            sockets = open_sockets(settings.host, settings.port)
        except OSError as error:
            problem = f"cannot listen on {settings.host}:{settings.port}: {explain_error(error)}"
            raise ConfigError(f"{problem}. Name another port, or none for any that is free.") from None
        ip, port = address_of(sockets[0])
        host = _WILDCARDS.get(settings.host, settings.host)
        # Before the first request, which finds all that every cluster has.
        try:
            await self._add_first_objects(_WILDCARDS.get(ip, ip), port)
        except BaseException:  # a node or a manifest is refused
            for listening in sockets:
                listening.close()
            raise
        # One listener per address: "localhost" is often two.
        for listening in sockets:
            listener = ServerListener(
                listening,
                self._http,
                context=self._credentials.tls_context,
                requires_tls=settings.tls,
                clock=settings.clock,
            )
            self._listeners.append(listener)
            listener.start()
        self.url = f"{'https' if settings.tls else 'http'}://{f'[{host}]' if ':' in host else host}:{port}"
        scheme = "https" if settings.tls or can_issue() else "http"
        self._cluster.url = f"{scheme}://{self.url.partition('://')[2]}"
        self._compaction_timer = settings.clock.call_later(_COMPACT_EVERY, self._compact_and_reschedule)

    def _start_playback(self, playback: Playback) -> None:
        try:
            playback.start(self._settings.at, self._settings.speed)
        except (ArgumentError, RecordingError) as error:
            raise ConfigError(str(error)) from None

    async def _add_first_objects(self, ip: str, port: int) -> None:
        if self._playback is None:
            self._cluster.add_first_namespaces()
        await self._add_nodes()
        if self._settings.bootstrap:
            from masthead_server.controllers.bootstrap import BootstrapController

            bootstrap = BootstrapController(self._cluster, ip, port)
            bootstrap.store_all()
            self._controllers.add("bootstrap", bootstrap)
        installation = None
        if self._profile is not None:
            from masthead_server.profiles.installation import ProfileInstallation

            installation = ProfileInstallation(self._cluster, self._profile, self._lifecycle.nodes.runs)
            installation.add_controllers(self._controllers)
        self._cluster.is_replaying = self._playback is not None
        self._controllers.start()
        self._cluster.is_replaying = False
        self._controllers.drain()
        if installation is not None:
            # With the controllers that create service accounts, which pods need.
            await installation.install()
            self._controllers.drain()
        if self._manifests:
            from masthead_server.loading.manifests import create_manifests

            await create_manifests(self._cluster, self._manifests)
            self._controllers.drain()

    async def _add_nodes(self) -> None:
        """Register the nodes. Those of a dump are the nodes, but a profile relies on its own.

        Raises:
            ConfigError: If the user has chosen others, or a node is refused.
        """
        settings = self._settings
        is_loaded = bool(settings.dumps() and self._storage.table("nodes").count)
        if is_loaded and settings.nodes is not None and settings.has_own_nodes:
            raise ConfigError(LOADED_NODES)
        if settings.runs_pods and (not is_loaded or self._profile is not None):
            await self._lifecycle.nodes.register_all()

    async def stop(self) -> None:
        """End every watch, finish the requests in flight, and release the port, the timers and the file.

        `run` calls this at the end of its block, in the server's own event loop. A second call does nothing.
        """
        if self._loop.has_stopped:
            return
        self._loop.has_stopped = True
        # A connection that is half accepted when the listener closes would leak: so accept no more of them,
        # and let those finish that are being accepted.
        for listener in self._listeners:
            listener.stop_accepting()
        for _ in range(ITERATIONS_TO_ACCEPT):
            await asyncio.sleep(0)
        for listener in self._listeners:
            listener.close()
        if self._compaction_timer is not None:
            self._compaction_timer.cancel()
        if (playback := vars(self).get("_playback")) is not None:
            playback.stop()
        self._controllers.stop()
        self._cluster.background.close()
        self._cluster.process_turns.close()
        for watch in tuple(self._handler.watchers):
            watch.end()
        for connection in tuple(self._handler.connections):
            connection.cancel()
        if "_lifecycle" in vars(self):
            self._lifecycle.close()
        self._runtime.close()
        transports = [connection.transport for connection in self._http.connections]
        await self._http.shut_down(_STOP_WITHIN)
        # Closing waits for unsent bytes.
        for transport in transports:
            if transport is not None:
                abort_connection(transport)  # or one whose client does not read would stay open
        await asyncio.sleep(0)
        # Last: requests that were under way may still write.
        self._storage.close()
        self._progress.set()

    def __repr__(self) -> str:
        return f"<Server {self.url or 'that does not listen yet'}{', stopped' if self._loop.has_stopped else ''}>"

    @property
    def metrics(self) -> ServerMetrics:
        """The metrics that autoscalers read: what pods use, and any others."""
        return ServerMetrics(self._cluster.metrics, self._loop.call, self._cluster.catalog.kinds)

    @property
    def ca(self) -> str:
        """The certificate authority, in PEM; empty if none can be made, because the extra ``tls`` is not installed."""
        return self._credentials.authority

    def _label_secret(self, namespace: str, name: str, labels: Mapping[str, str]) -> None:
        """Label a Secret in the background: a request with its token does not wait for that."""

        def add_labels(secret: Plain) -> None:
            secret["metadata"].setdefault("labels", {}).update(labels)

        client = ObjectClient(self._cluster, CLUSTER_MANAGER)
        task = self._loop.loop.create_task(client.update(ObjectRef("secrets", f"{namespace}/{name}"), add_labels))
        self._labelling.add(task)
        task.add_done_callback(self._end_labelling)

    def _end_labelling(self, task: asyncio.Task[bool]) -> None:
        self._labelling.discard(task)
        # The next use of the token labels the Secret.
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("cannot label the Secret of a token as used: %s", error, exc_info=error)

    def client_certificate(
        self, user: str, groups: Sequence[str] = (), *, uid: str = "", lifetime: timedelta = timedelta(days=365)
    ) -> ClientCertificate:
        """Issue a certificate that identifies a user to this server, over TLS.

        Args:
            user: The user name.
            groups: The groups; ``system:masters`` may do everything.
            uid: The uid.
            lifetime: How long it is valid, on the clock of the server.

        Raises:
            ConfigError: If the extra ``tls`` is not installed.
            TypeError: If a name is no text, the groups are no list, or the lifetime is no timedelta.
            ArgumentError: If a name does not fit into a certificate, or the lifetime is not positive.
        """
        return self._credentials.issue_client(user, groups, uid, lifetime)

    def kubeconfig(self, credentials: str | ClientCertificate | None = None) -> str:
        """Return a kubeconfig for this server, as YAML, credentials included.

        Its address is that of TLS, because Go's clients send no token without. Where no certificates can be made (the
        extra
        ``tls`` is not installed), the token is part of the path instead. A server without a token needs neither.

        Args:
            credentials: A token, or the certificate of a user; by default the token of the administrator, or his
                certificate on a server that was started with `like`.

        Raises:
            TypeError: If the credentials are something else.
            ArgumentError: If the token is empty.
        """
        if credentials is not None:
            check_credentials(credentials)
        administrator = self._profile.administrator if self._profile else None
        if credentials is None and administrator is not None and can_issue():
            credentials = self.client_certificate(administrator.name, administrator.groups)
        return self._credentials.kubeconfig(self.url, self.token if credentials is None else credentials, administrator)

    def write_kubeconfig(self, path: str | Path, credentials: str | ClientCertificate | None = None) -> Path:
        """Write the kubeconfig to a file that only its owner can read; return its path.

        The file is replaced atomically.

        Args:
            path: The file.
            credentials: A token, or the certificate of a user; the token of the administrator by default.

        Raises:
            ConfigError: If the file cannot be written, or is a symbolic link.
            TypeError: If the path is none, or the credentials are something else.
            ArgumentError: If the token is empty.
        """
        check_type("path", path, str | Path, "a path")
        target = Path(path)
        try:
            write_private(target, self.kubeconfig(credentials))
        except OSError as error:
            problem = f"cannot write a kubeconfig to {target}: {error.strerror}"
            raise ConfigError(f"{problem}. Name a file in a folder that exists and that you may write.") from None
        return target

    @property
    def revision(self) -> int:
        """The revision of the last write."""
        return self._storage.revision

    @property
    def requests(self) -> list[RecordedRequest]:
        """The last 10,000 requests, oldest first, with the bodies of the last of them, 8 MiB in all.

        A request is recorded once it has been read, before the response. A request that was refused before
        its body was read (no token, a wrong one, a foreign host) is recorded without its body; the last 1,000
        of these are recorded separately. Paths, queries and headers take 16 MiB at most, those of
        refused requests 2 MiB: the oldest requests are dropped first.
        """
        return self._loop.read(lambda: list(self._handler.recorder))

    def history(self, obj: ObjectT) -> list[RecordedWrite[ObjectT]]:
        """Return every write to the object of this kind, namespace and name since the last compaction.

        Writes to an object that was deleted and created again are all included; their uids differ.

        Raises:
            TypeError: If it is no object.
            UnknownKindError: If the server does not serve the kind.
            ArgumentError: If the kind is namespaced, and the object has no namespace; or if its version is one
                that a webhook converts to.
        """
        served, key = self._stored.locate(obj)
        writes = self._loop.read(lambda: self._stored.read_history(served, key))
        # Decoded in the thread of the caller.
        return [RecordedWrite(kind, version, type(obj).from_json(body)) for kind, version, body in writes]

    def changes(self, since: int = 0) -> list[RecordedChange]:
        """Return all changes of all objects, oldest first, with the requests behind them.

        The log has the last changes, within ``history`` and ``history_bytes`` of `run`, whatever is compacted.

        Args:
            since: Only changes after this revision.

        Raises:
            ConfigError: If the server does not record changes.
            TypeError: If the revision is no whole number.
            ArgumentError: If it is negative.
        """
        check_whole_number("since", since, minimum=0)
        log = self._change_log
        if log is None:
            raise ConfigError("this server does not record changes: start it with run(record_changes=True)")
        return self._loop.read(lambda: log.since(since))

    def dump(self, revision: int | None = None) -> dict[str, dict[str, object]]:
        """Return every stored object as plain data, by resource (``deployments.apps``) and key (``default/web``).

        Args:
            revision: The revision to read; the present one by default.

        Raises:
            TypeError: If the revision is no whole number.
            ArgumentError: If the revision does not exist yet, or is compacted.
        """
        stored = self._loop.read(lambda: self._stored.read_all(revision))
        # Decoded in the thread of the caller.
        return {resource: {key: decode(value) for key, value in values.items()} for resource, decode, values in stored}

    def snapshot(self) -> Snapshot:
        """Return the current store: all objects, with the history that is not compacted, and recorded changes."""

        def take() -> Snapshot:
            changes = () if self._change_log is None else tuple(self._change_log.since(0))
            content = SnapshotContent(self._storage.state(), self._keys.known_key, changes)
            return Snapshot(content.state.revision, content)

        return self._loop.read(take)

    def restore(self, snapshot: Snapshot) -> None:
        """Bring the objects of a snapshot back, as an administrator does who restores etcd from a backup.

        Objects have the resourceVersions of their last writes; objects created since the snapshot are removed. The
        revision of the store increases, so that none repeats: open watches end, and older versions and continue tokens
        expire with 410, so that clients list again. Allocations of addresses and ports, definitions, roles and the
        configurations of admission follow; controllers reconcile the changes. Faults remain.

        Args:
            snapshot: A snapshot of this server, or of another one in this process.

        Raises:
            ArgumentError: If it is no snapshot.
            ClosedError: If the server has stopped.
        """
        state = read_snapshot(snapshot).state

        def bring_back() -> None:
            origin = CURRENT_ORIGIN.get()
            CURRENT_ORIGIN.set(RequestOrigin(client="restore"))
            try:
                self._cluster.restore(state)
            finally:
                CURRENT_ORIGIN.set(origin)
            self._last_revision = self._storage.revision

        self._loop.call(bring_back)

    def versions(
        self,
        resource: GroupVersionResource,
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        shard_selector: str = "",
        client: str = "",
    ) -> dict[str, str]:
        """Return the resourceVersions of the objects of a list, by ``namespace/name``, without a request.

        Args:
            resource: The resource.
            namespace: The namespace; empty for all.
            label_selector: The label selector.
            field_selector: The field selector.
            shard_selector: The shard selector.
            client: The name of a client, to return what its watches show while faults hold events back.

        Raises:
            TypeError: If the resource is none, or another argument no text.
            UnknownKindError: If the server does not serve the resource.
            ArgumentError: If a selector is invalid.
        """
        check_type("resource", resource, GroupVersionResource, "a GroupVersionResource")
        check_texts(
            "selectors, namespace and client", [label_selector, field_selector, shard_selector, namespace, client]
        )
        options = CollectionOptions(label_selector, field_selector, shard_selector)
        info = RequestInfo("watch", resource.group, resource.resource, namespace, client=client)

        def read() -> dict[str, str]:
            shown = self._held_watches.find_shown_revision(info, options)
            return self._stored.list_versions(resource, namespace, options, shown)

        return self._loop.read(read)

    def listen_on_service(
        self, service: str, target: int | tuple[str, int], *, port: int = 443, allow_remote: bool = False
    ) -> None:
        """Let something listen behind a Service that webhooks refer to, for admission and for conversion.

        The Service itself, with that port, has to exist when a webhook is called, as in a cluster. A webhook gets the
        name ``NAME.NAMESPACE.svc``, which its certificate must have. A second call replaces the target.

        Args:
            service: The Service: ``shop/hook``, or ``hook`` of the namespace ``default``.
            target: What answers: a port of this machine, or a host and a port.
            port: The Service's port.
            allow_remote: Whether the target may be another machine.

        Raises:
            TypeError: If an argument has another type.
            ValueError: If no Service has such a name, if a port does not exist, or if the target is another machine and
                that is not allowed.
        """
        check_text("service", service)
        check_port(port)
        expected = "a port, or a host and a port listens behind a Service"
        address = check_address(target, allow_remote=allow_remote, expected=expected)
        namespace, slash, name = service.rpartition("/")
        for label in (namespace if slash else "default", name):
            if problem := problem_with_dns1123_label(label):
                raise ValueError(f"{label!r} is no name of a Service or namespace: it {problem}")
        self._cluster.services.listen(namespace or "default", name, port, address)

    def pending_work(self) -> list[str]:
        """Return what keeps the server from being idle, as `wait_for_idle` waits for it; empty if it is idle."""
        return [] if self._loop.has_stopped else self._loop.call(self._idleness.pending_work)

    def delay_controller(self, name: str, seconds: float) -> None:
        """Let a built-in controller act on changes only so many seconds of the server's clock later.

        The delay counts from the last change of an object by others; during it, `pending_work` lists the controller.
        0 ends the delay, so that the controller acts immediately.

        Args:
            name: The controller, as for ``controllers`` of `run`, or ``kubelet``.
            seconds: The delay.

        Raises:
            TypeError: If the delay is no number.
            ConfigError: If no controller of this name runs, or the delay is negative or endless.
            ClosedError: If the server has stopped.
        """
        self._loop.call(lambda: self._controllers.set_delay(name, seconds))

    def compact(self, revision: int | None = None) -> int:
        """Compact the history up to a revision, the present one by default; return that revision.

        Older versions and continue tokens expire. Open watches that have been sent everything continue; a
        watch that lags behind is closed.

        Raises:
            TypeError: If the revision is no whole number.
            ArgumentError: If the revision does not exist yet.
            ClosedError: If the server has stopped.
        """
        return self._loop.call(lambda: self._storage.compact(self._stored.check_compaction(revision)))

    def advance(self, seconds: float) -> None:
        """Advance a virtual clock; timers that are due on the way fire, in order and each at its own time.

        Controllers reconcile on the way, too, so that many small steps have the same effect as a large one.
        Processes in containers differ: a sleeping script or coroutine continues after this call, so that each call
        ends one of its pauses at most. Advance in steps, and `wait_for_idle` after each.
        What goes to clients, such as bookmarks, has been sent once `wait_for_idle` returns.

        Raises:
            ConfigError: If the server uses the system's clock.
            TypeError: If the number of seconds is no number.
            ValueError: If it is negative or NaN, or leads beyond the year 9999.
            ClosedError: If the server has stopped.
        """
        clock = self._settings.clock
        if not isinstance(clock, VirtualClock):
            raise ConfigError("only a virtual clock can be advanced: start the server with clock=VirtualClock")
        self._loop.call(lambda: clock.advance(seconds, drain=self._controllers.drain))

    async def wait_for_idle(self, *, timeout: float = _IDLE_TIMEOUT) -> None:  # noqa: ASYNC109 - real time, as for the blocking form
        """Wait until the server is idle: nothing happens any more without a request or a timer.

        That is so when every request that has been read is responded to, the controllers have nothing left to
        reconcile, and every watch has been sent all its events: handed to the network, that is, not
        necessarily read by the client. A watch that a fault has silenced, or that was closed because its
        client did not read, has nothing left to send. One whose client does not read, and is not closed yet,
        is waited for.

        Every process in a container has ended or pauses: a script or coroutine of a container, an exec, a probe or a
        hook waits for the clock, for input or for another process. One that never pauses keeps the server from being
        idle. Plain functions run in threads, and only those of probes are waited for, on a virtual clock and for a
        second.

        Args:
            timeout: Seconds of real time, whatever the clock.

        Raises:
            TimeoutError: If it does not become idle in time; the message names the pending work.
            TypeError: If the timeout is no number.
            ArgumentError: If it is negative or NaN.
            ClosedError: If the server has stopped, or stops during the wait.
        """
        check_seconds("timeout", timeout)
        self._loop.check_running()
        if self._loop.is_own_thread():
            await self._idleness.wait(timeout)
        else:
            waiting = asyncio.run_coroutine_threadsafe(self._idleness.wait(timeout), self._loop.loop)
            await asyncio.wrap_future(waiting)

    def block_until_idle(self, *, timeout: float = _IDLE_TIMEOUT) -> None:
        """Block until the server is idle, as `wait_for_idle` awaits it.

        Raises:
            TimeoutError: If it does not become idle in time; the message names the pending work.
            ClosedError: If the server has stopped, or stops during the wait.
            TypeError: If the timeout is no number.
            ArgumentError: If it is negative or NaN.
            ConfigError: If it is called in the server's own event loop, which it would block.
        """
        check_seconds("timeout", timeout)
        self._loop.check_running()
        if self._loop.is_own_thread():
            raise ConfigError("this would block the server's own event loop: await server.wait_for_idle() instead")
        asyncio.run_coroutine_threadsafe(self._idleness.wait(timeout), self._loop.loop).result()

    def _compact_and_reschedule(self) -> None:
        """Compact up to the revision of the last time, and schedule the next time."""
        with suppress(JournalError):  # the disk may have room the next time
            self._storage.compact(self._storage.before_pin(self._last_revision))
        self._last_revision = self._storage.revision
        self._compaction_timer = self._settings.clock.call_later(_COMPACT_EVERY, self._compact_and_reschedule)

    def _readable_revisions(self) -> tuple[int, int]:
        return self._storage.compacted, self._storage.revision

    def _release_watches(self) -> None:
        with suppress(ClosedError):
            self._loop.call(self._held_watches.release)


def _find_profile(name: str) -> ClusterProfile:
    from masthead_server.profiles.registry import find_profile  # which few servers need

    return find_profile(name)
