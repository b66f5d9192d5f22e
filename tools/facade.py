"""``python -m tools.facade``: generate the blocking façade from the source of the async one.

::

    async def get(self, name: str) -> T:         def get(self, name: str) -> T:
        ...                               ──>        return self._portal.call(self._async.get(name))

Each public method of the classes below becomes one that blocks; a result of such a class is wrapped in its namesake.
Parameters, defaults and docstrings are kept. Methods that take functions from their caller are translated instead, and
run in the caller's thread (`tools.translate`). What cannot be mirrored is an error, never a guess.
"""

from __future__ import annotations

import argparse
import ast
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from masthead._codegen.definitions import Reference
from masthead.errors import GenerateError, MastheadError
from tools.headers import first_line
from tools.mirror import ASYNC, ClassMirror, Construction, Rules, in_caller
from tools.scopes import import_statements, is_type_variable, names_needed, read_scope

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tools.scopes import Scope

_PACKAGE: Final = "masthead._sync"


@dataclass(frozen=True, slots=True)
class Mirror:
    """A module of the async façade, and its classes that have a blocking namesake.

    Attributes:
        source: The module.
        classes: The classes; empty for all of the module.
        name: The name of the blocking module; empty for the source's own.
        functions: Functions that have a namesake, which runs in the caller's thread.
        package: The package of the blocking module.
        prefix: Begins the names of the blocking classes, where one module exports both.
    """

    source: str
    classes: tuple[str, ...] = ()
    name: str = ""
    functions: tuple[str, ...] = ()
    package: str = _PACKAGE
    prefix: str = ""

    @property
    def target(self) -> str:
        """The blocking module."""
        return f"{self.package}.{self.name or self.source.rpartition('.')[2]}"


