"""Check how prose and names read: ``python -m tools.prose [--list PATH ...]``, a part of ``make lint``.

The check counts phrases that make docstrings, comments and documents read like a translation, and names that hide their
meaning. A phrase is a symptom, not a crime: the limits leave room for sentences that need one. ``--list`` prints every
occurrence in some files or folders, with its line.

| figure | limit |
|---|---|
| phrases per 10,000 words of all packages | 20 |
| phrases per 10,000 words of one package (300 words or more) | 40 |
| phrases per 10,000 words of the documents | 25 |
| loops over ``each`` | 2 % |
| functions named by a participle, such as ``_joined`` | 50 |
| constants named by a superlative, such as ``_LONGEST`` | 0 |
| lines with a comment | at least 2.5 % |

Generated files, which ``.gitattributes`` marks, and the templates of ``masthead new`` are not measured.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import io
import re
import subprocess
import sys
import tokenize
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

ROOT: Final = Path(__file__).parents[1]
SOURCES: Final = ("src/masthead", "server/src/masthead_server")
DOCUMENTS: Final = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "docs")

MAX_PHRASES: Final = 20.0
MAX_PHRASES_OF_PACKAGE: Final = 40.0
MAX_PHRASES_OF_DOCUMENTS: Final = 25.0
MIN_PACKAGE_WORDS: Final = 300
MAX_EACH_SHARE: Final = 0.02
MAX_PARTICIPLES: Final = 50
MIN_COMMENT_SHARE: Final = 0.025

_PHRASES: Final = re.compile(
    r"\b(?:anew|meanwhile|by itself|of its own|as it (?:is|was)|stands|gone|goes on|(?-i:is none)|at once|whoever"
    r"|is there|says|what (?:is|was|has)|those that|one that|beside|has it|in place of|shown|looks? at|kept|told"
    r"|hears?|heard|nobody|somebody)\b",
    re.IGNORECASE,
)
_PARTICIPLE: Final = re.compile(r"_[a-z]+ed|_?(?:made|found|given|kept|told|known|shown|drawn|written|taken|left|sent)")
_SUPERLATIVE: Final = re.compile(r"_?(?:MOST|LONGEST|DEEPEST|LARGEST|FEWEST|SHORTEST)(?:_|$)")
_NO_PROSE: Final = re.compile(r"#\s*(?:noqa|type:|pyright:|ruff:|fmt:|!)")
_CODE_FENCE: Final = re.compile(r"^(```|~~~).*?^\1", re.DOTALL | re.MULTILINE)
_INLINE_CODE: Final = re.compile(r"`[^`\n]*`")


@dataclasses.dataclass(frozen=True)
class Phrase:
    """A counted phrase, and its line."""

    line: int
    text: str


@dataclasses.dataclass
class Figures:
    """The figures of some files.

    Attributes:
        words: Words of prose.
        phrases: Counted phrases.
        lines: Lines of code, prose included.
        comments: Comments that explain something; directives for tools do not count.
        loops: Loops and comprehensions.
        each_loops: Loops over ``each``.
        participles: Functions named by a participle.
        superlatives: Constants named by a superlative.
    """

    words: int = 0
    phrases: int = 0
    lines: int = 0
    comments: int = 0
    loops: int = 0
    each_loops: int = 0
    participles: int = 0
    superlatives: int = 0

    def __iadd__(self, other: Figures) -> Self:
        for field in dataclasses.fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))
        return self

    @property
    def density(self) -> float:
        """Phrases per 10,000 words."""
        return 10_000 * self.phrases / max(1, self.words)


def measure_source(text: str) -> Figures:
    """Measure a Python module."""
    tree = ast.parse(text)
    prose = list(prose_of_source(text, tree))
    figures = Figures(
        words=sum(len(part.split()) for _, part in prose),
        phrases=sum(len(_PHRASES.findall(part)) for _, part in prose),
        lines=text.count("\n"),
        comments=sum(1 for _ in _comments(text)),
    )
    for node in ast.walk(tree):
        figures += _measure_node(node)
    return figures


def _measure_node(node: ast.AST) -> Figures:
    match node:
        case ast.For(target=target) | ast.AsyncFor(target=target) | ast.comprehension(target=target):
            return Figures(loops=1, each_loops=isinstance(target, ast.Name) and target.id == "each")
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            # A decorated function is a property or a fixture, which may be a noun.
            return Figures(participles=not node.decorator_list and bool(_PARTICIPLE.fullmatch(name)))
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return Figures(superlatives=bool(_SUPERLATIVE.match(name)))
        case _:
            return Figures()


def measure_document(text: str) -> Figures:
    """Measure a Markdown document; code is not prose."""
    prose = _prose_of_document(text)
    return Figures(words=len(prose.split()), phrases=len(_PHRASES.findall(prose)), lines=text.count("\n"))


def prose_of_source(text: str, tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Return the docstrings (also those of attributes) and comments of a module, with their lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value
    yield from _comments(text)


def _comments(text: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and not _NO_PROSE.match(token.string):
            yield token.start[0], token.string.lstrip("# ")


def _prose_of_document(text: str) -> str:
    # Newlines stay, so that a phrase keeps its line number.
    without_fences = _CODE_FENCE.sub(lambda match: "\n" * match[0].count("\n"), text)
    return _INLINE_CODE.sub("", without_fences)


def phrases_of(path: Path) -> list[Phrase]:
    """Return the counted phrases of a file."""
    text = path.read_text("utf-8")
    if path.suffix == ".md":
        parts: Iterable[tuple[int, str]] = [(1, _prose_of_document(text))]
    else:
        parts = prose_of_source(text, ast.parse(text))
    return sorted(
        (
            Phrase(line + part.count("\n", 0, match.start()), match[0])
            for line, part in parts
            for match in _PHRASES.finditer(part)
        ),
        key=lambda phrase: phrase.line,
    )


def source_files(folder: str) -> list[Path]:
    """Return the hand-written modules below a folder."""
    paths = sorted((ROOT / folder).rglob("*.py"))
    generated = _generated(paths)
    return [path for path in paths if path not in generated and "templates" not in path.parts]


def _generated(paths: Sequence[Path]) -> set[Path]:
    names = "\n".join(str(path.relative_to(ROOT)) for path in paths)
    command = ["git", "check-attr", "--stdin", "linguist-generated"]
    output = subprocess.run(command, cwd=ROOT, input=names, text=True, capture_output=True, check=True).stdout
    marked = [line.split(": ")[0] for line in output.splitlines() if line.endswith((": set", ": true"))]
    return {ROOT / name for name in marked}


def document_files() -> list[Path]:
    """Return the documents; decision records are history and stay as they were written."""
    found: list[Path] = []
    for name in DOCUMENTS:
        path = ROOT / name
        found += sorted(path.rglob("*.md")) if path.is_dir() else [path]
    return [path for path in found if "decisions" not in path.parts and "linguist" not in path.name]


def measure_packages() -> dict[str, Figures]:
    """Measure the packages of library and server, by name."""
    figures: dict[str, Figures] = defaultdict(Figures)
    for folder in SOURCES:
        top = ROOT / folder
        for path in source_files(folder):
            parts = path.relative_to(top).parts
            name = f"{top.name}.{parts[0]}" if len(parts) > 1 else top.name
            figures[name] += measure_source(path.read_text("utf-8"))
    return dict(figures)


def violations(packages: dict[str, Figures], documents: Figures) -> list[str]:
    """Compare the figures with the limits; return a sentence for each that is exceeded."""
    total = Figures()
    for figures in packages.values():
        total += figures
    found: list[str] = []
    if total.density > MAX_PHRASES:
        found.append(f"{total.density:.0f} phrases per 10,000 words of all packages exceed {MAX_PHRASES:.0f}")
    for name, figures in sorted(packages.items()):
        if figures.words >= MIN_PACKAGE_WORDS and figures.density > MAX_PHRASES_OF_PACKAGE:
            found.append(
                f"{figures.density:.0f} phrases per 10,000 words of {name} exceed {MAX_PHRASES_OF_PACKAGE:.0f}"
            )
    if documents.density > MAX_PHRASES_OF_DOCUMENTS:
        found.append(
            f"{documents.density:.0f} phrases per 10,000 words of the documents exceed {MAX_PHRASES_OF_DOCUMENTS:.0f}"
        )
    if total.each_loops > MAX_EACH_SHARE * total.loops:
        found.append(f"{total.each_loops} of {total.loops} loops run over `each`: name the element")
    if total.participles > MAX_PARTICIPLES:
        found.append(f"{total.participles} functions are named by a participle; name them by a verb")
    if total.superlatives:
        found.append(f"{total.superlatives} constants are named by a superlative; name them MAX_...")
    if total.comments < MIN_COMMENT_SHARE * total.lines:
        found.append(f"{total.comments} comments in {total.lines} lines: say why where a body decides something")
    return found


def report(packages: dict[str, Figures], documents: Figures) -> Iterator[str]:
    """Format the figures as lines, the worst package first."""
    for name, figures in sorted(packages.items(), key=lambda item: -item[1].density):
        if figures.words >= MIN_PACKAGE_WORDS:
            share = 100 * figures.comments / max(1, figures.lines)
            yield f"{figures.density:5.0f}  {name} ({figures.words} words, {share:.1f} % comments)"
    yield f"{documents.density:5.0f}  documents ({documents.words} words)"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures, or the phrases of some files; return 1 if a limit is exceeded."""
    parser = argparse.ArgumentParser(prog="python -m tools.prose", description="Check how prose and names read.")
    parser.add_argument("--list", nargs="+", type=Path, metavar="PATH", help="print the phrases of files or folders")
    options = parser.parse_args(arguments)
    if options.list:
        for path in options.list:
            for file in [path] if path.is_file() else sorted([*path.rglob("*.py"), *path.rglob("*.md")]):
                for phrase in phrases_of(file):
                    print(f"{file}:{phrase.line}: {phrase.text}")
        return 0
    packages, documents = measure_packages(), Figures()
    for path in document_files():
        documents += measure_document(path.read_text("utf-8"))
    print(*report(packages, documents), sep="\n")
    problems = violations(packages, documents)
    for problem in problems:
        print(f"prose: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
