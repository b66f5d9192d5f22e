"""The resources that a pod requests, as whole numbers: thousandths of a CPU, bytes, units of extended resources."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from masthead._meta import typeinfo
from masthead._meta.quantity import Quantity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from masthead_server.scheduling.facts import ContainerFacts, PodFacts, PodSpec

__all__ = ["Requests", "parse_amounts", "read_requests"]

_CPU: Final = "cpu"
_MEMORY: Final = "memory"
_STORAGE: Final = "ephemeral-storage"
_NATIVE: Final = frozenset({_CPU, _MEMORY, _STORAGE, "pods"})
_DEFAULT_CPU: Final = 100
_DEFAULT_MEMORY: Final = 200 * 1024 * 1024
"""The requests that scores assume for a container without any: otherwise all such pods would get the same node."""
_ALWAYS: Final = "Always"
_CACHED: Final = 4096
_Amounts = dict[str, int]


class Requests(NamedTuple):
    """The resource requests of a pod.

    Attributes:
        cpu: Thousandths of a CPU.
        memory: Bytes of memory.
        storage: Bytes of ephemeral storage.
        others: Extended resources and huge pages, by name.
        scored_cpu: The CPU that counts in scores.
        scored_memory: The memory that counts in scores.
    """

    cpu: int = 0
    memory: int = 0
    storage: int = 0
    others: Mapping[str, int] = {}
    scored_cpu: int = 0
    scored_memory: int = 0


class _Resources(msgspec.Struct):
    requests: dict[str, str] = {}


_decode_resources = typeinfo.json_decoder(_Resources).decode
_decode_amounts = typeinfo.json_decoder(dict[str, str]).decode


@lru_cache(maxsize=_CACHED)
def _parse_amount(name: str, written: str) -> int:
    quantity = Quantity(written)
    return quantity.milli_value() if name == _CPU else quantity.value()


def parse_amounts(written: Mapping[str, str]) -> _Amounts:
    """Return amounts as whole numbers, rounded up."""
    return {name: _parse_amount(name, quantity) for name, quantity in written.items()}


@lru_cache(maxsize=_CACHED)
def _read_resources(written: bytes) -> _Amounts:
    return parse_amounts(_decode_resources(written).requests) if written else {}


@lru_cache(maxsize=_CACHED)
def _read_amounts(written: bytes) -> _Amounts:
    return parse_amounts(_decode_amounts(written)) if written else {}


def read_requests(pod: PodFacts) -> Requests:
    """Compute the requests of a pod: the sum of its containers, or the largest init container if that is more.

    Until a resize of a running pod is complete, the allocated resources count, too.
    """
    spec = pod.spec
    # The larger value counts: a shrunk container keeps its old resources until the kubelet has resized it.
    allocated: dict[str, _Amounts] = {}
    for status in (*(pod.status.container_statuses or ()), *(pod.status.init_container_statuses or ())):
        held = _raise(dict(_read_amounts(bytes(status.allocated_resources))), _read_resources(bytes(status.resources)))
        if held:
            allocated[status.name] = held
    if not allocated:
        # Replicas of a workload share the result.
        key = (
            tuple([bytes(container.resources) for container in spec.containers]),
            tuple([(bytes(container.resources), container.restart_policy) for container in spec.init_containers]),
            bytes(spec.resources),
            bytes(spec.overhead),
        )
        return _sum_written(*key)
    return _build(spec.containers, spec.init_containers, spec, allocated)


@lru_cache(maxsize=_CACHED)
def _sum_written(
    containers: tuple[bytes, ...], init_containers: tuple[tuple[bytes, str], ...], resources: bytes, overhead: bytes
) -> Requests:
    return _sum(
        [_read_resources(written) for written in containers],
        [(_read_resources(written), policy == _ALWAYS) for written, policy in init_containers],
        _read_resources(resources),
        _read_amounts(overhead),
    )


def _build(
    containers: Iterable[ContainerFacts],
    init_containers: Iterable[ContainerFacts],
    spec: PodSpec,
    allocated: Mapping[str, _Amounts],
) -> Requests:
    def effective(container: ContainerFacts) -> _Amounts:
        return _raise(dict(_read_resources(bytes(container.resources))), allocated.get(container.name, {}))

    return _sum(
        [effective(container) for container in containers],
        [(effective(container), container.restart_policy == _ALWAYS) for container in init_containers],
        _read_resources(bytes(spec.resources)),
        _read_amounts(bytes(spec.overhead)),
    )


def _sum(
    containers: Sequence[_Amounts],
    init_containers: Sequence[tuple[_Amounts, bool]],
    of_pod: Mapping[str, int],
    overhead: Mapping[str, int],
) -> Requests:
    total = _add_containers(containers, init_containers)
    defaults = {_CPU: _DEFAULT_CPU, _MEMORY: _DEFAULT_MEMORY}
    scored = _add_containers(
        [{**defaults, **amounts} for amounts in containers],
        [({**defaults, **amounts}, is_sidecar) for amounts, is_sidecar in init_containers],
    )
    for amounts in (total, scored):
        # Pod-level requests replace the sum.
        amounts.update(of_pod)
        _add(amounts, overhead)
    return Requests(
        total.get(_CPU, 0),
        total.get(_MEMORY, 0),
        total.get(_STORAGE, 0),
        {name: amount for name, amount in total.items() if name not in _NATIVE},
        scored.get(_CPU, 0),
        scored.get(_MEMORY, 0),
    )


def _add_containers(containers: Sequence[_Amounts], init_containers: Sequence[tuple[_Amounts, bool]]) -> _Amounts:
    total: _Amounts = {}
    for amounts in containers:
        _add(total, amounts)
    sidecars: _Amounts = {}
    largest: _Amounts = {}
    for amounts, is_sidecar in init_containers:
        if is_sidecar:
            _add(total, amounts)
            _add(sidecars, amounts)
            _raise(largest, sidecars)
        else:
            # An init container runs at the same time as the sidecars before it.
            _raise(largest, _add(dict(amounts), sidecars))
    return _raise(total, largest)


def _add(total: _Amounts, more: Mapping[str, int]) -> _Amounts:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount
    return total


def _raise(total: _Amounts, least: Mapping[str, int]) -> _Amounts:
    for name, amount in least.items():
        if amount > total.get(name, 0) or name not in total:
            total[name] = amount
    return total
