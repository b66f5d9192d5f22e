"""The origin of writes: the request or the controller behind them.

Only servers that record changes set it.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from masthead_server.wire.options import manager_of_user_agent
from masthead_server.wire.request import APPLY_PATCH_TYPE

if TYPE_CHECKING:
    from masthead_server.wire.request import ApiRequest
    from masthead_server.wire.request_info import RequestInfo

__all__ = ["CURRENT_ORIGIN", "NO_ORIGIN", "RequestOrigin", "read_origin"]

_MAX_TEXT_LENGTH: Final = 1024
"""The maximum length of a recorded header."""


@dataclass(frozen=True, slots=True)
class RequestOrigin:
    """The sender of a write.

    Attributes:
        client: The name of the client, or of the built-in controller.
        reconcile: The reconcile that sent the request: its controller, key and id.
        user_agent: The user agent.
        field_manager: The field manager.
        verb: The verb; ``apply`` for a server-side apply.
        subresource: The subresource of the request.
    """

    client: str = ""
    reconcile: str = ""
    user_agent: str = ""
    field_manager: str = ""
    verb: str = ""
    subresource: str = ""


NO_ORIGIN: Final = RequestOrigin()
CURRENT_ORIGIN: Final[ContextVar[RequestOrigin]] = ContextVar("masthead_server_origin", default=NO_ORIGIN)
"""The origin of writes in this context."""


def read_origin(request: ApiRequest, info: RequestInfo) -> RequestOrigin:
    """Read the origin of a request from its headers and query."""
    headers = request.headers
    user_agent = headers.get("user-agent", "")[:_MAX_TEXT_LENGTH]
    is_apply = info.verb == "patch" and headers.get("content-type", "").startswith(APPLY_PATCH_TYPE)
    return RequestOrigin(
        info.client[:_MAX_TEXT_LENGTH],
        info.reconcile[:_MAX_TEXT_LENGTH],
        user_agent,
        request.first("fieldManager")[:_MAX_TEXT_LENGTH] or manager_of_user_agent(user_agent),
        "apply" if is_apply else info.verb,
        info.subresource,
    )
