"""What the command line says about errors, and the code that it ends with."""

from __future__ import annotations

import pytest

from masthead import errors
from masthead._cli.failures import CommandError, ExitCode, explain


def manifest_error(cause: Exception) -> errors.ManifestError:
    made = errors.ManifestError(f"web.yaml: {cause}")
    made.__cause__ = cause
    return made


def refused_manifest(cause: Exception) -> errors.ManifestError:
    made = errors.ManifestError("these manifests cannot be compared:", problems=[f"Pod web (web.yaml): {cause}"])
    made.__cause__ = cause
    return made


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.ConfigError("no"), 3),
        (errors.AuthError("no"), 3),
        (errors.ConnectError("refused"), 3),
        (errors.CertificateError("expired"), 3),
        (errors.DeadlineError("late"), 3),
        (errors.UnknownKindError("what"), 4),
        (errors.NotFoundError("gone"), 4),
        (errors.UnauthorizedError("who"), 5),
        (errors.ForbiddenError("no"), 5),
        (errors.UnprocessableError("bad"), 1),
        (errors.ConflictError("again"), 1),
        (errors.SelectorError("bad"), 2),
        (errors.DecodeError("bad"), 1),
        (errors.ManifestError("bad", problems=["x"]), 1),
        (manifest_error(errors.ForbiddenError("no")), 5),
        (manifest_error(errors.ConnectError("no")), 3),
        (refused_manifest(errors.ForbiddenError("no")), 5),
        (refused_manifest(errors.UnknownKindError("no")), 4),
        (errors.MastheadError("other"), 1),
        (OSError("disk"), 1),
        (ZeroDivisionError("oops"), 1),
        (CommandError("late", code=ExitCode.TIMEOUT), 124),
    ],
)
def test_every_error_has_a_line_and_a_code(error: Exception, code: int) -> None:
    failure = explain(error)

    assert failure.code == code
    assert failure.line
    assert "\n" not in failure.line


def test_the_nearest_kinds_become_a_hint() -> None:
    failure = explain(errors.UnknownKindError('the server has no resource "podz"; the nearest: pods, podtemplates'))

    assert failure.line == 'the server has no resource "podz"'
    assert failure.hint == "did you mean pods, podtemplates?"


def test_the_advice_of_a_message_is_its_hint() -> None:
    failure = explain(errors.ConnectError("10.0.0.1:6443 refused the connection; check the port"))

    assert (failure.line, failure.hint) == ("10.0.0.1:6443 refused the connection", "check the port")


def test_places_without_a_kubeconfig_are_listed_in_one_line() -> None:
    said = "no cluster was found:\n  - KUBECONFIG is not set\n  - ~/.kube/config does not exist\nName a kubeconfig, or set KUBECONFIG. Or else."  # noqa: E501
    failure = explain(errors.ConfigError(said))

    assert failure.line == "no cluster was found: KUBECONFIG is not set; ~/.kube/config does not exist"
    assert "masthead serve --kubeconfig-out" in failure.hint


def test_hints_are_in_words_of_the_command_line() -> None:
    conflict = explain(errors.ApplyConflictError("conflict with deployer"))
    assert "--force-conflicts" in conflict.hint
    assert "--client-side" in conflict.hint
    assert "force=True" not in explain(manifest_error(errors.ApplyConflictError("conflict"))).line


def test_advice_for_programs_is_said_in_options() -> None:
    message = "a container name must be specified for pod web, choose one of: [a b]"
    failure = explain(errors.BadRequestError(message, code=400, reason="BadRequest"))

    assert failure.hint == "Name one of them: -c NAME"


def test_text_of_the_server_cannot_control_the_terminal() -> None:
    assert "\x1b" not in explain(errors.InternalServerError("\x1b]0;owned\x07oops")).line
