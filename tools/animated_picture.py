"""Animates pictures of a terminal: several SVGs of rich become one, whose frames follow each other without a script.

Most of a frame is that of the one before. So every piece of text is written once, with the frames in which it is
visible, and the animation has little more than the size of one frame.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Frame", "animate"]

_STYLE: Final = re.compile(r"\.([\w-]+-r\d+) \{ (.*?) \}\n?")
_PIECE: Final = re.compile(r'<text class="([\w-]+-r\d+)" (x="[^"]*" y="[^"]*" textLength="[^"]*")[^>]*>([^<]+)</text>')
_LINE_CLIP: Final = re.compile(r'<clipPath id="[\w-]+-line-\d+">.*?</clipPath>\s*', re.DOTALL)
_BLANK: Final = "\n"


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame of an animation.

    Attributes:
        svg: The picture; those of one animation have the same size and name.
        seconds: How long it is visible.
    """

    svg: str
    seconds: float


def animate(frames: Sequence[Frame], *, name: str, poster: int) -> str:
    """Return the animation of some frames, over and over.

    Args:
        frames: The frames.
        name: What classes in the picture begin with.
        poster: The index of the frame for viewers that show no animations.
    """
    visible: dict[tuple[str, str, str], set[int]] = {}
    for at, frame in enumerate(frames):
        for piece in _pieces(frame.svg):
            visible.setdefault(piece, set()).add(at)
    styles = {
        style: f"{name}-s{number}" for number, style in enumerate(dict.fromkeys(style for style, _, _ in visible))
    }
    groups: dict[frozenset[int], list[str]] = {}
    for (style, place, text), indices in visible.items():
        element = f'<text class="{styles[style]}" {place}>{text}</text>'
        groups.setdefault(frozenset(indices), []).append(element)
    rules = [f".{short} {{ {style} }}" for style, short in styles.items()]
    body: list[str] = []
    for number, (shown, elements) in enumerate(groups.items()):
        text = "".join(elements)
        if len(shown) == len(frames):
            body.append(text)
            continue
        rules += _rules(f"{name}-f{number}", shown, [frame.seconds for frame in frames], is_shown=poster in shown)
        body.append(f'<g class="{name}-f{number}">{text}</g>')
    return _insert(frames[poster].svg, rules, "\n".join(body), name=name)


def _pieces(svg: str) -> Iterator[tuple[str, str, str]]:
    """The style, place and text of each piece of a picture."""
    styles = dict(_STYLE.findall(svg))
    for found in _PIECE.finditer(svg):
        # The ends of lines are pieces, too.
        if found[3] != _BLANK:
            yield styles[found[1]], found[2], found[3]


def _rules(name: str, indices: frozenset[int], seconds: Sequence[float], *, is_shown: bool) -> list[str]:
    """The style of a group that is visible in some frames: outside of animations, as in the poster."""
    total, steps, begin, before = sum(seconds), list[str](), 0.0, None
    for at, duration in enumerate(seconds):
        if (state := _visibility(is_shown=at in indices)) != before:
            steps.append(f"{100 * begin / total:.4g}%{{{state}}}")
        begin, before = begin + duration, state
    return [
        f".{name} {{ {_visibility(is_shown=is_shown)}; animation: {name} {total:g}s step-end infinite }}",
        f"@keyframes {name} {{ {''.join(steps)} }}",
    ]


def _visibility(*, is_shown: bool) -> str:
    return "visibility:visible" if is_shown else "visibility:hidden"


def _insert(svg: str, rules: Sequence[str], body: str, *, name: str) -> str:
    """Replace the styles and the text of a picture."""
    still = f"@media (prefers-reduced-motion: reduce) {{ .{name}-matrix g {{ animation: none }} }}"
    head, _, rest = _LINE_CLIP.sub("", _STYLE.sub("", svg)).partition(f'<g class="{name}-matrix">')
    tail = rest[rest.rindex("</text>") + len("</text>") :]
    styled = head.replace("</style>", "\n".join([*rules, still, "</style>"]), 1)
    return f'{styled}<g class="{name}-matrix">\n{body}{tail}'
