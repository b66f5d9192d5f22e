"""Every error that masthead raises.

::

    MastheadError
     ├─ ArgumentError            a value that the API's grammar does not allow (also a ValueError)
     │   ├─ DecodeError              bytes or data that do not decode to the expected type
     │   ├─ QuantityError            "12 Gigs"
     │   ├─ TimeError                "yesterday"
     │   ├─ SelectorError            "app in web"
     │   ├─ NameFormatError          "My_Pod"
     │   ├─ AlreadyControlledError   the object already has a controller
     │   └─ IndexConflictError       an indexer with that name exists already
     ├─ UnknownKindError             unknown kind, resource or class (also a LookupError)
     ├─ CustomResourceError          a class that no definition can be made from (also a TypeError)
     ├─ GenerateError                a schema from which no types can be generated
     ├─ ConfigError                  a missing or invalid kubeconfig or in-cluster configuration
     ├─ AuthError                    a missing, invalid or unrenewable credential
     ├─ TransportError               no usable response:
     │   ├─ ConnectError             ... the connection failed
     │   │   └─ CertificateError     ... TLS verification failed
     │   ├─ DeadlineError            ... not in time (also a TimeoutError)
     │   ├─ ProtocolError            ... truncated, or not HTTP
     │   └─ ResponseTooLargeError    ... larger than max_response_bytes
     ├─ ClosedError                  the client, informer or stream is closed
     │   └─ QueueClosedError         the work queue is closed and empty
     ├─ InformerStateError           not possible in the informer's current state (also a RuntimeError)
     ├─ UnknownIndexError            no indexer with that name (also a LookupError)
     ├─ SnapshotError                a cache snapshot cannot be written or read
     ├─ RecordingError               a recording of a cluster cannot be written or read
     ├─ MutationError                a shared object of a cache was modified
     ├─ InconsistentListError        two lists of the same resource version differ: a server bug
     ├─ ObjectFailedError            an awaited object has failed
     ├─ RemoteCommandError           the output of a command without a result, and the reason:
     │   ├─ ExecError                ... it failed, or could not be run
     │   ├─ ExecTimeoutError         ... it takes too long (also a DeadlineError)
     │   ├─ ExecProtocolError        ... its connection was lost (also a ProtocolError)
     │   ├─ ExecOutputTooLargeError  ... it prints too much (also a ResponseTooLargeError)
     │   └─ ExecClosedError          ... the client was closed (also a ClosedError)
     ├─ CopyError                    files could not be copied to or from a container
     ├─ PortForwardError             a port cannot be forwarded, or a forwarded connection has failed
     ├─ LogStreamError               one of several merged logs ended early
     ├─ ProxyResponseError           the backend of the API server's proxy returned an error status
     ├─ LeadershipLostError          the leadership of an election is over
     ├─ ManifestError                manifests could not be read, applied or deleted
     ├─ ReconcileError               raised by a reconcile to choose its retry:
     │   ├─ PermanentError           ... none before the next change
     │   ├─ TemporaryError           ... after a delay
     │   └─ StaleObjectError         ... after a backoff: the object has changed, and the cache is behind
     ├─ NotCachedError               a controller reads a kind that it has not declared (also a LookupError)
     ├─ ManagerStateError            not possible in the manager's current state (also a RuntimeError)
     └─ StatusError                  the server returned a failure: one subclass per reason
         ├─ ConflictError            the object has changed since it was read
         │   └─ ApplyConflictError   other field managers own what was applied
         └─ BadRequestError, UnauthorizedError, ForbiddenError, NotFoundError, ...

A message names the operation, the object, the problem and the next step.
"""

from __future__ import annotations

