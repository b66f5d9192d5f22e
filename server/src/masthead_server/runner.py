"""Runs a server in the current event loop, or in a new thread."""

from __future__ import annotations

import asyncio
import threading
from contextlib import asynccontextmanager, nullcontext
from typing import TYPE_CHECKING, cast

from masthead._meta.fork_pauses import paused_at_forks
from masthead._meta.green_threads import refuse_green_threads
from masthead._module import set_module
from masthead.errors import ConfigError
from masthead_server.clock import SystemClock, VirtualClock
from masthead_server.server import Server
from masthead_server.setting_checks import is_clock
from masthead_server.settings import Settings, Token

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Collection, Coroutine, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path
    from types import TracebackType

    from masthead._recording.recording import RecordedMoment, Recording
    from masthead_server.clock import Clock
    from masthead_server.node_templates import NodeTemplate
    from masthead_server.snapshot import Snapshot

__all__ = ["ServerRunner", "run", "run_alone"]


@set_module("masthead.server")
def run(  # noqa: PLR0913 - each is something that a user may want to say
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    data: str | Path | None = None,
    snapshot: Snapshot | None = None,
    load: str | Path | Sequence[str | Path] = (),
    recording: str | Path | Recording | None = None,
    at: RecordedMoment | None = None,
    speed: float | None = None,
    token: str | Token | None = Token.RANDOM,
    token_file: str | Path | None = None,
    anonymous: bool | None = None,
    tls: bool = False,
    like: str | None = None,
    authorization: str | None = None,
    admission: bool | Collection[str] | Mapping[str, bool] = True,
    controllers: bool | Collection[str] = True,
    controller_delays: Mapping[str, float] | None = None,
    bootstrap: bool = True,
    workloads: bool | None = None,
    kubelet: bool | None = None,
    nodes: int | Sequence[NodeTemplate | Mapping[str, object]] | None = None,
    clock: Clock | type[Clock] | None = None,
    bookmark_every: float = 60.0,
    watch_timeout: float = 1800.0,
    watch_list: bool = True,
    sharded_list_and_watch: bool = False,
    event_ttl: float = 3600.0,
    history: int = 10_000,
    history_bytes: int = 64 * 1024 * 1024,
    backlog: int = 10_000,
    seed: int | None = None,
    record_changes: bool = False,
    allow_remote: bool = False,
    allowed_hosts: Sequence[str] = (),
) -> ServerRunner:
    """Run a server in a context.

    ``async with run() as server`` runs it in the current event loop; ``with run() as server`` runs it in a new
    thread, for blocking code. It stops at the end of the block, and forgets its objects unless ``data`` names a file.
    Any number of servers can run side by side, with one call of `run` per server.

    Args:
        host: The address to listen on.
        port: The port; 0 for any that is free.
        data: A file to store objects in, created if it does not exist. Without one they are in memory. The certificate
            authority, a random token and the key of service-account tokens are stored next to it: with the same `port`,
            kubeconfigs survive a restart.
        snapshot: The objects to begin with, with their history: the store of an earlier server in this process. With
            the same `port` and `token`, its clients continue as after the restart of an API server.
        load: Files and folders to begin with, in YAML or JSON: manifests, the output of ``kubectl get -o yaml``, the
            folder of ``kubectl cluster-info dump``. They retain uids, times, status and managed fields. Only for an
            empty store.
        recording: A recording to replay: its path, or an open one. The server has the recorded objects of a moment,
            with their uids, versions, times and status. No controller runs unless `controllers` lists it, there are no
            bootstrap objects, Events do not expire, and `history_bytes` alone limits the history.
        at: The moment; see `masthead.recording.RecordedMoment`. By default the begin with a `speed`, the end without.
        speed: Play the changes after that moment on the server's clock, so many times faster than recorded; 0 for as
            fast as possible. Writes are refused meanwhile. None to stand still; see `Server.replay`.
        token: The bearer token of the administrator; a random one by default, None to accept every request.
        token_file: A file with further users, in the format of kube-apiserver's ``--token-auth-file``: lines of token,
            user name, uid and optionally groups (``secret,jane,1001,"developers,testers"``).
        anonymous: Whether requests without credentials are those of the user ``system:anonymous``, to whom everything
            is allowed unless roles are enforced; False to refuse them all. By default they may read health and version,
            and what roles allow them, if roles are enforced.
        tls: Serve TLS only. Without, the port speaks plain HTTP and TLS: `Server.url` is ``http://...``, and the
            kubeconfig has the address for TLS, if the extra ``tls`` is installed. `Server.ca` is the certificate
            authority: stored next to `data` for later runs, otherwise in memory.
        like: The kind of cluster that the server resembles from its start: ``kind`` for one of ``kind create cluster``,
            with its nodes, the pods in ``kube-system``, a StorageClass and the roles of kubeadm. Implies ``workloads``,
            ``kubelet`` and ``authorization="node,rbac"``; ``nodes`` counts the control plane, too. Contradicts what
            switches a part of it off: ``controllers``, ``bootstrap``, ``workloads`` or ``kubelet=False``.
        authorization: What decides who may do what: ``always-allow``, the default, allows everything to everyone with
            credentials, ``rbac`` decides by the stored roles and bindings, as every cluster does, and ``node,rbac``
            also limits kubelets to the objects of their own node. As for kube-apiserver, any combination of
            ``always-allow``, ``always-deny``, ``node`` and ``rbac`` is possible. The token of `Server.token` belongs to
            ``system:masters``, and may always do everything.
        admission: The admission plugins: True for kube-apiserver's defaults, False for none, the names of the only ones
            to run, or a mapping that switches some on or off, such as ``{"PodSecurity": False}``.
            ``ServiceAccount`` is off unless the controller ``serviceaccounts`` runs or the plugin is named, because
            otherwise the accounts that it requires do not exist.
        controllers: Whether to run controllers, or the names of those to run: ``namespaces`` deletes what
            terminating namespaces contain, ``garbage`` collects garbage, ``pods`` ends pods when their grace
            period is over, ``volumes`` releases claims and volumes that nothing uses, ``deletions`` completes
            deletions that a full disk interrupted, ``serviceaccounts`` and ``root-ca`` keep a service account and a
            ConfigMap in every namespace, ``aggregation`` fills in aggregated ClusterRoles, ``serviceaccount-tokens``
            fills the Secrets of service accounts, ``certificate-signing`` signs approved certificate requests,
            ``certificate-approval`` approves those of kubelets, ``certificate-cleaner`` deletes old ones.
            With a kubelet there are also ``scheduler``, ``node-lifecycle``, ``taint-eviction`` and ``pod-gc``;
            a list leaves out what it does not name. False is kube-apiserver alone, and contradicts ``workloads``,
            ``kubelet``, ``nodes`` and ``like``.
            (The garbage collector also deletes objects whose owners do not exist, as the real one does;
            owners of kinds that this server does not serve count as existing.)
        controller_delays: Seconds until a controller acts on a change, by its name, such as ``{"garbage": 30.0}``;
            ``kubelet`` is one of them. See `Server.delay_controller`.
        bootstrap: Whether the server has from the start what every cluster has: the Service ``kubernetes`` with its
            endpoints, RBAC's roles and bindings, priority classes, flow schemas and priority levels, the default
            ServiceCIDR, and in every namespace the service account ``default`` and the ConfigMap
            ``kube-root-ca.crt``. Without, there are only the four namespaces of every cluster.
        workloads: Whether Deployments, ReplicaSets, StatefulSets and ReplicationControllers get their pods, by the
            controllers ``deployments``, ``replicasets``, ``statefulsets`` and ``replicationcontrollers``. The pods
            stay pending unless there is a kubelet. Without, which is the default, a test writes the status of a
            Deployment itself. A list of `controllers` is extended by those of workloads.
        kubelet: Whether every new pod is scheduled and started, ephemeral containers are started, and deleted pods end
            immediately. Without, `Server.kubelet` starts pods on request. By default, there is a kubelet if there are
            ``nodes``. The scheduler is the controller ``scheduler``, which `controllers` names or leaves out.
        nodes: The nodes: how many, or templates (see `NodeTemplate`; mappings of its fields, or manifests of nodes),
            which imply ``kubelet=True`` and contradict ``kubelet=False``. By default, a kubelet has the nodes of the
            dump that is loaded, or else the node ``masthead-node``. A number means ``masthead-node``,
            ``masthead-node-2`` and so on, spread over three zones, and contradicts a dump with nodes.
        clock: The clock, or a class to make one of for this server alone; the system's by default. See
            `VirtualClock`.
        bookmark_every: Seconds between a watch's bookmarks.
        watch_timeout: Seconds until a watch ends; a request may set its own.
        watch_list: Whether a watch may send initial events (``sendInitialEvents``); otherwise it is refused.
        sharded_list_and_watch: Whether lists and watches can be limited to a shard (``shardSelector``), as with the
            feature gate ``ShardedListAndWatch``, alpha in Kubernetes 1.36; otherwise the parameter is ignored.
        event_ttl: Seconds until an Event is removed, counted from its last write; ``math.inf`` to keep them all.
        history: How many revisions of history to keep; those older than ten minutes are compacted in any
            case.
        history_bytes: How many bytes of history to keep at most: superseded and deleted states. Older watches
            and continue tokens expire, as they do when there are too many revisions.
        backlog: How many changes may be pending for a watch whose client does not read; after that it is
            closed.
        seed: Makes uids and generated names the same in every run.
        record_changes: Whether to record every change with the request behind it, for `Server.changes`.
        allow_remote: Allow a host that other machines can reach.
        allowed_hosts: Further host names of the server, such as ``host.docker.internal``; ``"*"`` for any.
            Requests without a bearer token must use a name of this machine (``localhost``, ``127.0.0.1``,
            ``::1``), `host` or one of these, and so must the origin of web pages: otherwise any web page
            could send requests to a server without a token. With `allow_remote`, numeric addresses are
            allowed, too.

    Raises:
        ConfigError: On entering the context: If the address or the file is not available, a value is invalid or
            contradicts another one, another server uses the same virtual clock, or the context was entered before.
    """
    return ServerRunner(
        Settings(
            host=host,
            port=port,
            data=data,
            snapshot=snapshot,
            load=load,
            recording=recording,
            at=at,
            speed=speed,
            token=token,
            token_file=token_file,
            anonymous=anonymous,
            tls=tls,
            like=like,
            authorization=authorization,
            admission=admission,
            controllers=controllers,
            controller_delays={} if controller_delays is None else controller_delays,
            bootstrap=bootstrap,
            workloads=workloads,
            kubelet=kubelet,
            nodes=nodes,
            clock=_clock_of(clock),
            bookmark_every=bookmark_every,
            watch_timeout=watch_timeout,
            watch_list=watch_list,
            sharded_list_and_watch=sharded_list_and_watch,
            event_ttl=event_ttl,
            history=history,
            history_bytes=history_bytes,
            backlog=backlog,
            seed=seed,
            record_changes=record_changes,
            allow_remote=allow_remote,
            allowed_hosts=allowed_hosts,
        )
    )