MIRRORS: Final = (
    Mirror("masthead._rest.client", ("RestClient",), "rest"),
    Mirror("masthead._rest.response_stream", ("ResponseStream",)),
    Mirror("masthead._discovery.client", ("DiscoveryClient",), "discovery"),
    Mirror("masthead._discovery.rest_mapper", ("RestMapper",)),
    Mirror("masthead._client.base", ("BaseResource",)),
    Mirror("masthead._client.watch", ("WatchStream",)),
    Mirror("masthead._client.logs", ("LogStream",)),
    Mirror("masthead._client.log_group", ("MergedLogs",)),
    Mirror("masthead._client.read_verbs", ("ReadVerbs",)),
    Mirror("masthead._client.create_verbs", ("CreateVerbs",)),
    Mirror("masthead._client.patch_verbs", ("PatchVerbs",)),
    Mirror("masthead._client.delete_verbs", ("DeleteVerbs",)),
    Mirror("masthead._client.conflicts", ("RetryVerbs",), functions=("retry_on", "retry_on_conflict")),
    Mirror("masthead._client.resource", ("ResourceClient",)),
    Mirror("masthead._client.restarts", ("RestartVerbs",)),
    Mirror("masthead._client.subresources", ("StatusVerbs", "ScaleVerbs")),
    Mirror(
        "masthead._client.actions",
        (
            "ApprovalVerbs",
            "BindingVerbs",
            "EphemeralContainerVerbs",
            "EvictionVerbs",
            "FinalizeVerbs",
            "ResizeVerbs",
            "TokenVerbs",
        ),
    ),
    Mirror("masthead._client.remotecommand.streams", ("RemoteInput", "RemoteOutput"), "remote_streams"),
    Mirror("masthead._client.remotecommand.process", ("RemoteProcess",), "remote_process"),
    Mirror("masthead._client.stream_verbs", ("ExecVerbs", "AttachVerbs")),
    Mirror("masthead._client.copy_verbs", ("CopyVerbs",)),
    Mirror("masthead._client.portforward.forward", ("PortForward",), "port_forward"),
    Mirror("masthead._client.portforward.connection", ("PodConnection",), "pod_connection"),
    Mirror("masthead._client.port_forward_verbs", ("PortForwardVerbs",)),
    Mirror("masthead._client.log_verbs", ("LogVerbs",)),
    Mirror("masthead._client.proxy_stream", ("ProxyStream",)),
    Mirror("masthead._client.proxy_verbs", ("ProxyVerbs", "ResourceProxy")),
    Mirror("masthead._client.reviews", ("Reviews",)),
    Mirror("masthead._client.scoped"),
    Mirror("masthead._client.typed", ("TypedResource",)),
    Mirror("masthead._client.dynamic", ("DynamicResource",)),
    Mirror("masthead._client.metadata", ("MetadataResource",)),
    Mirror("masthead._client.scales", ("Scales",)),
    Mirror("masthead._client.group", ("Group",)),
    Mirror("masthead._client.manifest_verbs", ("ManifestVerbs",)),
    Mirror("masthead._client.client", ("Client",)),
    Mirror("masthead._cache.informer.registration", ("Registration",)),
    Mirror("masthead._cache.informer.informer", ("SharedInformer",)),
    Mirror("masthead._cache.factory.informers", ("InformerGroup", "Informers")),
    Mirror("masthead._cache.factory.factory", ("SharedInformerFactory",)),
    Mirror("masthead._record.recorder", ("EventRecorder",), "event_recorder"),
    Mirror("masthead._controller.context", ("ReconcileContext",)),
    Mirror("masthead._leaderelection.leader_elector", ("LeaderElector",)),
    Mirror("masthead._workqueue.queue", ("WorkQueue",), "work_queue"),
)
"""Every class with a blocking namesake that is made here."""
ENVIRONMENT: Final = (
    Mirror(
        "masthead.testing._environment",
        ("Environment",),
        "_blocking_environment",
        package="masthead.testing",
        prefix="Blocking",
    ),
    Mirror(
        "masthead.testing._replica", ("Replica",), "_blocking_replica", package="masthead.testing", prefix="Blocking"
    ),
    Mirror(
        "masthead.testing._replica_faults",
        ("ReplicaFaults",),
        "_blocking_replica_faults",
        package="masthead.testing",
        prefix="Blocking",
    ),
    Mirror(
        "masthead.testing._replica_fault",
        ("ReplicaFault",),
        "_blocking_replica_fault",
        package="masthead.testing",
        prefix="Blocking",
    ),
)
"""The test environment, which has an event loop of its own: that of a thread, in virtual time."""
_CLIENTSET: Final = {
    Reference("masthead._client.clientset", "Clientset"): Reference("masthead._sync.clientset", "Clientset"),
    Reference("masthead._cache.factory.groups", "InformerGroups"): Reference("masthead._sync.groups", "InformerGroups"),
}
"""The classes that `tools.clientset` writes, with their blocking namesakes."""

