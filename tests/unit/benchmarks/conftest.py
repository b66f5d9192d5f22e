import pytest


@pytest.fixture(autouse=True)
def usual_byte_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Byte code is kept where it always is: to compile everything anew takes longer than a quick run."""
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", "")
