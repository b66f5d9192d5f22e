"""Names of images, as a kubelet parses them: ``[HOST[:PORT]/]PATH[:TAG][@DIGEST]``. Pure decisions."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

__all__ = ["problem_with_image_name"]

_DEFAULT_DOMAIN: Final = "docker.io"
_LEGACY_DOMAIN: Final = "index.docker.io"
_OFFICIAL: Final = "library/"
_MAX_PATH: Final = 255
_MAX_CACHED: Final = 1024
_LABEL: Final = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_HOST: Final = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_COMPONENT: Final = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_DIGEST: Final = r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}"
_REFERENCE: Final = re.compile(
    rf"(?:{_HOST}/)?(?P<path>{_COMPONENT}(?:/{_COMPONENT})*)(?::\w[\w.-]{{0,127}})?(?:@(?P<digest>{_DIGEST}))?",
    re.ASCII,
)
_IDENTIFIER: Final = re.compile("[a-f0-9]{64}")
_DIGEST_LENGTHS: Final = {"sha256": 64, "sha384": 96, "sha512": 128}


@lru_cache(_MAX_CACHED)
def problem_with_image_name(image: str) -> str:
    """Return the problem with the name of an image, in the words of a kubelet; empty for a valid name."""
    if _IDENTIFIER.fullmatch(image):
        return f"invalid repository name ({image}), cannot specify 64-byte hexadecimal strings"
    domain, rest = _split_domain(image)
    repository = rest.partition(":")[0]
    if repository.lower() != repository:
        return f"invalid reference format: repository name ({repository}) must be lowercase"
    reference = f"{domain}/{rest}"
    found = _REFERENCE.fullmatch(reference)
    if found is None:
        has_only_wrong_case = _REFERENCE.fullmatch(reference.lower()) is not None
        return "repository name must be lowercase" if has_only_wrong_case else "invalid reference format"
    if len(found["path"]) > _MAX_PATH:
        return f"repository name must not be more than {_MAX_PATH} characters"
    return _problem_with_digest(found["digest"] or "")


def _split_domain(image: str) -> tuple[str, str]:
    """Return the registry, and the rest of the name in it."""
    first, slash, rest = image.partition("/")
    if not slash:
        return _DEFAULT_DOMAIN, f"{_OFFICIAL}{image}"
    if first == _LEGACY_DOMAIN:
        domain, name = _DEFAULT_DOMAIN, rest
    elif first == "localhost" or "." in first or ":" in first or first.lower() != first:
        domain, name = first, rest
    else:
        domain, name = _DEFAULT_DOMAIN, image
    is_official = domain == _DEFAULT_DOMAIN and "/" not in name
    return domain, f"{_OFFICIAL}{name}" if is_official else name


def _problem_with_digest(digest: str) -> str:
    if not digest:
        return ""
    algorithm, _, encoded = digest.partition(":")
    if algorithm not in _DIGEST_LENGTHS:
        return "unsupported digest algorithm"
    if len(encoded) != _DIGEST_LENGTHS[algorithm]:
        return "invalid checksum digest length"
    return "" if encoded.lower() == encoded else "invalid checksum digest format"
