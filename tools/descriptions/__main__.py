"""``python -m tools.descriptions``: print the types and fields of the API that lack a docstring."""

from __future__ import annotations

import sys

from tools.descriptions.coverage import undocumented


def main() -> int:
    """Run the command; returns its exit status."""
    missing = list(undocumented())
    sys.stdout.writelines(f"{name}\n" for name in missing)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
