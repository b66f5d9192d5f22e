"""What users do with the objects of a generated workload, and what other clients do with their children."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, cast

from masthead._meta.patch import Patch
from masthead._meta.unstructured import Unstructured
from masthead._schema.schema import Json, is_object
from masthead.errors import AlreadyExistsError, ConflictError, DeadlineError, NotFoundError, StatusError
from masthead.testing._explore.generation.state_changes import UNMANAGED

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from masthead._client.dynamic import DynamicResource
    from masthead.testing._environment import Environment
    from masthead.testing._explore.generation.object_states import ObjectStates, State

__all__ = ["Act", "ChildActions", "ObjectActions"]

Act: TypeAlias = "Callable[[Environment], Awaitable[None]]"

_MAX_ATTEMPTS: Final = 60
_QUICK_ATTEMPTS: Final = 20
_REFUSALS: Final = frozenset({*range(400, 500)} - {429})
"""Status codes that another attempt does not change."""


class ObjectActions:
    """The actions of a user on one object. States that the server refuses are noted, and change nothing.

    Args:
        states: The kind of the object.
        name: Its name.
        namespace: Its namespace; empty for a cluster-scoped kind.
        notes: Where refusals are noted.
    """

    def __init__(self, states: ObjectStates, name: str, namespace: str, notes: list[str]) -> None:
        self._states = states
        self._name = name
        self._namespace = namespace
        self._notes = notes

    @property
    def key(self) -> str:
        """The key of the object."""
        return f"{self._namespace}/{self._name}" if self._namespace else self._name

    def create(self, state: State) -> Act:
        """Return the action that creates the object; if it exists, it gets the state."""

        async def act(env: Environment) -> None:
            await self._put(env, state, is_expected=False)

        return act

    def change(self, state: State) -> Act:
        """Return the action that gives the object a state; if it does not exist, it is created."""

        async def act(env: Environment) -> None:
            await self._put(env, state, is_expected=True)

        return act

    def delete(self) -> Act:
        """Return the action that deletes the object."""

        async def act(env: Environment) -> None:
            await self._delete(env)

        return act

    def recreate(self, state: State) -> Act:
        """Return the action that deletes the object, and creates it as soon as its name is free."""

        async def act(env: Environment) -> None:
            await self._delete(env)
            await self._put(env, state, is_expected=False)

        return act

    def _resource(self, env: Environment) -> DynamicResource:
        return env.client.dynamic(self._states.resource, namespace=self._namespace or None)

    async def _delete(self, env: Environment) -> None:
        for attempt in range(_MAX_ATTEMPTS):
            try:
                # Like kubectl without options.
                await self._resource(env).delete(self._name, propagation_policy="Background")
            except NotFoundError:
                self._notes.append(f"{self._states.kind} {self.key} did not exist")
            except StatusError as error:
                if not await self._try_again(error, attempt):
                    return
                continue
            return

    async def _put(self, env: Environment, state: State, *, is_expected: bool) -> None:
        """Create or update the object, as soon as its name is free.

        Args:
            env: The environment.
            state: The state.
            is_expected: Whether the object should exist: then it is read first, and else created first.

        Raises:
            DeadlineError: If the earlier one is not removed.
            StatusError: If the server keeps failing.
        """
        resource = self._resource(env)
        for attempt in range(_MAX_ATTEMPTS):
            try:
                live = await resource.get(self._name) if is_expected else None
                # An object under deletion accepts updates, but its successor would not have the state.
                if live is not None and live.metadata.deletion_timestamp is None:
                    await resource.update(self._merge(live, state))
                else:
                    await resource.create(self._new(state))
            except NotFoundError:
                is_expected = False
            except (AlreadyExistsError, ConflictError):
                is_expected = True
                # The operator may have to remove a finalizer first.
                await _pause(attempt)
            except StatusError as error:
                if not await self._try_again(error, attempt):
                    return
            else:
                return
        raise DeadlineError(f"{self._states.kind} {self.key} is still being deleted, and cannot be created again")

    async def _try_again(self, error: StatusError, attempt: int) -> bool:
        """Pause after a failure of the server, such as an unreachable webhook; return whether to send it again.

        Raises:
            StatusError: If it has failed too often.
        """
        # A refusal is the expected end of some steps.
        if error.code in _REFUSALS:
            self._notes.append(f"refused: {error}")
            return False
        if attempt == _MAX_ATTEMPTS - 1:
            raise error
        await _pause(attempt)
        return True

    def _new(self, state: State) -> Unstructured:
        return Unstructured.from_dict(self._states.wrap(state, self._name, self._namespace))

    def _merge(self, live: Unstructured, state: State) -> Unstructured:
        """Return the live object with another state; what others have set in its metadata stays."""
        # With the resource version, so that a concurrent write causes a conflict instead of a lost update.
        kept = {name: value for name, value in live.to_dict().items() if name in UNMANAGED}
        return Unstructured.from_dict({**kept, **state})


class _Child(NamedTuple):
    resource: str
    key: str
    object: dict[str, Any]


class _Edit(NamedTuple):
    field: str
    patch: Mapping[str, object]


class ChildActions:
    """The actions of other clients on the objects that an operator has made.

    Args:
        resource: The resource of the reconciled object, such as ``websites.example.com``.
        key: The reconciled object.
        notes: Where actions are noted, with the objects that they struck.
    """

    def __init__(self, resource: str, key: str, notes: list[str]) -> None:
        self._resource = resource
        self._key = key
        self._notes = notes

    def delete(self, number: int) -> Act:
        """Return the action that deletes the n-th child, counted from 0."""

        async def act(env: Environment) -> None:
            children = self._find(env)
            if not children:
                self._notes.append(f"{self._key} has no children to delete")
                return
            # The builder does not know how many children the operator makes.
            child = children[number % len(children)]
            self._notes.append(f"another client deletes {child.resource} {child.key}")
            await self._send(env, child, None)

        return act

    def edit(self, number: int) -> Act:
        """Return the action that makes the n-th of all possible edits of children, counted from 0."""

        async def act(env: Environment) -> None:
            edits = [(child, edit) for child in self._find(env) for edit in _edits_of(child.object)]
            if not edits:
                self._notes.append(f"{self._key} has no children to edit")
                return
            child, edit = edits[number % len(edits)]
            self._notes.append(f"another client edits {edit.field} of {child.resource} {child.key}")
            await self._send(env, child, edit.patch)

        return act

    async def _send(self, env: Environment, child: _Child, patch: Mapping[str, object] | None) -> None:
        """Patch a child, or delete it without a patch."""
        namespace, _, name = child.key.rpartition("/")
        resource = env.client.dynamic(child.resource, namespace=namespace or None)
        try:
            if patch is None:
                await resource.delete(name, propagation_policy="Background")
            else:
                await resource.patch(name, Patch.merge(patch))
        except StatusError as error:
            # A child may vanish between the dump and the request.
            if error.code not in _REFUSALS:
                raise
            self._notes.append(f"refused: {error}")

    def _find(self, env: Environment) -> list[_Child]:
        """Return the children of the reconciled object; without any, all objects created by the operator."""
        # Another cluster has no list of everything.
        if not env.is_embedded:
            return []
        stored = env.server.dump()
        owner = stored.get(self._resource, {}).get(self._key)
        uid = cast("dict[str, Any]", owner)["metadata"]["uid"] if owner is not None else None
        others = [
            _Child(resource, key, cast("dict[str, Any]", stored[resource][key]))
            # A fixed order, so that the n-th child is the same in every run.
            for resource in sorted(stored)
            for key in sorted(stored[resource])
            if resource != self._resource
        ]
        # An operator need not notice what becomes of other objects: it may only write them.
        if owned := [child for child in others if uid in _owners(child.object)]:
            return owned
        written = {
            (write.resource, write.key)
            for write in env.writes
            # Patches and updates may concern objects of other authors.
            if write.verb in {"apply", "create"} and write.is_accepted
        }
        return [child for child in others if (child.resource, child.key) in written]


async def _pause(attempt: int) -> None:
    # Most finalizers take less than a second; the slow attempts allow for a long cleanup.
    await asyncio.sleep(0.05 if attempt < _QUICK_ATTEMPTS else 1.0)


def _owners(obj: dict[str, Any]) -> set[str]:
    return {reference["uid"] for reference in obj["metadata"].get("ownerReferences") or ()}


def _edits_of(obj: dict[str, Json]) -> list[_Edit]:
    """Return edits that an operator should repair."""
    edits: list[_Edit] = []
    if labels := obj["metadata"].get("labels"):
        # The smallest key is the same in every run.
        edits.append(_Edit("metadata.labels", {"metadata": {"labels": {min(labels): None}}}))
    data = obj.get("data")
    if is_object(data) and data:
        # The data of a Secret is base64, which this text is as well.
        edits.append(_Edit("data", {"data": {min(data): "ZWRpdGVk"}}))
    spec = obj.get("spec")
    if is_object(spec) and isinstance(replicas := spec.get("replicas"), int):
        edits.append(_Edit("spec.replicas", {"spec": {"replicas": replicas + 1}}))
    return edits