from masthead._errors.base import (
    AlreadyControlledError,
    ArgumentError,
    AuthError,
    CertificateError,
    ClosedError,
    ConfigError,
    ConnectError,
    CustomResourceError,
    DeadlineError,
    DecodeError,
    GenerateError,
    InconsistentListError,
    IndexConflictError,
    InformerStateError,
    LeadershipLostError,
    ManagerStateError,
    ManifestError,
    MastheadError,
    MutationError,
    NameFormatError,
    NotCachedError,
    ObjectFailedError,
    PermanentError,
    ProtocolError,
    QuantityError,
    QueueClosedError,
    ReconcileError,
    RecordingError,
    ResponseTooLargeError,
    SelectorError,
    SnapshotError,
    StaleObjectError,
    TemporaryError,
    TimeError,
    TransportError,
    UnknownIndexError,
    UnknownKindError,
)
from masthead._errors.copies import CopyError
from masthead._errors.field_manager_conflicts import FieldManagerConflict
from masthead._errors.logs import LogStreamError
from masthead._errors.port_forward import PortForwardError
from masthead._errors.proxy import ProxyResponseError
from masthead._errors.status import (
    BY_CODE,
    BY_REASON,
    AlreadyExistsError,
    ApplyConflictError,
    BadRequestError,
    ConflictError,
    ExpiredError,
    ForbiddenError,
    GatewayTimeoutError,
    GoneError,
    InternalServerError,
    MethodNotAllowedError,
    NotAcceptableError,
    NotFoundError,
    RequestEntityTooLargeError,
    ServerTimeoutError,
    ServiceUnavailableError,
    StatusError,
    StoreReadError,
    TooManyRequestsError,
    UnauthorizedError,
    UnprocessableError,
    UnsupportedMediaTypeError,
    error_from_status,
    status_error_class,
)
from masthead._errors.streams import (
    ExecClosedError,
    ExecError,
    ExecOutputTooLargeError,
    ExecProtocolError,
    ExecTimeoutError,
    RemoteCommandError,
)
from masthead._module import set_module as _set_module

__all__ = [
    "BY_CODE",
    "BY_REASON",
    "AlreadyControlledError",
    "AlreadyExistsError",
    "ApplyConflictError",
    "ArgumentError",
    "AuthError",
    "BadRequestError",
    "CertificateError",
    "ClosedError",
    "ConfigError",
    "ConflictError",
    "ConnectError",
    "CopyError",
    "CustomResourceError",
    "DeadlineError",
    "DecodeError",
    "ExecClosedError",
    "ExecError",
    "ExecOutputTooLargeError",
    "ExecProtocolError",
    "ExecTimeoutError",
    "ExpiredError",
    "FieldManagerConflict",
    "ForbiddenError",
    "GatewayTimeoutError",
    "GenerateError",
    "GoneError",
    "InconsistentListError",
    "IndexConflictError",
    "InformerStateError",
    "InternalServerError",
    "LeadershipLostError",
    "LogStreamError",
    "ManagerStateError",
    "ManifestError",
    "MastheadError",
    "MethodNotAllowedError",
    "MutationError",
    "NameFormatError",
    "NotAcceptableError",
    "NotCachedError",
    "NotFoundError",
    "ObjectFailedError",
    "PermanentError",
    "PortForwardError",
    "ProtocolError",
    "ProxyResponseError",
    "QuantityError",
    "QueueClosedError",
    "RecordingError",
    "ReconcileError",
    "RemoteCommandError",
    "RequestEntityTooLargeError",
    "ResponseTooLargeError",
    "SelectorError",
    "ServerTimeoutError",
    "ServiceUnavailableError",
    "SnapshotError",
    "StaleObjectError",
    "StatusError",
    "StoreReadError",
    "TemporaryError",
    "TimeError",
    "TooManyRequestsError",
    "TransportError",
    "UnauthorizedError",
    "UnknownIndexError",
    "UnknownKindError",
    "UnprocessableError",
    "UnsupportedMediaTypeError",
    "error_from_status",
    "status_error_class",
]

# Tracebacks, pickles and help() name the public module.
for _name in __all__:
    if callable(globals()[_name]):
        _set_module(__name__)(globals()[_name])
