"""The examples of documents are checked by mypy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tools.document_types import check, program

if TYPE_CHECKING:
    from pathlib import Path

DOCUMENT = """# A title

```python
number = 1
```

```sh
make lint
```

```python
def double(given):
    return 2 * given


number = "one"
```
"""


def test_examples_are_one_program_on_the_lines_of_the_document() -> None:
    lines = program(DOCUMENT).splitlines()
    assert {number: line for number, line in enumerate(lines, 1) if line} == {
        4: "number = 1",
        12: "def double(given):",
        13: "    return 2 * given",
        16: 'number = "one"',
    }
    assert program("```sh\nmake lint\n```\n") == ""


@pytest.mark.slow
def test_errors_name_the_document_and_the_line(tmp_path: Path) -> None:
    found = check({"docs/Some-Page.md": DOCUMENT, "README.md": "# Nothing"}, tmp_path).splitlines()
    assert [line.partition(" error")[0] for line in found if " error" in line] == [
        "docs/Some-Page.md:12:",
        "docs/Some-Page.md:16:",
    ]


@pytest.mark.slow
def test_well_typed_examples_have_no_errors(tmp_path: Path) -> None:
    assert check({"a.md": "```python\nnumber: int = 1\n```\n"}, tmp_path) == ""