def _clock_of(clock: Clock | type[Clock] | None) -> Clock:
    if clock is None:
        return SystemClock()
    # Other classes are refused with the other settings.
    return clock() if isinstance(clock, type) and is_clock(clock) else cast("Clock", clock)


@set_module("masthead.server")
class ServerRunner:
    """Runs a server for the length of one block; to be entered with ``async with`` or ``with``, once."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._was_entered = False
        self._block: AbstractAsyncContextManager[Server] | None = None
        self._thread: _ServerThread | None = None

    async def __aenter__(self) -> Server:
        self._enter_once()
        self._block = serving(self._settings)
        return await self._block.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        block, self._block = self._block, None
        if block is not None:
            await block.__aexit__(kind, error, trace)

    def __enter__(self) -> Server:
        self._enter_once()
        self._thread = _ServerThread(self._settings)
        return self._thread.start_server()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.stop_server()

    def _enter_once(self) -> None:
        if self._was_entered:
            raise ConfigError("this server was started before; call masthead.server.run() again for another")
        self._was_entered = True


@asynccontextmanager
async def serving(settings: Settings) -> AsyncGenerator[Server]:
    """Run a server in this event loop for the length of a block.

    Raises:
        ConfigError: If the settings are invalid, or the address or the file is not available.
    """
    settings.check()
    if settings.like is not None:
        from masthead_server.profiles.resolution import resolve  # which few servers need

        settings = resolve(settings, settings.like)
    if settings.recording is not None:
        settings = settings.for_replay()
    clock = settings.clock
    with clock.claim() if isinstance(clock, VirtualClock) else nullcontext():
        server = Server(settings)
        # The start is inside, so that what it opened before it failed is closed, too.
        try:
            await server.start()
            yield server
        finally:
            await server.stop()


def run_alone(serve: Coroutine[object, object, None]) -> None:
    """Run a server in a new event loop: uvloop's if it is installed."""
    with asyncio.Runner(loop_factory=_fastest_loop()) as runner:
        runner.run(serve)


def _fastest_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:
        # The default of Windows cannot watch sockets, which `ServerListener` needs.
        return asyncio.SelectorEventLoop
    return uvloop.new_event_loop


class _ServerThread:
    """Runs a server in a new thread with its event loop."""

    def __init__(self, settings: Settings) -> None:
        self._thread = threading.Thread(target=self._run, name="masthead-server", daemon=True)
        self._settings = settings
        self._is_up = threading.Event()
        self._server: Server | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._error: BaseException | None = None

    def start_server(self) -> Server:
        """Start the thread, and wait until the server listens."""
        refuse_green_threads("a server in this process")
        self._thread.start()
        self._is_up.wait()
        if self._server is None:
            self._thread.join()
            raise self._error or RuntimeError("the server did not start")
        return self._server

    def stop_server(self) -> None:
        """Stop the server, and wait for the thread to end."""
        # The thread may have failed before it had a loop.
        if self._thread.is_alive() and self._loop is not None and self._stop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            run_alone(self._serve())
        except BaseException as error:  # noqa: BLE001 - it is raised in the thread that waits
            self._error = error
        finally:
            self._is_up.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        async with serving(self._settings) as server:
            self._server = server
            self._is_up.set()
            with paused_at_forks():
                await self._stop.wait()
