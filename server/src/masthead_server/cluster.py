"""The cluster state: storage, clock, catalog and allocator, which all verbs and controllers share."""

from __future__ import annotations

import random
from functools import lru_cache
from math import inf
from typing import TYPE_CHECKING, Final

from masthead._meta.gvk import GroupVersionResource
from masthead._meta.quoting import quoted
from masthead_server.admission.chain import AdmissionChain
from masthead_server.authentication.tokens import TokenAuthenticator
from masthead_server.authorization.always_allow import AlwaysAllow
from masthead_server.clock import SystemClock, stamp
from masthead_server.eager import BackgroundTasks
from masthead_server.field_managers.own_entries import CLUSTER_MANAGER, own_entry
from masthead_server.process_activity import ProcessActivity
from masthead_server.process_turns import TurnQueue
from masthead_server.resources.allocator import Allocations, Allocator
from masthead_server.resources.catalog import unknown_resource
from masthead_server.resources.custom.installer import DEFINITIONS
from masthead_server.resources.services import ServiceAddresses
from masthead_server.simulated_metrics import SimulatedMetrics
from masthead_server.wire.body_limits import too_large
from masthead_server.wire.failures import StatusFailure, details_of, not_found, qualified
from masthead_server.write_turns import WriteTurns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime
    from ipaddress import IPv4Network

    from masthead_server.authorization.authorizer import Authorizer
    from masthead_server.authorization.escalation import EscalationGuard
    from masthead_server.certificate_signer import CertificateSigner
    from masthead_server.clock import Clock
    from masthead_server.resources.catalog import Catalog
    from masthead_server.resources.resource import ServedResource
    from masthead_server.storage import Record, ReplacedObject, Storage, StoredState
    from masthead_server.wire.plain import Plain

__all__ = ["FIRST_NAMESPACES", "SAFE_ALPHABET", "ClusterState"]

FIRST_NAMESPACES: Final = ("default", "kube-node-lease", "kube-public", "kube-system")
"""The namespaces that every cluster has."""
SAFE_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
"""The alphabet of generated names, without vowels and digits that look like letters, so that no words arise."""
_SUFFIX_LENGTH: Final = 5
_MAX_PREFIX: Final = 58
_MAX_DECODED: Final = 256
"""The number of cached decoded objects, which expressions of policies read: parameters and namespaces."""


