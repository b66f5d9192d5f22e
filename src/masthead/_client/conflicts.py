"""Changing objects that others change too.

A write with an old version is refused with a conflict. The remedy is always the same: read the object again, repeat the
change on what it is now, and try again.
"""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Generic, TypeVar

from masthead._client.base import name_of
from masthead._client.create_verbs import CreateVerbs
from masthead._client.mutations import (
    apply_mutation,
    deleted_conflict,
    overlay,
    prepare_create,
    retry_schedule,
    update_result,
)
from masthead._client.read_verbs import ReadVerbs
from masthead._meta.object import Object
from masthead._sansio.backoff import DEFAULT_RETRY
from masthead.errors import AlreadyExistsError, ConflictError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from masthead._client.mutations import Mutate, OperationResult
    from masthead._client.options import FieldValidation
    from masthead._sansio.backoff import Attempts

__all__ = ["RetryVerbs", "read_again", "read_live", "retry_on", "retry_on_conflict"]

R = TypeVar("R")
T = TypeVar("T", bound=Object)


async def retry_on_conflict(fn: Callable[[], Awaitable[R]], *, attempts: int | Attempts = DEFAULT_RETRY) -> R:
    """Call a function again as long as somebody else was faster.

    Args:
        fn: Reads the object anew, changes it and writes it. A function that writes what was read before can only
            fail again; for the usual case, see `update_with_retry`.
        attempts: How often at most, the first time included; or `Attempts`, with the waits in between.

    Raises:
        ConflictError: if the last attempt meets one, too.
        InvalidValueError: if there is to be no attempt at all.
    """
    return await retry_on(fn, ConflictError, attempts=attempts)


async def retry_on(
    fn: Callable[[], Awaitable[R]],
    *errors: type[Exception],
    attempts: int | Attempts = DEFAULT_RETRY,
) -> R:
    """Call a function again as long as it raises one of these errors, with short waits in between.

    Args:
        fn: What to do.
        errors: What may pass by itself.
        attempts: How often at most, the first time included; or `Attempts`, with the waits in between.

    Raises:
        Exception: what the last attempt raises, and at once whatever is none of `errors`.
        InvalidValueError: if there is to be no attempt at all.
    """
    delays = retry_schedule(attempts).delays(random.random)
    while True:
        try:
            return await fn()
        except errors:
            delay = next(delays, None)
            if delay is None:
                raise
        await asyncio.sleep(delay)


async def read_again(resource: CreateVerbs[T], obj: T, timeout: float | None) -> T:
    """Read an object from the server: the one of its name and namespace.

    Raises:
        NotFoundError: If it does not exist.
    """
    name, namespace = obj.metadata.name, obj.metadata.namespace
    # Not `get`: a client of all namespaces needs the object's own.
    call = await resource._build_call("get", name=name, namespace=namespace, timeout=timeout)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    return await resource._get_object(call)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]


async def read_live(resource: CreateVerbs[T], obj: T, timeout: float | None) -> T | None:
    """Read an object from the server, or None if it does not exist."""
    try:
        return await read_again(resource, obj, timeout)
    except NotFoundError:
        return None


