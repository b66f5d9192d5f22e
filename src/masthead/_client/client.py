"""The client of a cluster: the entry point of the library."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar, cast

from masthead._client.base import ClientContext, Defaults, LazyTarget
from masthead._client.manifest_verbs import ManifestVerbs
from masthead._config.loader import conceal, load
from masthead._config.model import Config
from masthead._config.overrides import apply_overrides
from masthead._discovery.client import DiscoveryClient
from masthead._discovery.disk_cache import DiskCache
from masthead._discovery.rest_mapper import RestMapper
from masthead._errors.facades import ASYNC_ONLY
from masthead._errors.options import explain_arguments
from masthead._meta import names
from masthead._meta.gvk import GroupVersionKind, GroupVersionResource
from masthead._meta.object import Object
from masthead._module import set_module
from masthead._rest.connect import connect
from masthead._rest.settings import RestSettings
from masthead._transport.http import MAX_RESPONSE_BYTES
from masthead.errors import ArgumentError, ConfigError, NameFormatError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from os import PathLike
    from typing import Self

    from masthead._auth.credentials import Credentials
    from masthead._client.dynamic import DynamicResource
    from masthead._client.metadata import MetadataResource
    from masthead._client.options import FieldSelection, FieldValidation, LabelSelection
    from masthead._client.resource_target import ResourceTarget
    from masthead._client.scales import Scales
    from masthead._client.typed import TypedResource
    from masthead._config.loader import KubeconfigSource
    from masthead._config.model import Impersonation
    from masthead._discovery.model import ServedResource
    from masthead._meta.unstructured import Unstructured
    from masthead._meta.v1 import StatusCause
    from masthead._printers.table import PrintedTable
    from masthead._rest.client import RestClient
    from masthead._rest.rate_limiter import RateLimit
    from masthead._sansio.warnings import ServerWarning
    from masthead.metrics import Metrics

__all__ = ["Client"]

T = TypeVar("T", bound=Object)


@set_module("masthead.aio")
class Client(ManifestVerbs):
    """A client of one cluster, as one user.

    ::

        async with Client() as client:
            async for pod in client.core_v1.pods("default").iter(label_selector="app=web"):
                print(pod.metadata.name, pod.status.phase)

    Without arguments it finds the cluster as kubectl does: ``KUBECONFIG``, ``~/.kube/config``, or the service
    account of the pod it runs in. All resource clients share its connection pool.
    """

    @explain_arguments
    def __init__(
        self,
        config: Config | None = None,
        *,
        kubeconfig: KubeconfigSource | None = None,
        context: str | None = None,
        namespace: str | None = None,
        impersonate: str | Impersonation | None = None,
        credentials: Credentials | None = None,
        timeout: float = 60.0,
        read_timeout: float = 90.0,
        attempts: int = 11,
        rate: float | RateLimit | None = None,
        burst: int = 10,
        connections: int = 256,
        page_size: int = 500,
        field_manager: str = "",
        field_validation: FieldValidation | None = None,
        user_agent: str = "",
        max_response_bytes: float = MAX_RESPONSE_BYTES,
        on_warning: Callable[[ServerWarning], None] | None = None,
        discovery_cache: str | PathLike[str] | None = None,
        aggregated_discovery: bool = True,
        check_watch_lists: bool = False,
        metrics: Metrics | None = None,
    ) -> None:
        """Load the configuration. Nothing is sent before the first call.

        Args:
            config: The cluster's address and the credentials; None to load a kubeconfig.
            kubeconfig: The path of the kubeconfig, its text, or its content as plain data; not together with
                `config`.
            context: The context to use; not together with `config`.
            namespace: The default namespace; overrides the configuration's.
            impersonate: The user to impersonate: a name, or an `Impersonation` with groups; overrides the
                configuration's.
            credentials: Authenticates requests instead of the configured credentials: a `masthead.auth.Credentials`,
                whose coroutines run on the client's event loop. None to use the configuration's.
            timeout: The default timeout of a call in seconds, retries included. Obtaining credentials is not
                counted: an interactive login has its own timeout.
            read_timeout: Seconds without a byte after which a stream is considered dead; a watch after at most 28,
                when it is resumed.
            attempts: The maximum number of attempts of a call, the first included; 1 for no retries.
            rate: Client-side rate limit in calls per second, or a `masthead.rest.RateLimit` that several clients
                share; None for no limit.
            burst: The number of calls that may be sent before a `rate` in calls per second applies.
            connections: The maximum number of connections for calls; 0 for no limit. Streams are not counted.
            page_size: The limit of each page of a list.
            field_manager: The default field manager of writes; empty to leave it to the server.
            field_validation: How the server treats unknown fields; None to leave it to the server.
            user_agent: The ``User-Agent`` header; empty for the default.
            max_response_bytes: The maximum size of a response that is read whole, compressed and
                decompressed. A larger response raises `ResponseTooLargeError`. ``math.inf`` for no limit.
            on_warning: Called with each warning of the server; None to log each text once.
            discovery_cache: A directory that keeps discovery documents between runs; None to keep them in
                memory only.
            aggregated_discovery: Whether to ask for all groups in one request. Servers before 1.26 cannot do that, and
                are asked for one group after the other in any case.
            check_watch_lists: Compare every watch-list with a plain list, those of informers included, which request
                the state again if the two differ. For finding faults of servers: it costs more than it saves.
            metrics: Where to count requests; None for nowhere.

        Raises:
            ConfigError: If there is no configuration, or it is invalid.
            AuthError: If the credentials cannot be used.
            ArgumentError: If another argument is invalid.
        """
        # First of all: a traceback of what follows must not show the credentials of a kubeconfig.
        kubeconfig = conceal(kubeconfig)
        if config is not None and (kubeconfig is not None or context is not None):
            raise ConfigError("give a config, or a kubeconfig and context to make it from, not both")
        if config is not None and not isinstance(cast("object", config), Config):
            raise ConfigError(
                f"config is of type {type(config).__name__}; for a kubeconfig (its path, its text or its content as a "
                "dict) use kubeconfig=..., and for an address masthead.Config(server=...)"
            )
        found = config or load(kubeconfig, context=context)
        if not isinstance(cast("object", namespace), str | None):
            raise ArgumentError(
                f"namespace is of type {type(namespace).__name__}; it must be a string", value=namespace
            )
        if namespace and (problem := names.problem_with_dns1123_label(namespace)):
            raise NameFormatError(f"namespace: {names.quote(namespace)} {problem}", value=namespace)
        self._config = found = apply_overrides(found, namespace=namespace, impersonate=impersonate)
        if connections < 0:
            raise ArgumentError(
                f"connections is {connections}; it must be 0 or more, 0 for no limit", value=connections
            )
        settings = RestSettings(
            timeout=timeout,
            read_timeout=read_timeout,
            attempts=attempts,
            rate=rate,
            burst=burst,
            user_agent=user_agent,
            max_response_bytes=max_response_bytes,
            on_warning=on_warning,
            metrics=metrics,
        )
        defaults = Defaults(
            page_size=page_size,
            field_manager=field_manager,
            field_validation=field_validation,
            check_watch_lists=check_watch_lists,
        )
        rest = connect(found, settings, connections=connections, credentials=credentials)
        super().__init__(ClientContext(rest, defaults))
        cache = None if discovery_cache is None else DiskCache(Path(discovery_cache), server=found.server)
        self._discovery = DiscoveryClient(rest, cache=cache, aggregated=aggregated_discovery)
        self._mapper = RestMapper(self._discovery)

    @property
    def config(self) -> Config:
        """The cluster's address and the credentials."""
        return self._config

    @property
    def namespace(self) -> str:
        """The default namespace: ``client.core_v1.pods(client.namespace)``."""
        return self._config.namespace

    @property
    def rest(self) -> RestClient:
        """The REST client, for requests to any path: ``await client.rest.get("/version")``."""
        return self._context.rest

    @property
    def discovery(self) -> DiscoveryClient:
        """The discovery client: the groups, versions and resources that the cluster serves."""
        return self._discovery

    @property
    def mapper(self) -> RestMapper:
        """The REST mapper: from a kind, plural or short name to a resource of this cluster."""
        return self._mapper

    def resource(self, kind: type[T], namespace: str | None = None) -> TypedResource[T]:
        """A client of a kind, given by its class: one of ``masthead.api``, or your own.

        Raises:
            ArgumentError: If it is no class of objects; for the name of a resource, use `dynamic`.
            UnknownKindError: If the class has no resource.
        """
        from masthead._client.resource_target import typed_target
        from masthead._client.typed import TypedResource

        return TypedResource(self._context, typed_target(kind), namespace)

    def dynamic(
        self,
        what: str | GroupVersionResource,
        resource: str | None = None,
        *,
        namespace: str | None = None,
    ) -> DynamicResource:
        """A client of any resource, with untyped objects.

        ::

            client.dynamic("apps/v1", "deployments", namespace="default")
            client.dynamic("deploy", namespace="default")
            client.dynamic(GroupVersionResource("example.com", "v1", "widgets"))

        A name is resolved by discovery when the first call is made.

        Args:
            what: The API version; or the resource, in any form that kubectl accepts.
            resource: The plural, singular, kind or short name; with an API version only.
            namespace: The namespace; None for all namespaces and for cluster-scoped resources.
        """
        # Late, as in the methods below: the verbs take most of the time of an import.
        from masthead._client.dynamic import DynamicResource
        from masthead._client.resource_target import untyped_target

        return DynamicResource(self._context, self._finder(untyped_target, what, resource), namespace)

    def metadata(
        self,
        what: str | GroupVersionResource,
        resource: str | None = None,
        *,
        namespace: str | None = None,
    ) -> MetadataResource:
        """A metadata-only client of any resource. The arguments are those of `dynamic`."""
        from masthead._client.metadata import MetadataResource
        from masthead._client.resource_target import metadata_target

        return MetadataResource(self._context, self._finder(metadata_target, what, resource), namespace)

    def scales(self, namespace: str | None = None) -> Scales:
        """The scale client: the scale subresource of any resource that has one."""
        from masthead._client.resource_target import untyped_target
        from masthead._client.scales import Scales

        async def find(what: str) -> ResourceTarget[Unstructured]:
            found = await self._mapper.find(what)
            return untyped_target(found.gvr, namespaced=found.namespaced)

        return Scales(self._context, find, namespace)

    async def tables(
        self,
        resources: str | Sequence[str],
        *,
        namespace: str | None = None,
        wide: bool = False,
        label_selector: LabelSelection | None = None,
        field_selector: FieldSelection | None = None,
        timeout: float | None = None,
    ) -> Sequence[PrintedTable]:
        """List the objects of several resources, each as a table, as ``kubectl get pods,svc,nodes`` does.

        Args:
            resources: Names in any form that kubectl accepts, with commas between them or as a list.
            namespace: The namespace; None for all namespaces. It does not matter for cluster-scoped resources.
            wide: Whether the tables' texts have the wide columns.
            label_selector: Only objects with matching labels.
            field_selector: Only objects with matching fields.
            timeout: Timeout of each page, in seconds.

        Raises:
            UnknownKindError: If the cluster does not have such a resource.
            MastheadError: As any call.
        """
        names_given = resources.split(",") if isinstance(resources, str) else resources
        found = [await self._mapper.find(name.strip()) for name in names_given]
        return [
            await self.dynamic(resource.gvr, namespace=namespace if resource.namespaced else None).table(
                wide=wide,
                # As in kubectl, the column is printed only where namespaces differ.
                namespaces=resource.namespaced and namespace is None,
                label_selector=label_selector,
                field_selector=field_selector,
                timeout=timeout,
            )
            for resource in found
        ]

    async def wait_for_kind(self, kind: GroupVersionKind | type[Object], *, timeout: float = 60.0) -> ServedResource:
        """Wait until the cluster serves a kind, such as a newly defined one, and return its resource.

        Args:
            kind: The kind, or its class.
            timeout: Seconds to wait.

        Raises:
            DeadlineError: If it is not served in time; the message names the missing conditions of its definition.
        """
        from masthead._client.served_kinds import wait_for_kind

        gvk = kind if isinstance(kind, GroupVersionKind) else kind.GVK
        return await wait_for_kind(self, gvk, timeout=timeout)

    async def validate(
        self, obj: Object | Mapping[str, object], *, old: Object | Mapping[str, object] | None = None
    ) -> list[StatusCause]:
        """Validate an object by the schema that the cluster has for its kind; the object is not sent.

        The schema is the one of OpenAPI: types, formats, required and unknown fields, and the rules of custom
        resources. kube-apiserver checks more for built-in kinds, and so does admission; for these checks, use
        ``dry_run``.

        Args:
            obj: The object, or its data, with apiVersion and kind.
            old: The object before an update, for rules about changes.

        Returns:
            What the server would refuse, as the causes of its `UnprocessableError`; empty if it is valid. A field that
            the kind does not have is among them, although a server only warns of it, unless it is asked to be strict.

        Raises:
            ArgumentError: If the object has no apiVersion or kind.
            UnknownKindError: If the cluster has no schema of the kind; that of a new custom resource appears some
                seconds after its definition.
        """
        from masthead._client.validation import validate_by_cluster

        read_schemas = self._discovery._schemas  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        return await validate_by_cluster(read_schemas, obj, old)

    async def close(self) -> None:
        """Close all connections; running watches and calls end. Closing twice does nothing."""
        await self._context.rest.close()

    if not TYPE_CHECKING:
        __enter__ = __exit__ = ASYNC_ONLY

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._config.describe()})"

    def _finder(
        self, target: _TargetFactory[T], what: str | GroupVersionResource, resource: str | None
    ) -> ResourceTarget[T] | LazyTarget[T]:
        if isinstance(what, GroupVersionResource):
            if resource is not None:
                raise ArgumentError(f"{what} is complete; leave out {resource!r}", value=resource)
            return target(what, namespaced=None)

        # Discovery waits for the first call: nothing is sent here.
        async def find() -> ResourceTarget[T]:
            if resource is None:
                found = await self._mapper.find(what)
            else:
                found = await self._mapper.find(resource, api_version=what)
            return target(found.gvr, namespaced=found.namespaced, gvk=found.gvk)

        return LazyTarget(what if resource is None else f"{what} {resource}", find)


class _TargetFactory(Protocol[T]):
    def __call__(
        self, resource: GroupVersionResource, *, namespaced: bool | None, gvk: GroupVersionKind | None = None
    ) -> ResourceTarget[T]: ...
