"""The names of a custom resource, and checks of names and other options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta import names
from masthead.errors import CustomResourceError

if TYPE_CHECKING:
    from masthead._customresource.options import Options

__all__ = ["check_options", "plural_of"]

_VOWELS: Final = frozenset("aeiou")
_HISSING: Final = ("s", "x", "z", "ch", "sh")
_PROTECTED: Final = ("k8s.io", "kubernetes.io")
_MAX_WARNING_BYTES: Final = 256


def plural_of(singular: str) -> str:
    """Return the plural of a resource by the rules of English: ``websites``, ``policies``, ``indexes``."""
    if singular.endswith("y") and singular[-2:-1] not in _VOWELS:
        return f"{singular[:-1]}ies"
    return f"{singular}es" if singular.endswith(_HISSING) else f"{singular}s"


def check_options(options: Options, path: str) -> None:
    """Check options as the server would, independent of the schema.

    Raises:
        CustomResourceError: If a name, the deprecation warning or the webhook is invalid.
    """
    _check_names(options, path)
    warning = options.deprecation_warning
    if len(warning.encode()) > _MAX_WARNING_BYTES or not warning.isprintable():
        raise CustomResourceError(
            f"the deprecation warning must be one printable line of at most {_MAX_WARNING_BYTES} bytes",
            path=path,
        )
    hook = options.conversion
    if hook is not None and not hook.url and not all(hook.service.partition("/")):
        raise CustomResourceError("conversion: give a service as namespace/name, or a url", path=path)
    if hook is not None and hook.url and not hook.url.startswith("https://"):
        raise CustomResourceError("conversion: the url must begin with https://", path=path)


def _check_names(options: Options, path: str) -> None:
    _check_group(options.group, path)
    labels = {
        "version": options.version,
        "kind": options.kind.lower(),
        "plural": options.plural,
        "singular": options.singular,
        **{f"short name {index}": name for index, name in enumerate(options.short_names)},
        **{f"category {index}": name for index, name in enumerate(options.categories)},
    }
    for what, value in labels.items():
        if problem := names.problem_with_dns1035_label(value):
            raise CustomResourceError(f"the {what.rstrip(' 0123456789')} {value!r} {problem}", path=path)
    if not options.kind[:1].isupper():
        raise CustomResourceError(f"the kind {options.kind!r} must begin with a capital letter", path=path)


def _check_group(group: str, path: str) -> None:
    problem = names.problem_with_dns1123_subdomain(group)
    if not problem and "." not in group:
        problem = "must be a domain with a dot"
    if not problem and (group in _PROTECTED or group.endswith(tuple(f".{suffix}" for suffix in _PROTECTED))):
        problem = "is reserved for Kubernetes itself"
    if problem:
        raise CustomResourceError(f"the group {group!r} {problem}; use one such as 'example.com'", path=path)
