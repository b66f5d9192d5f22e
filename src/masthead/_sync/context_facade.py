"""The parts of the blocking context that are not generated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from masthead._controller.context import ReconcileContext as AsyncContext
from masthead._controller.finalization import check_cleaned_up, check_cleanup
from masthead._meta.object import Object
from masthead._sync.client import Client
from masthead._sync.facade import Facade

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._client.client import Client as AsyncClient
    from masthead._sync.portal import Portal

__all__ = ["ContextFacade"]

T = TypeVar("T", bound=Object)


def client_of_loop(portal: Portal, client: AsyncClient) -> Client:
    """A blocking client over an async one whose event loop runs already."""
    made = Client.__new__(Client)  # its constructor would make another async client
    made._portal, made._async = portal, client  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    return made


class ContextFacade(Facade[AsyncContext[T]], Generic[T]):
    """The base of the blocking context."""

    @property
    def client(self) -> Client:
        """The client of the cluster. The controller knows the writes that are made with it, and waits for them."""
        return client_of_loop(self._portal, self._async.client)

    def finalize(self, cleanup: Callable[[], object], *, finalizer: str = "") -> bool:
        """Guard the reconciled object with a finalizer, and clean up when it is deleted.

        ::

            @app.controller(Website, finalizer="example.com/bucket")
            def reconcile(ctx: masthead.ReconcileContext[Website], site: Website) -> None:
                if ctx.finalize(lambda: delete_bucket(site)):
                    return  # the object is being deleted, and all is cleaned up

        Before the object is deleted, this adds the finalizer. When it is being deleted, and the server confirms that, `cleanup`
        is called, again and again until it returns without an error; then the finalizer is removed. If the cache shows the
        object alive with its finalizer, the server is not asked: see `confirm`.

        Args:
            cleanup: What to do before the object may go; with `masthead.aio`, it may be a coroutine function.
            finalizer: Its name, if it is not the one that the controller has declared.

        Returns:
            Whether the object is being deleted or gone, so that there is nothing more to reconcile.

        Raises:
            ArgumentError: If neither the call nor the controller names a finalizer, `cleanup` is not a function, or it is
                a coroutine function and nothing awaits it.
            NameFormatError: If the finalizer is not a qualified name.
            StatusError: If the server refuses a write.
            Exception: Whatever `cleanup` raises: the finalizer stays, and the reconcile is repeated.
        """
        check_cleanup(cleanup)
        is_due = self._portal.call(self._async.begin_finalize(finalizer))
        if is_due:
            check_cleaned_up(cleanup())
        return self._portal.call(self._async.end_finalize(finalizer, is_cleaned=is_due))
