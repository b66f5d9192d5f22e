"""Sizes for people."""

from __future__ import annotations

__all__ = ["human_size"]


def human_size(count: float) -> str:
    """Format a number of bytes in three figures at most: ``512 B``, ``1.5 KiB``, ``20 MiB``."""
    size = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" or size >= 10 else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"
