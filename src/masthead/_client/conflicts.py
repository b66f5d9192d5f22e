"""Update with retry on conflict.

The server rejects an update with an outdated resource version. The remedy is always the same: read the object
again, repeat the change, and retry.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Generic, TypeVar, Unpack

from masthead._client.base import name_of
from masthead._client.create_or_update import (
    apply_mutation,
    deleted_conflict,
    is_retried,
    overlay,
    prepare_create,
    retry_schedule,
    update_result,
)
from masthead._client.create_verbs import CreateVerbs
from masthead._client.options import WriteParameters
from masthead._client.read_verbs import ReadVerbs
from masthead._meta.object import Object
from masthead._module import set_module
from masthead._sansio.backoff import DEFAULT_RETRY
from masthead._sansio.randomness import random
from masthead.errors import AlreadyExistsError, ConflictError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from masthead._client.create_or_update import Mutate, OperationResult
    from masthead._client.options import WriteArguments
    from masthead._sansio.backoff import Attempts

__all__ = ["RetryVerbs", "read_again", "read_live", "retry_on", "retry_on_conflict"]

R = TypeVar("R")
T = TypeVar("T", bound=Object)


@set_module("masthead.aio")
async def retry_on_conflict(fn: Callable[[], Awaitable[R]], *, attempts: int | Attempts = DEFAULT_RETRY) -> R:
    """Call a function, and retry it while it raises `ConflictError`.

    An `ApplyConflictError` is raised without a retry: the same apply conflicts with the same managers again.

    Args:
        fn: Reads the object, changes it and writes it. A function that writes an object read earlier can only
            conflict again; for the usual case, see `update_with_retry`.
        attempts: The maximum number of attempts; or `Attempts`, with the delays in between.

    Raises:
        ConflictError: If the last attempt conflicts as well.
        ApplyConflictError: If other managers own fields that it applies.
        ArgumentError: If `attempts` allows no attempt.
    """
    return await retry_on(fn, ConflictError, attempts=attempts)


@set_module("masthead.aio")
async def retry_on(
    fn: Callable[[], Awaitable[R]],
    *errors: type[Exception],
    attempts: int | Attempts = DEFAULT_RETRY,
) -> R:
    """Call a function, and retry it while it raises one of these errors, with short delays in between.

    Args:
        fn: The function.
        errors: The errors to retry on. `ApplyConflictError` must be listed itself: its base class `ConflictError` does
            not include it, because a retry does not help.
        attempts: The maximum number of attempts; or `Attempts`, with the delays in between.

    Raises:
        Exception: The error of the last attempt; any error that is not in `errors`, without a retry.
        ArgumentError: If `attempts` allows no attempt.
    """
    delays = retry_schedule(attempts).delays(random)
    while True:
        try:
            return await fn()
        except errors as error:
            delay = next(delays, None) if is_retried(error, errors) else None
            if delay is None:
                raise
        # Outside the except block: a cancellation here must not have the error as its context.
        await asyncio.sleep(delay)


async def read_again(resource: CreateVerbs[T], obj: T, timeout: float | None) -> T:
    """Read an object from the server: the one of its name and namespace.

    Raises:
        NotFoundError: If it does not exist.
    """
    name, namespace = obj.metadata.name, obj.metadata.namespace
    # Not `get`: a client of all namespaces needs the object's own.
    return await resource._read(name, namespace, timeout)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]


async def read_live(resource: CreateVerbs[T], obj: T, timeout: float | None) -> T | None:
    """Read an object from the server, or None if it does not exist."""
    try:
        return await read_again(resource, obj, timeout)
    except NotFoundError:
        return None


@set_module("masthead.aio.clientset")
class RetryVerbs(ReadVerbs[T], CreateVerbs[T], Generic[T]):
    """Updates objects of a kind, with retry on conflict."""

    async def update(self, obj: T | Mapping[str, object], **options: Unpack[WriteArguments]) -> T:
        """Replace an object, and return it as the server stored it.

        Args:
            obj: The object to send, or plain data.
            options: ``dry_run``, ``field_manager``, ``field_validation`` and ``timeout``; see `WriteArguments`.

        Raises:
            ConflictError: If the object has changed since it was read; see `update_with_retry`.
            NotFoundError: If it does not exist.
        """
        return await self._put(obj, self._parameters(WriteParameters, "update", options))

    async def update_with_retry(
        self,
        get: str | Callable[[], Awaitable[T]],
        mutate: Mutate[T],
        *,
        attempts: int | Attempts = DEFAULT_RETRY,
        **options: Unpack[WriteArguments],
    ) -> T:
        """Read an object, change it and update it; on a conflict, start over.

        ::

            def scale(deployment: Deployment) -> None:
                deployment.spec.replicas = 3

            await deployments.update_with_retry("web", scale)

        Args:
            get: The object's name; or a function that reads it, such as from a cache. After a conflict the
                object is always read from the server, because a cache may be behind.
            mutate: Changes the object it is called with, which is a copy, or returns another. It is called
                once per attempt, so it should have no side effects. If it changes nothing, nothing is
                written.
            attempts: The maximum number of attempts; or `Attempts`, with the delays in between.
            options: ``dry_run``, ``field_manager``, ``field_validation`` and ``timeout``; see `WriteArguments`.

        Returns:
            The object from the server's response, or the object read before if nothing changed.

        Raises:
            ConflictError: If the last attempt conflicts as well.
            NotFoundError: If no object has that name.
            TypeError: If `mutate` returns something other than an object or None.
            ArgumentError: If `mutate` changes name or namespace.
        """
        known: T | None = None

        async def attempt() -> T:
            nonlocal known
            # After a conflict, never from the caller's function: a cache may be behind, and conflict again.
            if known is not None:
                known = await read_again(self, known, options.get("timeout"))
            elif isinstance(get, str):
                known = await self.get(get, timeout=options.get("timeout"))
            else:
                known = await get()
            wanted = apply_mutation(known, mutate)
            # The mutation changed nothing, so that an update would only cost a request.
            if wanted is None:
                return known
            return await self.update(wanted, **options)

        return await retry_on_conflict(attempt, attempts=attempts)

    async def create_or_get(self, obj: T, **options: Unpack[WriteArguments]) -> tuple[T, OperationResult]:
        """Create an object, or read the existing one without a change.

        Args:
            obj: The object to create if none of its name exists; it is not modified.
            options: ``dry_run``, ``field_manager``, ``field_validation`` and ``timeout``; see `WriteArguments`.

        Returns:
            The current object, and ``created`` or ``unchanged``.

        Raises:
            AlreadyExistsError: If an object of that name is repeatedly created and deleted during the attempts.
            ArgumentError: If the object has no name.
        """
        name_of(obj, "create or get")

        async def attempt() -> tuple[T, OperationResult]:
            found = await read_live(self, obj, options.get("timeout"))
            # A read first: it costs less than a refused creation, and needs no permission to create.
            return (found, "unchanged") if found is not None else (await self.create(obj, **options), "created")

        # Also if another client has created it since it was read: the next attempt reads it.
        return await retry_on(attempt, AlreadyExistsError)

    async def create_or_update(
        self,
        obj: T,
        mutate: Mutate[T] | None = None,
        *,
        attempts: int | Attempts = DEFAULT_RETRY,
        **options: Unpack[WriteArguments],
    ) -> tuple[T, OperationResult]:
        """Create an object, or update the existing one to the desired state.

        Args:
            obj: The object to create if none of its name exists; it is not modified.
            mutate: Sets the desired state: on the live object or, if it does not exist, on a copy of `obj`.
                Changes the object it is called with, or returns another. Without it, the sections of `obj`
                (its spec, its data; not its status) replace those of the live object, and its labels,
                annotations, owners and finalizers are added. Use it for kinds with immutable fields that the
                server defaults, such as jobs and persistent volume claims.
            attempts: The maximum number of attempts; or `Attempts`, with the delays in between.
            options: ``dry_run``, ``field_manager``, ``field_validation`` and ``timeout``; see `WriteArguments`.

        Returns:
            The current object, and the operation's result. With `dry_run`, an update that was sent is
            ``updated``.

        Raises:
            ConflictError: If the last attempt conflicts as well.
            AlreadyExistsError: If an object of that name is repeatedly created and deleted during the
                attempts.
            TypeError: If `mutate` returns something other than an object or None.
            ArgumentError: If the object has no name, or `mutate` changes name or namespace.
        """
        name_of(obj, "create or update")

        async def attempt() -> tuple[T, OperationResult]:
            found = await read_live(self, obj, options.get("timeout"))
            if found is None:
                made = await self.create(prepare_create(obj, mutate), **options)
                return made, "created"
            wanted = overlay(found, obj) if mutate is None else apply_mutation(found, mutate)
            if wanted is None:
                return found, "unchanged"
            try:
                response = await self.update(wanted, **options)
            except NotFoundError as error:
                # Deleted since it was read: as a conflict it is retried, and the next attempt creates it.
                raise deleted_conflict(found, error) from error
            return response, update_result(found, response, dry_run=options.get("dry_run", False))

        # Also on AlreadyExistsError: another client has created it since it was read, so the next attempt
        # updates it.
        return await retry_on(attempt, ConflictError, AlreadyExistsError, attempts=attempts)