class ClusterState:
    """The state that requests and controllers read and change, all in one thread.

    Args:
        storage: The stored objects.
        clock: The server's clock.
        catalog: The resources that are served.
        seed: Makes generated names and uids reproducible; None for random ones.
        service_network: The range of cluster IPs; the default one if None.
        authority: The certificate of the authority that signed the server's, in PEM; empty without TLS.
        on_idle: Called when the last write in the background has ended.
    """

    def __init__(
        self,
        storage: Storage,
        clock: Clock,
        catalog: Catalog,
        *,
        seed: int | None = None,
        service_network: IPv4Network | None = None,
        authority: str = "",
        on_idle: Callable[[], object] = lambda: None,
    ) -> None:
        self.storage = storage
        self.catalog = catalog
        self.clock = clock
        self.authority = authority
        self.on_write: list[Callable[[ServedResource, Record], object]] = []
        """Called after every write, with the resource and the record."""
        self._observers: dict[str, list[Callable[[ServedResource, Record], object]]] = {}
        """Called after a write to a table, before `on_write`."""
        self.admission: AdmissionChain = AdmissionChain()
        """The admission plugins of every write."""
        self.services: ServiceAddresses = ServiceAddresses(self)
        """The addresses behind the Services of webhooks."""
        self.find_signer: Callable[[], CertificateSigner | None] = lambda: None
        """Returns what signs certificates with the authority of the server; None without the extra ``tls``."""
        self.url: str = ""
        """The URL of the server for its clients, with TLS where it has certificates; empty until it listens."""
        self.metrics: SimulatedMetrics = SimulatedMetrics()
        """The simulated metrics, which autoscalers read."""
        self.tokens: TokenAuthenticator = TokenAuthenticator(self)
        """Authenticates tokens, and issues service-account tokens."""
        self.authorizer: Authorizer = AlwaysAllow()
        """The authorizers."""
        self.escalation: EscalationGuard | None = None
        """Checks grants of permissions; None if roles have no effect."""
        self.decode: Callable[[ServedResource, Record], Plain] = lru_cache(maxsize=_MAX_DECODED)(_decode)
        """Decodes a stored object with its kind, for expressions that read it often; nothing may change the result."""
        self.check_writable: Callable[[], object] = lambda: None
        """Called before every write; raises a `StatusFailure` while the server refuses them."""
        self.is_replaying: bool = False
        """Whether what is written now was recorded, so that no controller acts on it."""
        self.background: BackgroundTasks = BackgroundTasks(on_idle, clock.call_later)
        """Writes in the background."""
        self.write_turns: WriteTurns = WriteTurns(lambda: storage.written)
        """Bounds what controllers write in a turn of the event loop."""
        self.process_turns: TurnQueue = TurnQueue(on_idle)
        """The turns of main processes."""
        self.process_activity: ProcessActivity = ProcessActivity(on_idle)
        """Which processes of containers compute."""
        # A reopened store continues with other numbers, so that no uid repeats.
        self._random = random.Random(seed if seed is None else f"{seed} from {storage.revision}")
        self._service_network = service_network
        self.allocations: Allocations = self._reserve_all()

    def _reserve_all(self) -> Allocations:
        """Return the addresses and ports of all stored services."""
        network = self._service_network
        allocations = Allocations() if network is None else Allocations(network=network)
        for service in self._listed("", "services"):
            allocations.reserve(service)
        return allocations

    def allocator(self) -> Allocator:
        """Return the allocator of one write."""
        return Allocator(self.allocations, self._listed, now=self.now)

    def find(self, served: ServedResource, namespace: str, name: str) -> Record:
        """Return the stored object with a name.

        Raises:
            StatusFailure: If it does not exist.
        """
        record = self.storage.table(served.table).get(served.place(namespace, name))
        if record is None:
            raise served.missing(name)
        return record

    def write(self, served: ServedResource, key: str, found: Plain, *, max_bytes: float = inf) -> Record:
        """Store an object, which gets the next version.

        Args:
            served: Its resource.
            key: Its key in the table.
            found: The object.
            max_bytes: The size limit of the stored object.

        Raises:
            StatusFailure: If it is larger, or if its definition was deleted.
            ConversionPending: If a webhook has to convert it first.
        """
        self.check_writable()
        # Nothing awaits between here and the write, so that the version is still the next one.
        version = str(self.storage.next_revision)
        found["metadata"]["resourceVersion"] = version
        value = served.dump(found)
        if len(value) > max_bytes:
            raise too_large(f"limit is {max_bytes} for an object that is stored")
        # Before storing: an object that cannot be converted for the response must not be stored.
        served.codec.require((value,))
        if served.is_custom and self.catalog.find(served.gvr) is not served:
            value = self._dump_outdated(served, value, version)
        record = self.storage.write(served.table, key, value)
        self._notify(served, record)
        return record

    def _dump_outdated(self, served: ServedResource, value: bytes, version: str) -> bytes:
        """Encode an object whose definition has changed while its write waited; its readers apply the new schema."""
        # Nothing would ever delete an object without a definition.
        if self.catalog.stored_in(served.table) is None:
            raise unknown_resource()
        return served.codec.with_version(value, version)

    def remove(self, served: ServedResource, key: str, found: Plain) -> Record:
        """Remove an object; watches get its last state, with the version of the deletion."""
        self.check_writable()
        last = {
            **found,
            "metadata": {**found["metadata"], "resourceVersion": str(self.storage.next_revision)},
        }
        record = self.storage.write(served.table, key, served.dump(last), is_deleted=True)
        # After the write, its addresses and ports are free.
        if served.table == "services":
            self.allocations.release(found)
        self._notify(served, record)
        return record

    @property
    def virtual_time(self) -> Callable[[], datetime] | None:
        """Returns the time of a virtual clock; None if the clock is the system's."""
        return None if isinstance(self.clock, SystemClock) else self.clock.now

    def now(self) -> str:
        """Return the time in the format of metadata."""
        return stamp(self.clock.now())

    def new_uid(self) -> str:
        """Return a uid for a new object."""
        # RFC 9562's version 4, written by hand: uuid.UUID takes longer than storing the object.
        digits = f"{self._random.getrandbits(128):032x}"
        variant = "89ab"[int(digits[16], 16) & 3]
        return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"

    def new_name(self, prefix: str) -> str:
        """Return a generated name with this prefix."""
        suffix = "".join(self._random.choices(SAFE_ALPHABET, k=_SUFFIX_LENGTH))
        return f"{prefix[:_MAX_PREFIX]}{suffix}"

    def check_namespace(self, served: ServedResource, namespace: str, name: str) -> None:
        """Make sure that objects may be created in a namespace.

        Raises:
            StatusFailure: If there is no such namespace, or if it is terminating.
        """
        record = self.storage.table("namespaces").get(namespace)
        if record is None:
            raise not_found("", "namespaces", namespace)
        # Search the text first: hardly any namespace is terminating, and a parse is expensive.
        if b'"deletionTimestamp"' not in record.value:
            return
        cause = {
            "reason": "NamespaceTerminating",
            "message": f"namespace {namespace} is being terminated",
            "field": "metadata.namespace",
        }
        raise StatusFailure(
            403,
            "Forbidden",
            f"{qualified(served.group, served.name)} {quoted(name)} is forbidden: unable to create new content in "
            f"namespace {namespace} because it is being terminated",
            details={**details_of(name, served.group, served.name), "causes": [cause]},
        )

    def observe(self, table: str, notify: Callable[[ServedResource, Record], object]) -> None:
        """Call a function after every write to a table, with the resource and the record.

        Caches of configurations use this: a write to any other table costs them nothing.
        """
        self._observers.setdefault(table, []).append(notify)

    def stop_observing(self, table: str, notify: Callable[[ServedResource, Record], object]) -> None:
        """Stop calling a function after the writes to a table."""
        self._observers[table].remove(notify)

    def objects(self, served: ServedResource) -> Iterator[tuple[Record, Plain]]:
        """Iterate over the objects of a resource, in the stored shape."""
        for record in list(self.storage.table(served.table).scan("", self.storage.revision)):
            yield record, served.load(record)

    def restore(self, state: StoredState, *, revision: int | None = None) -> None:
        """Replace all objects by those of a state; all observers of writes see each difference.

        Args:
            state: The state.
            revision: The revision of this change, before the server has clients; None for the next one.

        Raises:
            JournalError: If they could not be stored; then nothing has changed.
        """
        changed = self.storage.replace(state, revision=revision)
        # A new allocator: a write that is refused later returns its addresses to the old one.
        self.allocations = self._reserve_all()
        # Definitions come before their objects, and are deleted after them.
        for table, record in sorted(changed, key=_restoring_order):
            served = self.catalog.stored_in(table)
            if served is not None:
                self._notify(served, record)

    def add_first_namespaces(self) -> None:
        """Create the namespaces that every cluster has, where they are missing."""
        served = self.catalog.require(GroupVersionResource("", "v1", "namespaces"))
        for name in FIRST_NAMESPACES:
            if self.storage.table(served.table).get(name) is None:
                self.write(served, name, self.new_namespace(name))

    def new_namespace(self, name: str) -> Plain:
        """Return a namespace, as the server itself creates it."""
        now, labels = self.now(), {"kubernetes.io/metadata.name": name}
        return {
            "metadata": {
                "name": name,
                "uid": self.new_uid(),
                "creationTimestamp": now,
                "labels": labels,
                "managedFields": [own_entry({"metadata": {"labels": labels}}, CLUSTER_MANAGER, "v1", now)],
            },
            "spec": {"finalizers": ["kubernetes"]},
            "status": {"phase": "Active"},
        }

    def _notify(self, served: ServedResource, record: Record) -> None:
        for notify in self._observers.get(served.table, ()):
            notify(served, record)
        for notify in self.on_write:
            notify(served, record)

    def _listed(self, group: str, resource: str) -> Iterator[Plain]:
        for version in self.catalog.versions(group):
            served = self.catalog.find(GroupVersionResource(group, version, resource))
            if served is not None:
                for _, found in self.objects(served):
                    yield found
                return


def _restoring_order(replaced: ReplacedObject) -> tuple[int, int]:
    if replaced.table == DEFINITIONS:
        return (2 if replaced.record.is_deleted else 0), replaced.record.revision
    return 1, replaced.record.revision


def _decode(served: ServedResource, record: Record) -> Plain:
    found = served.from_storage(served.load(record))
    return {"kind": served.kind, "apiVersion": served.api_version, **found}