class RetryVerbs(ReadVerbs[T], CreateVerbs[T], Generic[T]):
    """Changes objects of a kind that others change too."""

    async def update(
        self,
        obj: T | Mapping[str, object],
        *,
        dry_run: bool = False,
        field_manager: str | None = None,
        field_validation: FieldValidation | None = None,
        timeout: float | None = None,
    ) -> T:
        """Replace an object, and return it as the server stored it.

        Raises:
            ConflictError: If the object was changed since it was read; see `update_with_retry`.
            NotFoundError: If it does not exist.
        """
        return await self._put(
            obj,
            dry_run=dry_run,
            field_manager=field_manager,
            field_validation=field_validation,
            timeout=timeout,
        )

    async def update_with_retry(
        self,
        get: str | Callable[[], Awaitable[T]],
        mutate: Mutate[T],
        *,
        attempts: int | Attempts = DEFAULT_RETRY,
        dry_run: bool = False,
        field_manager: str | None = None,
        field_validation: FieldValidation | None = None,
        timeout: float | None = None,
    ) -> T:
        """Read an object, change it and write it, from the start again if somebody else was faster.

        ::

            def scale(deployment: Deployment) -> None:
                deployment.spec.replicas = 3

            await deployments.update_with_retry("web", scale)

        Args:
            get: The object's name; or what reads it, such as a cache. After a conflict, it is read from the server in
                any case, because a cache may not know yet.
            mutate: Changes the object that it is given, which is a copy, or returns another. It is called once per
                attempt, so it should do nothing else. If it changes nothing, nothing is written.
            attempts: How often at most, the first time included; or `Attempts`, with the waits in between.
            dry_run: See `update`.
            field_manager: See `update`.
            field_validation: See `update`.
            timeout: Seconds for each call.

        Returns:
            The object as the server stored it, or as it was read if nothing changed.

        Raises:
            ConflictError: if the last attempt meets one, too.
            NotFoundError: if there is none of that name.
            TypeError: if `mutate` returns what is no object.
            InvalidValueError: if `mutate` changes name or namespace.
        """
        known: T | None = None

        async def attempt() -> T:
            nonlocal known
            if known is not None:
                known = await read_again(self, known, timeout)
            elif isinstance(get, str):
                known = await self.get(get, timeout=timeout)
            else:
                known = await get()
            wanted = apply_mutation(known, mutate)
            if wanted is None:
                return known
            return await self.update(
                wanted,
                dry_run=dry_run,
                field_manager=field_manager,
                field_validation=field_validation,
                timeout=timeout,
            )

        return await retry_on_conflict(attempt, attempts=attempts)

    async def create_or_update(
        self,
        obj: T,
        mutate: Mutate[T] | None = None,
        *,
        attempts: int | Attempts = DEFAULT_RETRY,
        dry_run: bool = False,
        field_manager: str | None = None,
        field_validation: FieldValidation | None = None,
        timeout: float | None = None,
    ) -> tuple[T, OperationResult]:
        """See to it that an object is there, and is as it should be.

        Args:
            obj: The object to create if there is none of its name; stays as it is.
            mutate: Makes the object what it should be: the live one or, if there is none, a copy of `obj`. Changes what
                it is given, or returns another. Without it, the sections of `obj` (its spec, its data; not its status)
                replace those of the live object, and its labels, annotations, owners and finalizers are added to them.
                Use it for kinds in whose spec the server fills in what must not change again, such as jobs and volume
                claims.
            attempts: How often at most, the first time included; or `Attempts`, with the waits in between.
            dry_run: See `update`.
            field_manager: See `update`.
            field_validation: See `update`.
            timeout: Seconds for each call.

        Returns:
            The object as it is now, and what became of it. With `dry_run`, what was sent counts as updated.

        Raises:
            ConflictError: if the last attempt meets one, too.
            AlreadyExistsError: if an object of that name comes and goes while this is tried.
            TypeError: if `mutate` returns what is no object.
            InvalidValueError: if the object has no name, or `mutate` changes name or namespace.
        """
        name_of(obj, "create or update")

        async def attempt() -> tuple[T, OperationResult]:
            found = await read_live(self, obj, timeout)
            if found is None:
                made = await self.create(
                    prepare_create(obj, mutate),
                    dry_run=dry_run,
                    field_manager=field_manager,
                    field_validation=field_validation,
                    timeout=timeout,
                )
                return made, "created"
            wanted = overlay(found, obj) if mutate is None else apply_mutation(found, mutate)
            if wanted is None:
                return found, "unchanged"
            try:
                answer = await self.update(
                    wanted,
                    dry_run=dry_run,
                    field_manager=field_manager,
                    field_validation=field_validation,
                    timeout=timeout,
                )
            except NotFoundError as error:
                raise deleted_conflict(found, error) from error
            return answer, update_result(found, answer, dry_run=dry_run)

        return await retry_on(attempt, ConflictError, AlreadyExistsError, attempts=attempts)
