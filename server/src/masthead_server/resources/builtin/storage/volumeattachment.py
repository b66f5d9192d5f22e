"""VolumeAttachments: defaults and validation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import forbidden, invalid, required, too_long
from masthead_server.resources import names
from masthead_server.resources.behavior import Behavior, StrategyHooks
from masthead_server.resources.defaulting.fill import round_up, shape
from masthead_server.resources.defaulting.pod_template import STORAGE
from masthead_server.resources.validation.checks import IMMUTABLE, MAX_INT32, between, follows, same
from masthead_server.wire.plain import part, text

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors, Fill
    from masthead_server.wire.plain import Plain

_INLINE_VOLUME: Final = shape(inside={"capacity": round_up, **STORAGE})
DEFAULTS: Final[Fill] = shape(
    inside={"spec": shape(inside={"source": shape(inside={"inlineVolumeSpec": _INLINE_VOLUME})})}
)

_ONE_SOURCE: Final = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"


def attachment_errors(attachment: Plain) -> Errors:
    """Return the errors of a VolumeAttachment."""
    spec, path = part(attachment, "spec"), "spec.source"
    driver, volume = text(spec, "attacher"), part(spec, "source").get("persistentVolumeName")
    errors = [] if driver else [required("spec.attacher")]
    if len(driver) > 63:
        errors.append(too_long("spec.attacher", 63))
    if driver:
        # Names of CSI drivers may have capitals, so that the lower case is checked.
        errors += [invalid("spec.attacher", driver, problem) for problem in names.SUBDOMAIN(driver.lower())]
    has_inline = part(spec, "source").get("inlineVolumeSpec") is not None
    if volume is None and not has_inline:
        errors.append(required(path, _ONE_SOURCE))
    elif volume is not None and has_inline:
        errors.append(forbidden(path, _ONE_SOURCE))
    elif volume == "":
        errors.append(required(f"{path}.persistentVolumeName", "must specify non empty persistentVolumeName"))
    errors += follows("spec.nodeName", text(spec, "nodeName"), names.SUBDOMAIN)
    for field in ("attachError", "detachError"):
        code = part(part(attachment, "status"), field).get("errorCode")
        errors += between(f"status.{field}.errorCode", code, 0, MAX_INT32)
    return errors + ([] if volume is None else follows(f"{path}.persistentVolumeName", volume, names.SUBDOMAIN))


def attachment_changes(new: Plain, old: Plain) -> Errors:
    """Return the errors of a change of a VolumeAttachment."""
    errors, spec = attachment_errors(new), part(new, "spec")
    if same(spec, old.get("spec")):
        return errors
    source = part(spec, "source")
    shown = {
        "Attacher": text(spec, "attacher"),
        "Source": {
            "PersistentVolumeName": source.get("persistentVolumeName"),
            "InlineVolumeSpec": source.get("inlineVolumeSpec"),
        },
        "NodeName": text(spec, "nodeName"),
    }
    return [*errors, invalid("spec", shown, IMMUTABLE)]


BEHAVIOR: Final = Behavior(
    defaults=DEFAULTS,
    hooks=StrategyHooks(
        validate_create=attachment_errors,
        validate_update=attachment_changes,
        validate_status=lambda new, _old: attachment_errors(new),
    ),
)