_BASES: Final[Mapping[str, str]] = {
    "Environment": "EnvironmentFacade",
    "Replica": "ThreadFacade[AsyncReplica]",
    "ReplicaFault": "ThreadFacade[AsyncReplicaFault]",
    "ReplicaFaults": "ThreadFacade[AsyncReplicaFaults]",
    "LeaderElector": "ElectorFacade",
    "EventRecorder": "RecorderFacade",
    "Registration": "RegistrationFacade[AsyncRegistration]",
    "SharedInformer": "InformerFacade[T]",
    "InformerGroups": "FactoryFacade",
}
_CONSTRUCTIONS: Final[Mapping[str, Construction]] = {
    "EventRecorder": Construction("recorder_client_of", "PortalEventRecorder"),
    "LeaderElector": Construction("elector_client_of", "PortalElector", keeps="_client"),
    "SharedInformer": Construction("source_of", "PortalInformer"),
    "SharedInformerFactory": Construction("client_of", "PortalFactory", keeps="_client"),
}
# One informer has one façade, however often it is asked for.
_WRAPPERS: Final[Mapping[str, str]] = {"Client": "client_of_loop", "SharedInformer": "wrap_informer"}
_NAMES: Final[Mapping[str, Reference]] = {
    name: Reference("masthead._sync.lifecycle", name)
    for name in (
        "FactoryFacade",
        "InformerFacade",
        "PortalFactory",
        "PortalInformer",
        "RegistrationFacade",
        "client_of",
        "source_of",
    )
} | {
    **{name: Reference("masthead._sync.reconcile_calls", name) for name in ("client_of_loop", "run_cleanup")},
    **{
        name: Reference("masthead._sync.elector_facade", name)
        for name in ("ElectorFacade", "PortalElector", "elector_client_of")
    },
    "ThreadQueue": Reference("masthead._workqueue.thread_queue", "ThreadQueue"),
    "EnvironmentFacade": Reference("masthead.testing._environment_thread", "EnvironmentFacade"),
    "ThreadFacade": Reference("masthead.testing._environment_thread", "ThreadFacade"),
    **{
        name: Reference("masthead._sync.recorder_facade", name)
        for name in ("PortalEventRecorder", "RecorderFacade", "recorder_client_of")
    },
    "wrap_informer": Reference("masthead._sync.wrap", "wrap_informer"),
}
_BASE: Final = Reference("masthead._client.base", "BaseResource")
_STAND_INS: Final[Mapping[str, Reference]] = {
    "WriteBase": _BASE,
    "SubresourceBase": _BASE,
    "RemoteCommandBase": _BASE,
}
_NARROWS: Final = (
    "# `_async` is assigned once, by `Facade`, so that a class may say more of its type than its bases do.\n"
    "# pyright: reportIncompatibleVariableOverride=false"
)
_LEFT_OUT: Final = frozenset(
    {
        # Their arguments and results belong to the event loop.
        "RestClient.call",
        "RestClient.exchange",
        "RestClient.connect",
        "PodConnection.reader",
        "PodConnection.writer",
        "RemoteInput.connect",
        "RemoteOutput.end",
        "RemoteOutput.put",
        "RestClient.open",
        "RestClient.wrap_transport",
        "ReadVerbs.list_watch",
        # Written by hand: the work is called in the caller's thread, which cannot be cancelled.
        "LeaderElector.run",
        # For what starts and stops informers on their event loop: factories, and the blocking façade.
        "Registration.stop",
        "Registration.is_alive",
        "Registration.is_called_from_handler",
        "Registration.is_own",
        "Registration.remove_nowait",
        "Registration.mark_done",
        "Registration.start",
        "SharedInformer.from_options",
        "SharedInformer.is_called_from_handler",
        "SharedInformer.stop_nowait",
        "SharedInformerFactory.check_at_end",
        "SharedInformerFactory.is_called_from_handler",
        "SharedInformerFactory.stop_nowait",
        # Written by hand: the client of a blocking test blocks. A list of façades cannot be wrapped.
        "Environment.client",
        "Environment.eventually",
        "Environment.replicas",
        # For the thread that runs an environment.
        "Environment.is_embedded",
        # For the environment itself, on its loop.
        "Replica.bury",
        "Replica.caches",
        "Replica.check",
        "Replica.error",
        "Replica.failures",
        "Replica.has_ended_by_itself",
        "Replica.hooks",
        "Replica.kill",
        "Replica.kill_soon",
        "Replica.missing_permissions",
        "Replica.mutations",
        "Replica.reasons",
        "Replica.recent_reconciles",
        "Replica.reconciles",
        "Replica.runtime",
        "Replica.sever",
        "Replica.start",
        "Replica.user",
    }
)
_ON_LOOP: Final = frozenset(
    {
        "Environment.clear",
        "Environment.events",
        "Environment.failures",
        "Environment.missing_permissions",
        "Environment.now",
        "Environment.shift_clock",
        "Environment.writes",
        "Replica.pause",
        "Replica.pause_informer",
        "Replica.pause_workers",
        "Replica.resume",
        "Replica.resume_informer",
        "Replica.resume_workers",
        "ReplicaFault.remove",
        "ReplicaFaults.call",
        "ReplicaFaults.clear",
        "ReplicaFaults.conflict",
        "ReplicaFaults.crash",
        "ReplicaFaults.delay",
        "ReplicaFaults.fail",
        "ReplicaFaults.forbid",
        "ReplicaFaults.lose_response",
        "ReplicaFaults.throttle",
        "ResponseStream.close",
        "SharedInformer.add_event_handler",
        "SharedInformer.add_indexers",
    }
)
_ENTERED: Final = frozenset({"Environment"})
_THROUGH: Final[Mapping[str, tuple[str, str]]] = {
    "EventRecorder.stop": ("_stop", ""),
    "Registration.remove": ("_end", "remove_nowait"),
    "SharedInformer.run": ("_run", ""),
    "SharedInformer.start": ("_start", ""),
    "SharedInformer.stop": ("_end", "stop_nowait"),
    "SharedInformerFactory.stop": ("_end", "stop_nowait"),
}
_ADAPTED: Final[Mapping[str, Mapping[str, str]]] = {
    "SharedInformerFactory.informer_for": {"constructor": "self._informer_constructor(kind, constructor)"},
}
_IN_CALLER: Final = frozenset(
    {
        "ReconcileContext.finalize",
        "EventRecorder.__aenter__",
        "EventRecorder.__aexit__",
        "PodConnection.__aenter__",
        "PodConnection.__aexit__",
        "PortForward.__aenter__",
        "PortForward.__aexit__",
        "ProxyStream.__aenter__",
        "ProxyStream.__aexit__",
        # The terminal is that of the caller's thread, which alone can handle signals.
        "AttachVerbs.attach_interactive",
        "ExecVerbs.exec_interactive",
        "RemoteProcess.__aenter__",
        "RemoteProcess.__aexit__",
        "ResponseStream.__aenter__",
        "ResponseStream.__aexit__",
        "RetryVerbs.update_with_retry",
        "RetryVerbs.create_or_update",
        "SharedInformer.__aenter__",
        "SharedInformer.__aexit__",
        "SharedInformerFactory.__aenter__",
        "SharedInformerFactory.__aexit__",
    }
)
TRANSLATED: Final[Mapping[str, str]] = {"WorkQueue": "ThreadQueue[K]"}
_LIMITS: Final[Mapping[str, int]] = {
    "ReadVerbs.iter_pages": 1,
    "LogStream.chunks": 16,
    "ProxyStream.chunks": 16,
    "ResponseStream.batches": 16,
    "ResponseStream.chunks": 16,
    "RemoteOutput.lines": 1024,
}
_SENTENCES: Final[Mapping[str, str]] = {
    "import Environment, in_virtual_time": "import BlockingEnvironment",
    "        @in_virtual_time\n": "",
    "\n\n    Attributes:\n        manager: The manager.\n        client: The client of its controllers.\n    ": "",
    "Environment(app)": "BlockingEnvironment(app)",
    "In virtual time (`masthead.testing.in_virtual_time`) hours pass in milliseconds, and every requeue, retry and "
    "timer\n"
    "    runs at its time; so does every renewal of a lease, 1,800 an hour, which ``leader_election=False`` avoids. "
    "On any\n"
    "    other event loop time passes as usual; there, `advance` refuses to wait for more than a few seconds.": (
        "Server and managers run in a thread, in virtual time: it passes only in `wait_for_idle` and `advance`. With "
        "a\n"
        "    `config`, time is real."
    ),
    (
        "async def work(leadership: masthead.aio.leaderelection.Leadership) -> None:\n"
        "            while True:\n"
        "                leadership.check()  # before every step that two replicas must not take\n"
        "                await asyncio.sleep(1)"
    ): (
        "def work(leadership: masthead.leaderelection.Leadership) -> None:\n"
        "            while not leadership.wait_for_loss(timeout=1):\n"
        '                print("one step")'
    ),
    (
        "The work runs only while the lease is held. When it cannot be renewed for `renew_deadline` seconds, the "
        "work is\n"
        "        cancelled; it has until the end of `lease_duration` to stop before another replica may lead. The "
        "lease is\n"
        "        released after the work has ended, and renewed until then. That holds if clocks run at rates that "
        "differ by less\n"
        "        than `lease_duration` / `renew_deadline`, and if the work stops when it is cancelled. A process "
        "that is paused\n"
        "        cannot stop; `Leadership.check` and the fencing token are for that."
    ): (
        "The work is called only while the lease is held. A thread cannot be cancelled: when the lease cannot be "
        "renewed\n"
        "        for `renew_deadline` seconds, its `Leadership` ends, and the work has until the end of "
        "`lease_duration` to return\n"
        "        before another replica may lead. The lease is released after the work has returned, and renewed "
        "until then. That\n"
        "        holds if clocks run at rates that differ by less than `lease_duration` / `renew_deadline`, and if "
        "the work\n"
        "        watches its leadership. `Leadership.check` and the fencing token are for processes that may be paused."
    ),
    ("Threads: belongs to one event loop; its properties and `health_check` may be used from any thread."): (
        "Threads: may be shared by any number of threads; one of them runs it."
    ),
    (
        "Callbacks are called one after the other on the event loop, and awaited if they are coroutine functions. "
        "Their\n"
        "        errors are logged, and do not affect the election."
    ): (
        "Callbacks are called one after the other, in another thread than the work. Their errors are logged, and do "
        "not\n"
        "        affect the election."
    ),
    "Threads: `get`, `drain` and iteration belong to one event loop, all other methods to any thread. A cancelled "
    "`get`\n"
    "    takes no key, except through `asyncio.wait_for` of Python 3.11, which may lose the result: use `timeout` or\n"
    "    `asyncio.timeout`.": (
        "Threads: any thread may call all methods, but no signal handler, which could interrupt a thread that holds "
        "the\n"
        "    queue's lock."
    ),
    "an async iterator, to be used in ``async with``": "an iterator, to be used in ``with``",
    "Threads: belongs to one event loop.": "Threads: may be shared by any number of threads.",
    "Any thread may call `record`, also signal handlers and finalizers; all else belongs to the client's event loop.": (
        "Any number of threads may use it at the same time; signal handlers and finalizers may call `record`, too."
    ),
    "One instance belongs to one event loop; calls may be made at the same time.": (
        "Any number of threads may use it at the same time."
    ),
    "An informer belongs to the event loop that starts it; its store may be read from any thread.": (
        "Any number of threads may use it at the same time. Each handler is called in its own thread, and may block;\n"
        "    indexers, transforms and error handlers are called on the client's event loop, and must neither block "
        "nor call\n"
        "    the client."
    ),
}


