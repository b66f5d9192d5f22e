"""The next step for a failed request, where the reason of its Status is not specific enough.

One reason covers many mistakes: a 400 may be an unsupported field selector, a log request without a container, or plain
HTTP sent to a TLS port. The message distinguishes them. Each entry of `_CASES` lists the words that identify a case and
the advice for it. If no entry matches, the error's class supplies the advice for its reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._value import Value

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["FailedRequest", "advice_for", "is_unknown_path", "names_another"]

_READ: Final = 4096
"""The number of characters searched at each end of a message: some repeat a whole object in the middle."""


class FailedRequest(Value, kw_only=True):
    """A request that the server answered with a failure.

    Attributes:
        reason: The reason of the Status, such as ``NotFound``.
        verb: The verb: ``get``, ``create`` ...
        resource: The resource, such as ``pods/log``; the path for a raw request.
        namespace: The namespace; empty for none.
        message: The message of the Status.
        has_causes: Whether the Status lists the fields at fault.
    """

    reason: str
    verb: str
    resource: str
    namespace: str
    message: str
    has_causes: bool

    @property
    def part(self) -> str:
        """The subresource, such as ``scale``; empty for none and for raw requests."""
        # The path of a raw request contains slashes, too.
        return "" if self.is_raw else self.resource.partition("/")[2]

    @property
    def is_raw(self) -> bool:
        """Whether the request names a path instead of a resource."""
        return self.resource.startswith("/")


class _Case(Value):
    """Matches if the message contains all the words and the verb is one of `verbs`; no verbs match any."""

    words: tuple[str, ...]
    advice: str
    verbs: frozenset[str] = frozenset()

    def fits(self, request: FailedRequest, message: str) -> bool:
        return (not self.verbs or request.verb in self.verbs) and all(word in message for word in self.words)


_WRONG_TYPE: Final = "Fix the field that the message names: its value has the wrong type."
_VERSION: Final = (
    "Give a version that this server has returned as metadata.resource_version, or none; "
    "sending it again will not help."
)
_READ_FIRST: Final = "Read the object again, and delete it if that is still what you want."
_NOT_THE_URL: Final = "Make the object and the path name the same one."

_CASES: Final[Mapping[str, tuple[_Case, ...]]] = {
    "BadRequest": (
        *(
            _Case(
                (words,),
                "The server speaks TLS: begin its address with https://, and name the authority to trust (ca_file).",
            )
            for words in ("HTTP request to an HTTPS server", "HTTP request was sent to HTTPS port")
        ),
        *(
            _Case(
                (words,),
                "Select by another field (metadata.name and metadata.namespace are always known), or by labels.",
            )
            for words in ("field label not supported", "is not a known field selector")
        ),
        _Case(("a container name must be specified",), "Name one of them: container=..."),
        _Case(
            ("is not valid for pod",),
            "Check the name against the pod's containers, init containers and ephemeral containers.",
        ),
        _Case(
            ("does not have a host assigned",),
            "The pod has no node yet: wait until it runs, as with conditions.pod_running(); its events say what it "
            "waits for.",
        ),
        _Case(
            ("Upgrade request required",),
            "Something between here and the API server removes the request for a WebSocket: look for a proxy or load "
            "balancer.",
        ),
        _Case(
            ("is waiting to start",),
            "There is no log yet: wait until the container runs, as with conditions.pod_running().",
        ),
        _Case(
            ("previous terminated container", "not found"),
            "The container has not been restarted, so it has no previous log: ask for the current one.",
        ),
        _Case(
            ("strict decoding error",),
            'Fix the fields that the message names; field_validation="Warn" or "Ignore" has the server leave them out.',
        ),
        _Case(("cannot unmarshal",), _WRONG_TYPE),
        _Case(("unknown conversion",), "Send an object of the kind that is served there, or send it elsewhere."),
        _Case(("object provided is unrecognized",), "Send the JSON of an object of that kind."),
        _Case(("does not match the namespace sent on the request",), _NOT_THE_URL),
        _Case(("does not match the name on the URL",), _NOT_THE_URL),
        _Case(("resourceVersion: Invalid value",), _VERSION),
        # Last, because "continue" is a word of other messages, too.
        _Case(("continue",), "Give the token of the last page as it came, or none to begin again."),
    ),
    "Forbidden": (
        _Case(
            ("because it is being terminated",),
            "The namespace is being deleted: use another, or wait until it is gone and create it again.",
        ),
        _Case(
            ("this namespace may not be deleted",),
            "Kubernetes needs this namespace; delete what is in it instead.",
        ),
        _Case(
            ("exceeded quota",),
            "The namespace's ResourceQuota is used up: ask for less, delete something, or raise it.",
        ),
        _Case(
            ("violates PodSecurity",),
            "Change the pod as the message says, or use a namespace with another Pod Security level.",
        ),
        _Case(
            ("error looking up service account",),
            "Create the service account first, or name another in spec.serviceAccountName.",
        ),
        _Case(
            ('User "system:anonymous" cannot ',),
            "No credentials reached the server: give a token or a client certificate, or check the user of the "
            "kubeconfig.",
        ),
        _Case(
            ('User "', "cannot "),
            "Grant the user a role with this verb on this resource, or be another user.",
        ),
    ),
    "AlreadyExists": (
        _Case(
            ("object is being deleted",),
            "Wait until it is gone, as with wait_for(name, conditions.deleted()), and create it then.",
        ),
    ),
    "Conflict": (
        # Other verbs can be retried with a new version; a delete needs a decision.
        _Case(("precondition",), _READ_FIRST, frozenset({"delete"})),
        _Case(
            ("is ensuring all content is removed",),
            "It is being deleted already: wait until it is gone, as with wait_for(name, conditions.deleted()).",
        ),
        _Case(
            ("",),
            "Something else changed what this depends on at the same moment: retry.",
            frozenset({"create"}),
        ),
        _Case(
            ("the object has been modified",),
            "Apply it again; if it has a metadata.resource_version, leave that out, or give the newest.",
            frozenset({"apply"}),
        ),
    ),
    "Invalid": (
        _Case(
            ("rejected our request due to an error in our request",),
            "The patch does not fit the object as it is now: check its operations, its paths and what it tests for.",
            frozenset({"patch"}),
        ),
        _Case(("cannot unmarshal",), _WRONG_TYPE),
        *(
            _Case(
                (words,),
                "What cannot be changed stays as it is for an object's life: leave it, or delete and create the "
                "object.",
            )
            for words in ("field is immutable", "may not change fields other than", "for fields other than")
        ),
        _Case(("denied request",), "Change the object as the admission policy asks."),
    ),
    "UnsupportedMediaType": (
        _Case(
            ("",),
            "The server has no server-side apply: update, or patch by merge.",
            frozenset({"apply"}),
        ),
        # Without words: the reason alone identifies the mistake for these verbs.
        _Case(("",), "Send JSON: content_type application/json.", frozenset({"create", "update"})),
    ),
    "TooManyRequests": (
        _Case(
            ("disruption budget",),
            "A PodDisruptionBudget protects the pod: try again once more of its pods are ready.",
        ),
    ),
    "InternalError": (
        _Case(
            ("field not declared in schema",),
            "The kind has no field of that name: fix the spelling, or leave it out. Sending it again will not help.",
        ),
        _Case(
            ("failed to create typed patch object", "duplicate entries for key"),
            "Two items of that list have the same key: leave out one of them. Sending it again will not help.",
        ),
        _Case(
            ("failed to create typed patch object",),
            "Fix the field that the message names; sending it again will not help.",
        ),
        _Case(
            ("resourceVersion should not be set on objects to be created",),
            "Leave metadata.resource_version out to create an object; to change the one that is there, update it.",
        ),
        _Case(("resourceVersion: Invalid value",), _VERSION),
        _Case(
            ("failed calling webhook",),
            "Check the service behind the webhook, or the webhook's configuration; then try again.",
        ),
    ),
    "Timeout": (
        _Case(
            ("Too large resource version",),
            "The server has not reached that version: check that it comes from this cluster, or ask without one.",
        ),
    ),
}


def advice_for(request: FailedRequest) -> str:
    """Return the advice for a failed request; empty if only its reason is known."""
    message = request.message
    # Only both ends of a long message are searched, so that the time is bounded.
    if len(message) > 2 * _READ:
        message = f"{message[:_READ]}\n{message[-_READ:]}"
    for case in _CASES.get(request.reason, ()):
        if case.fits(request, message):
            return case.advice
    # After the table: these depend on more than words of the message.
    if request.reason == "NotFound":
        return _not_found(request, message)
    # The class advises to read the causes, and here are none.
    if request.reason == "Invalid" and not request.has_causes:
        return "Fix what the message names."
    if "admission webhook" in message and "denied the request" in message:
        return "Change the object as the webhook asks, or ask whoever runs it."
    if request.reason == "InternalError" and request.part == "log":
        return "The API server could not get the log from the pod's node: check the node, then try again."
    return ""


def _not_found(request: FailedRequest, message: str) -> str:
    """Tell a missing namespace, subresource, resource and object apart."""
    if request.namespace and message.startswith(f'namespaces "{request.namespace}" not found'):
        return "The namespace is missing: create it, or check its spelling."
    if is_unknown_path(message):
        if request.part:
            whole = request.resource.partition("/")[0]
            return f"{whole} have no {request.part}."
        where = "at that path" if request.is_raw else "by that group, version and name"
        return f"The server has no resource {where}; if it is custom, install its CRD."
    check = "Check name and namespace." if request.namespace else "Check the name."
    # A server answers the same for a missing custom object and for a subresource that its definition lacks.
    if request.part and _is_custom(request.resource):
        return f"{check} If the object exists, its definition has no subresource {request.part}."
    return "" if request.namespace else check


def _is_custom(resource: str) -> bool:
    """Whether a resource may be custom: the groups of definitions contain a dot."""
    return "." in resource.partition("/")[0].partition(".")[2]


def is_unknown_path(message: str) -> bool:
    """Whether a 404 means that the server has no such resource, and not that an object is missing."""
    return "could not find the requested resource" in message or "404 page not found" in message


def names_another(kind: str, resource: str) -> bool:
    """Whether a Status is about another resource than the requested one, such as a missing namespace.

    The details of a NotFound hold a plural resource name, which can be compared. Those of other failures hold a kind.
    """
    # Kinds begin with a capital letter, resources never.
    if not resource or not kind.islower():
        return False
    # A raw path may end in the resource, or in the name of an object after it.
    is_path = resource.startswith("/")
    ours = resource.rsplit("/", 2)[1:] if is_path else [resource.partition("/")[0].partition(".")[0]]
    return kind not in ours
