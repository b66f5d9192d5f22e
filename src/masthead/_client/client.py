"""The client: everything that a user calls begins here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar, cast

from masthead._client.base import ClientContext, Defaults, LazyTarget
from masthead._client.clientset import Clientset
from masthead._client.dynamic import DynamicResource
from masthead._client.manifests import apply_manifests, delete_manifests
from masthead._client.metadata import MetadataResource
from masthead._client.scales import Scales
from masthead._client.target import any_kind, metadata_only, typed
from masthead._client.typed import TypedResource
from masthead._config.loader import conceal, load
from masthead._config.model import Config
from masthead._config.overrides import adjusted
from masthead._discovery.client import DiscoveryClient
from masthead._discovery.disk_cache import DiskCache
from masthead._discovery.rest_mapper import RestMapper
from masthead._meta import names
from masthead._meta.gvk import GroupVersionResource
from masthead._meta.object import Object
from masthead._rest.connect import connect
from masthead._rest.settings import RestSettings
from masthead._transport.http import MAX_RESPONSE_BYTES
from masthead.errors import ConfigError, InvalidValueError, NameFormatError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from os import PathLike
    from typing import Self

    from masthead._client.manifests import Source
    from masthead._client.options import FieldValidation
    from masthead._client.target import ResourceTarget
    from masthead._config.loader import KubeconfigSource
    from masthead._config.model import Impersonation
    from masthead._meta.gvk import GroupVersionKind
    from masthead._meta.unstructured import Unstructured
    from masthead._meta.v1 import DeletionPropagation
    from masthead._rest.client import RestClient
    from masthead._sansio.warnings import ServerWarning

__all__ = ["Client"]

T = TypeVar("T", bound=Object)


class Client(Clientset):
    """A client of one cluster, as one user.

    ::

        async with Client() as client:
            async for pod in client.core_v1.pods("default").iterate(label_selector="app=web"):
                print(pod.metadata.name, pod.status.phase)

    Without arguments it goes where kubectl goes: ``KUBECONFIG``, ``~/.kube/config``, or the service account of the pod
    that it runs in. All groups share its connections.
    """

    def __init__(
        self,
        config: Config | None = None,
        *,
        kubeconfig: KubeconfigSource | None = None,
        context: str | None = None,
        namespace: str | None = None,
        impersonate: str | Impersonation | None = None,
        timeout: float = 60.0,
        read_timeout: float = 90.0,
        retries: int = 10,
        rate: float | None = None,
        burst: int = 10,
        connections: int = 256,
        page_size: int = 500,
        field_manager: str = "",
        field_validation: FieldValidation | None = None,
        user_agent: str = "",
        max_response_bytes: float = MAX_RESPONSE_BYTES,
        on_warning: Callable[[ServerWarning], None] | None = None,
        discovery_cache: str | PathLike[str] | None = None,
        check_watch_lists: bool = False,
    ) -> None:
        """Find out where the cluster is. Nothing is sent before the first call.

        Args:
            config: Where the cluster is and who we are there; None to look for it.
            kubeconfig: The file to look in; or its text, or what it says as plain data; not together with `config`.
            context: Which of its contexts to use; not together with `config`.
            namespace: The default namespace, in place of what the configuration has.
            impersonate: As whom to act: a user's name, or an `Impersonation` with groups; in place of what the
                configuration has.
            timeout: Seconds that a call may take, its repetitions included, unless it says otherwise. Finding
                credentials is not counted: somebody may be logging in, and that has a limit of its own.
            read_timeout: Seconds without a byte after which a watch counts as dead, and is resumed.
            retries: How often a call is repeated at most where the server, or the network, asks for it.
            rate: Calls a second that the client allows itself; None for no limit.
            burst: How many calls may come at once before `rate` holds them back.
            connections: How many connections calls may use at once; 0 for any number. Streams have their own.
            page_size: How many objects of a list are asked for at a time.
            field_manager: Under which name changes are recorded; empty to leave it to the server.
            field_validation: What the server does about fields that it does not know; None to leave it to the server.
            user_agent: Who is asking, for the server's logs.
            max_response_bytes: How long an answer that is read at once may be, packed and unpacked: what is longer is a
                `ResponseTooLargeError`. ``math.inf`` for any length.
            on_warning: Is told of each warning that the server sends along; None to log each text once.
            discovery_cache: A folder to keep what the cluster serves in, between runs; None for memory alone.
            check_watch_lists: Compare every list that came as a watch with a plain one. For finding faults: it costs
                more than it saves.

        Raises:
            ConfigError: if no cluster was found, or what was found cannot be used.
            AuthError: if the credentials cannot be used.
            InvalidValueError: if another argument is senseless.
        """
        kubeconfig = conceal(kubeconfig)
        if config is not None and (kubeconfig is not None or context is not None):
            raise ConfigError("give a config, or a kubeconfig and context to make it from, not both")
        if config is not None and not isinstance(cast("object", config), Config):
            raise ConfigError(
                f"config is of type {type(config).__name__}; for a kubeconfig (its path, its text or a dict of what it says) "
                "write kubeconfig=..., and for an address masthead.Config(server=...)"
            )
        found = config or load(kubeconfig, context=context)
        if not isinstance(cast("object", namespace), str | None):
            raise InvalidValueError(
                f"namespace is of type {type(namespace).__name__}; give its name as text", value=namespace
            )
        if namespace and (problem := names.problem_with_dns1123_label(namespace)):
            raise NameFormatError(f"namespace: {names.quote(namespace)} {problem}", value=namespace)
        self._config = found = adjusted(found, namespace=namespace, impersonate=impersonate)
        if connections < 0:
            raise InvalidValueError(f"connections is {connections}; 0 is for any number", value=connections)
        settings = RestSettings(
            timeout=timeout,
            read_timeout=read_timeout,
            retries=retries,
            rate=rate,
            burst=burst,
            user_agent=user_agent,
            max_response_bytes=max_response_bytes,
            on_warning=on_warning,
        )
        defaults = Defaults(
            page_size=page_size,
            field_manager=field_manager,
            field_validation=field_validation,
            check_watch_lists=check_watch_lists,
        )
        rest = connect(found, settings, connections=connections)
        super().__init__(ClientContext(rest, defaults))
        cache = None if discovery_cache is None else DiskCache(Path(discovery_cache), server=found.server)
        self._discovery = DiscoveryClient(rest, cache=cache)
        self._mapper = RestMapper(self._discovery)

    @property
    def config(self) -> Config:
        """Where the cluster is, and who we are there."""
        return self._config

    @property
    def namespace(self) -> str:
        """Where objects are when nobody says otherwise: ``client.core_v1.pods(client.namespace)``."""
        return self._config.namespace

    @property
    def rest(self) -> RestClient:
        """Raw calls, for what has no client of its own: ``await client.rest.get("/version")``."""
        return self._context.rest

    @property
    def discovery(self) -> DiscoveryClient:
        """What the cluster serves."""
        return self._discovery

    @property
    def mapper(self) -> RestMapper:
        """Which resource a kind, plural or short name means on this cluster."""
        return self._mapper

    def resource(self, kind: type[T], namespace: str | None = None) -> TypedResource[T]:
        """The objects of a kind, by its class: one of ``masthead.api``, or your own.

        Raises:
            UnknownKindError: if the class does not say where its objects are served.
        """
        return TypedResource(self._context, typed(kind), namespace)

    def dynamic(
        self,
        what: str | GroupVersionResource,
        resource: str | None = None,
        *,
        namespace: str | None = None,
    ) -> DynamicResource:
        """The objects of any resource, without a type.

        ::

            client.dynamic("apps/v1", "deployments", namespace="default")
            client.dynamic("deploy", namespace="default")
            client.dynamic(GroupVersionResource("example.com", "v1", "widgets"))

        What is not given in full is looked up on the cluster when the first call is made.

        Args:
            what: The API version; or the resource itself, as kubectl takes it.
            resource: The plural, singular, kind or short name; with an API version only.
            namespace: Whose objects; None for all namespaces, and for what lives in none.
        """
        return DynamicResource(self._context, self._finder(any_kind, what, resource), namespace)

    def metadata(
        self,
        what: str | GroupVersionResource,
        resource: str | None = None,
        *,
        namespace: str | None = None,
    ) -> MetadataResource:
        """The metadata of the objects of any resource. The arguments are those of `dynamic`."""
        return MetadataResource(self._context, self._finder(metadata_only, what, resource), namespace)

    def scales(self, namespace: str | None = None) -> Scales:
        """How many replicas there are, and shall be, of anything in a namespace that has some."""

        async def find(what: str) -> ResourceTarget[Unstructured]:
            found = await self._mapper.find(what)
            return any_kind(found.gvr, namespaced=found.namespaced)

        return Scales(self._context, find, namespace)

    async def apply_manifests(
        self,
        source: Source,
        *,
        namespace: str | None = None,
        field_manager: str | None = None,
        force: bool = False,
        dry_run: bool = False,
        field_validation: FieldValidation | None = None,
        wait_for_crds: bool = True,
        timeout: float | None = None,
    ) -> Sequence[Unstructured]:
        """Apply manifests on the server's side: files, folders, text or objects, of any kinds, in the right order.

        Everything is read and checked before the first object is sent. Definitions of custom resources and namespaces
        come first; a definition is waited for until its kind is served.

        Args:
            source: A path of a file or folder, YAML text, an object, plain data, or several of these.
            namespace: For objects that name none; None for the client's own.
            field_manager: Who owns the fields; needed, here or as the client's own.
            force: Take fields over that others own.
            dry_run: Go through everything, and store nothing. An object whose kind or namespace is still to come, from
                the same manifests, cannot be tried out: it is passed over, and a line in the log names it.
            field_validation: What becomes of fields that the server does not know.
            wait_for_crds: Wait until a definition that was applied is served.
            timeout: Seconds for each call, and for each wait.

        Returns:
            The objects as the server stored them, or would have, in the order in which they were applied.

        Raises:
            ManifestError: if a manifest cannot be read or sent; it says which, and what was applied before it.
        """
        return await apply_manifests(
            self,
            source,
            namespace=namespace,
            field_manager=field_manager,
            force=force,
            dry_run=dry_run,
            field_validation=field_validation,
            wait_for_crds=wait_for_crds,
            timeout=timeout,
        )

    async def delete_manifests(
        self,
        source: Source,
        *,
        namespace: str | None = None,
        propagation_policy: DeletionPropagation | None = None,
        dry_run: bool = False,
        timeout: float | None = None,
    ) -> Sequence[Unstructured]:
        """Delete what manifests describe, in the reverse order; what is not there is passed over.

        Args:
            source: As for `apply_manifests`.
            namespace: For objects that name none; None for the client's own.
            propagation_policy: What becomes of what the objects own.
            dry_run: Go through everything, and delete nothing.
            timeout: Seconds for each call.

        Returns:
            What was there and was deleted.

        Raises:
            ManifestError: if a manifest cannot be read, or its object not be deleted.
        """
        return await delete_manifests(
            self,
            source,
            namespace=namespace,
            propagation_policy=propagation_policy,
            dry_run=dry_run,
            timeout=timeout,
        )

    async def close(self) -> None:
        """Close every connection; watches and calls that are under way end. Closing twice does nothing."""
        await self._context.rest.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._config.describe()})"

    def _finder(
        self, target: _MakesTarget[T], what: str | GroupVersionResource, resource: str | None
    ) -> ResourceTarget[T] | LazyTarget[T]:
        if isinstance(what, GroupVersionResource):
            if resource is not None:
                raise InvalidValueError(f"{what} says it all; leave out {resource!r}", value=resource)
            return target(what, namespaced=None)

        async def find() -> ResourceTarget[T]:
            if resource is None:
                found = await self._mapper.find(what)
            else:
                found = await self._mapper.find(resource, api_version=what)
            return target(found.gvr, namespaced=found.namespaced, gvk=found.gvk)

        return LazyTarget(what if resource is None else f"{what} {resource}", find)


class _MakesTarget(Protocol[T]):
    def __call__(
        self, resource: GroupVersionResource, *, namespaced: bool | None, gvk: GroupVersionKind | None = None
    ) -> ResourceTarget[T]: ...