def files_for(root: Path) -> dict[str, str]:
    """Generate every module of the façade, by its path below the root.

    Args:
        root: The folder that contains the package, such as ``src``.

    Raises:
        GenerateError: If a class cannot be mirrored, or the formatter is missing.
    """
    mirrors = (*MIRRORS, *ENVIRONMENT)
    scopes = [_scope(root, mirror.source) for mirror in mirrors]
    classes = [mirror.classes or tuple(scope.classes) for mirror, scope in zip(mirrors, scopes, strict=True)]
    _refuse_unused_sentences(scopes)
    rules = Rules(
        mirrored={
            Reference(mirror.source, name): Reference(mirror.target, f"{mirror.prefix}{name}")
            for mirror, names in zip(mirrors, classes, strict=True)
            for name in (*names, *mirror.functions)
        }
        | _CLIENTSET,
        bases=_BASES,
        constructions=_CONSTRUCTIONS,
        wrappers=_WRAPPERS,
        names=_NAMES,
        stand_ins=_STAND_INS,
        left_out=_LEFT_OUT,
        on_loop=_ON_LOOP,
        entered=_ENTERED,
        through=_THROUGH,
        adapted=_ADAPTED,
        in_caller=_IN_CALLER,
        translated=TRANSLATED,
        limits=_LIMITS,
        sentences=_SENTENCES,
    )
    files: dict[str, str] = {}
    for mirror, scope, names in zip(mirrors, scopes, classes, strict=True):
        path = root.joinpath(*mirror.target.split(".")).with_suffix(".py")
        files[path.relative_to(root).as_posix()] = _format_source(_module(scope, names, mirror, rules), path)
    return files


