"""Images: all are present, except those that tests declare absent, and those whose names are invalid."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from masthead._meta.quoting import quoted
from masthead.errors import ArgumentError
from masthead_server.kubelet.environment import ContainerStartError
from masthead_server.kubelet.image_names import problem_with_image_name
from masthead_server.wire.plain import metadata, text

if TYPE_CHECKING:
    from datetime import datetime

    from masthead_server.wire.plain import Plain

__all__ = ["BACK_OFF", "INVALID_NAME", "NEVER", "PULL", "ImagePullError", "ImagePulls"]

_FIRST_DELAY: Final = 10.0
_MAX_DELAY: Final = 300.0
PULL: Final = "ErrImagePull"
BACK_OFF: Final = "ImagePullBackOff"
NEVER: Final = "ErrImageNeverPull"
INVALID_NAME: Final = "InvalidImageName"


class ImagePullError(ContainerStartError):
    """The image of a container is absent, or its name is invalid.

    Attributes:
        reason: The reason of the container's waiting state.
        image: The image.
        detail: The error message of the registry.
    """

    def __init__(self, reason: str, image: str, message: str, detail: str = "") -> None:
        super().__init__(message)
        self.reason = reason
        self.image = image
        self.detail = detail


@dataclass(slots=True)
class _Attempts:
    """The failed pulls of an image for a pod."""

    delay: float
    until: datetime


class ImagePulls:
    """The absent images, and the backoff of their pulls."""

    def __init__(self) -> None:
        self._absent: dict[str, str] = {}
        self._missed: set[str] = set()
        """Images whose pull has failed, and that no container has pulled since."""
        self._attempts: dict[tuple[str, str, str], _Attempts] = {}

    def fail(self, pattern: str, detail: str) -> None:
        """Let pulls of images that match a pattern fail."""
        self._absent[pattern] = detail

    def allow(self, pattern: str) -> None:
        """Let pulls of these images succeed again.

        Raises:
            ArgumentError: If pulls of these images do not fail.
        """
        if pattern not in self._absent:
            known = f"; these do: {', '.join(self._absent)}" if self._absent else ""
            raise ArgumentError(f"no pulls fail by the name or pattern {pattern!r}{known}", value=pattern)
        del self._absent[pattern]
        self._attempts = {
            key: attempts for key, attempts in self._attempts.items() if self._detail_of(key[2]) is not None
        }

    def _detail_of(self, image: str) -> str | None:
        found = [detail for pattern, detail in self._absent.items() if fnmatchcase(image, pattern)]
        return found[-1] if found else None

    def check(self, pod: Plain, container: Plain, now: datetime) -> None:
        """Check that the image of a container is present or can be pulled.

        Raises:
            ImagePullError: If its name is invalid, if it is absent, or if the backoff of a failed pull has not ended.
        """
        image = text(container, "image")
        if problem := problem_with_image_name(image):
            name = quoted(image)
            message = f"Failed to apply default image tag {name}: couldn't parse image name {name}: {problem}"
            raise ImagePullError(INVALID_NAME, image, message)
        if not self._absent:
            return
        detail = self._detail_of(image)
        if detail is None:
            return
        if text(container, "imagePullPolicy") == "Never":
            message = f"Container image {quoted(image)} is not present with pull policy of Never"
            raise ImagePullError(NEVER, image, message)
        attempts = self._attempts.get(_key(pod, image))
        if attempts is not None and now < attempts.until:
            message = f"Back-off pulling image {quoted(image)}: {PULL}: {detail}"
            raise ImagePullError(BACK_OFF, image, message, detail)
        raise ImagePullError(PULL, image, detail, detail)

    def take_pull(self, container: Plain) -> bool:
        """Tell whether a container that starts pulls its image, rather than finds it on its node."""
        image = text(container, "image")
        is_missed = image in self._missed
        self._missed.discard(image)
        return is_missed or text(container, "imagePullPolicy") == "Always"

    def note_failure(self, pod: Plain, image: str, now: datetime) -> float:
        """Record a failed pull; return the seconds until the next one."""
        self._missed.add(image)
        before = self._attempts.get(_key(pod, image))
        delay = _FIRST_DELAY if before is None else min(2 * before.delay, _MAX_DELAY)
        self._attempts[_key(pod, image)] = _Attempts(delay, now + timedelta(seconds=delay))
        return delay

    def remaining(self, pod: Plain, image: str, now: datetime) -> float:
        """Return the seconds until the next pull of an image for a pod."""
        attempts = self._attempts.get(_key(pod, image))
        return 0.0 if attempts is None else max(0.0, (attempts.until - now).total_seconds())

    def forget(self, namespace: str, pod: str) -> None:
        """Forget a finished pod."""
        for key in [key for key in self._attempts if key[:2] == (namespace, pod)]:
            del self._attempts[key]


def _key(pod: Plain, image: str) -> tuple[str, str, str]:
    return text(metadata(pod), "namespace"), text(metadata(pod), "name"), image