def _scope(root: Path, module: str) -> Scope:
    path = root.joinpath(*module.split(".")).with_suffix(".py")
    try:
        return read_scope(module, path.read_text(encoding="utf-8"))
    except OSError as error:
        raise GenerateError(f"{path}: {error.strerror or error}") from None


def _refuse_unused_sentences(scopes: Sequence[Scope]) -> None:
    said = "\n".join(doc for scope in scopes for doc in scope.docs())
    for sentence in _SENTENCES:
        if sentence not in said:
            raise GenerateError(f'nothing says "{sentence}" any more; take it out of the table of sentences')


def _module(scope: Scope, names: Sequence[str], mirror: Mirror, rules: Rules) -> str:
    functions = mirror.functions
    mirrors = [ClassMirror(scope, name, rules) for name in names]
    made: list[ast.stmt] = [in_caller(scope.functions[name], rules) for name in functions]
    made += [class_mirror.rewritten(mirror.prefix) for class_mirror in mirrors]
    at_run_time, for_checkers = names_needed(made)
    variables = [
        statement
        for name, statement in scope.assigned.items()
        if name in at_run_time | for_checkers and is_type_variable(statement)
    ]
    needed, annotated = names_needed(variables)
    at_run_time |= needed
    for_checkers |= annotated
    own = {name for name, statement in scope.assigned.items() if statement in variables} | {
        *names,
        *functions,
    }

    def imports(wanted: set[str]) -> list[ast.stmt]:
        found = {name: _meaning(scope, name, rules) for name in wanted - own}
        return import_statements((name, inner) for name, inner in found.items() if inner is not None)

    checked = imports(for_checkers - at_run_time)
    guard = import_statements([("TYPE_CHECKING", Reference("typing", "TYPE_CHECKING"))]) if checked else []
    exported = sorted([*(f"{mirror.prefix}{name}" for name in names), *functions])
    parts: list[list[ast.stmt]] = [
        [ast.ImportFrom("__future__", [ast.alias("annotations")], 0)],
        [*imports(at_run_time), *guard],
        [ast.If(ast.Name("TYPE_CHECKING"), checked, [])] if checked else [],
        ast.parse(f"__all__ = {exported!r}").body,
        variables,
        *([each] for each in made),
    ]
    texts = [ast.unparse(ast.fix_missing_locations(ast.Module(part, []))) for part in parts if part]
    narrows = [_NARROWS] if any(class_mirror.narrows for class_mirror in mirrors) else []
    head = [first_line(scope.title), *narrows, *scope.settings]
    return "\n\n".join([*head, *texts]) + "\n"


def _meaning(scope: Scope, name: str, rules: Rules) -> Reference | None:
    wrapped = name.removeprefix(ASYNC)
    if wrapped != name and wrapped in scope.classes:
        return Reference(scope.module, wrapped)
    return rules.meaning(scope, name)


def _format_source(source: str, path: Path) -> str:
    """Format a module as the linter and the formatter do at that path.

    Raises:
        GenerateError: If they are not installed, or cannot read it.
    """
    for step in (["check", "--select=I", "--fix-only"], ["format"]):
        command = [sys.executable, "-m", "ruff", *step, "--quiet", f"--stdin-filename={path}", "-"]
        done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
        if done.returncode:
            raise GenerateError(f"ruff refuses what was made for {path}: {done.stderr.strip()}")
        source = done.stdout
    return source


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.facade", description=__doc__)
    parser.add_argument("--root", type=Path, required=True, metavar="DIR", help="the folder that holds the package")
    options = parser.parse_args(arguments)
    try:
        for name, text in files_for(options.root).items():
            (options.root / name).write_text(text, encoding="utf-8", newline="\n")
    except (MastheadError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
