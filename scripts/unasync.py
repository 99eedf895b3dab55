"""Generate the synchronous side from the asynchronous one.

``python -m scripts.unasync`` rewrites every target, ``--check`` writes nothing and fails when one is stale.

The rewriting works on tokens, so a word inside a string is never taken for code; docstrings and comments are
prose about the code and follow the same table. A source file whose first line is ``HAND_WRITTEN`` has a
counterpart written by hand (the primitives in which the two worlds really differ) and is left alone.
"""

from __future__ import annotations

import argparse
import difflib
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

PAIRS: tuple[tuple[str, str], ...] = (("spillcache/_async", "spillcache/_sync"),)
"""(source directory, generated directory), relative to the repository."""

HAND_WRITTEN = "# unasync: written by hand on both sides"

NAMES: dict[str, str] = {
    # the protocols of the language
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "__aiter__": "__iter__",
    "__anext__": "__next__",
    "StopAsyncIteration": "StopIteration",
    "aiter": "iter",
    "anext": "next",
    # typing and contextlib
    "AsyncGenerator": "Generator",
    "AsyncIterable": "Iterable",
    "AsyncIterator": "Iterator",
    "AsyncContextManager": "ContextManager",
    "AbstractAsyncContextManager": "AbstractContextManager",
    "AsyncExitStack": "ExitStack",
    "asynccontextmanager": "contextmanager",
    "aclosing": "closing",
    # resources
    "aclose": "close",
    # our own
    "_async": "_sync",
    "AsyncSpillCache": "SpillCache",
}
"""Whole identifiers and what each becomes. The only place to extend."""

DROPPED = frozenset({"async", "await"})
"""Keywords that vanish together with the blanks after them."""

PHRASES: tuple[tuple[str, str], ...] = (
    (r"\bredis\.asyncio\b", "redis"),
    (r"\b(?:async|await)\s+", ""),
    (r"\b[Aa]synchronous(ly)?\b", r"synchronous\1"),
)
"""Further rewriting in docstrings and comments, on top of NAMES."""


class UnasyncError(Exception):
    """A source that cannot be rewritten faithfully."""


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace ``text[start:end]`` by ``new``; offsets in characters."""

    start: int
    end: int
    new: str


def rewrite(source: str) -> str:
    """The synchronous form of a module's text, without header and not yet formatted.

    Raises UnasyncError for ``await`` inside an f-string: only newer Pythons see tokens there, so the result
    would depend on who ran the script.
    """
    text = source
    for edit in sorted(_edits(source), key=lambda e: e.start, reverse=True):
        text = text[: edit.start] + edit.new + text[edit.end :]
    return text


def _edits(source: str) -> Iterator[Edit]:
    starts = _line_starts(source)
    tokens = [t for t in tokenize.generate_tokens(io.StringIO(source).readline) if t.type != tokenize.NL]
    for i, token in enumerate(tokens):
        start, end = (starts[row - 1] + column for row, column in (token.start, token.end))
        if token.type == tokenize.NAME and token.string in DROPPED:
            blanks = len(source[end:]) - len(source[end:].lstrip(" "))
            yield Edit(start, end + blanks, "")
        elif token.type == tokenize.NAME and token.string in NAMES:
            yield Edit(start, end, NAMES[token.string])
        elif token.string == "asyncio" and [t.string for t in tokens[max(i - 2, 0) : i]] == ["redis", "."]:
            yield Edit(start - 1, end, "")
        elif token.type == tokenize.COMMENT or _is_docstring(tokens, i):
            yield Edit(start, end, _rewrite_prose(token.string))
        elif token.type == tokenize.STRING:
            _refuse_hidden_await(token)


def _line_starts(source: str) -> list[int]:
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return starts


def _is_docstring(tokens: Sequence[tokenize.TokenInfo], i: int) -> bool:
    if tokens[i].type != tokenize.STRING or not tokens[i].string.lower().startswith(('"', "'", "r")):
        return False
    statement_edges = {tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT}
    return (i == 0 or tokens[i - 1].type in statement_edges) and tokens[i + 1].type in statement_edges


def _rewrite_prose(prose: str) -> str:
    for pattern, new in PHRASES:
        prose = re.sub(pattern, new, prose)
    return re.sub(r"\w+", lambda word: NAMES.get(word[0], word[0]), prose)


def _refuse_hidden_await(token: tokenize.TokenInfo) -> None:
    prefix = re.match(r"[A-Za-z]*", token.string)
    if prefix and "f" in prefix[0].lower() and re.search(r"\{[^}]*\bawait\b", token.string):
        raise UnasyncError(f"line {token.start[0]}: await inside an f-string; bind it to a name first")


def _formatted(text: str, path: Path) -> str:
    """Sorted imports and the repository's format: what `make check` expects of any file."""
    for command in (
        ["check", "--quiet", "--select", "I,PLC0414", "--fix-only", "--stdin-filename", str(path), "-"],
        ["format", "--quiet", "--stdin-filename", str(path), "-"],
    ):
        ran = subprocess.run(
            [sys.executable, "-m", "ruff", *command],
            input=text,
            text=True,
            capture_output=True,
            cwd=ROOT,
            check=False,
        )
        if ran.returncode:
            raise UnasyncError(f"{path}: ruff {command[0]} failed: {ran.stderr.strip()}")
        text = ran.stdout
    return text


def _header(source: Path) -> str:
    return f"# Generated from {source.as_posix()} by scripts/unasync.py: edit that.\n"


def generated(pairs: Sequence[tuple[str, str]] = PAIRS, root: Path = ROOT) -> dict[Path, str]:
    """Every target file's path and its text as it should be."""
    results: dict[Path, str] = {}
    for source_dir, target_dir in pairs:
        for source in sorted((root / source_dir).rglob("*.py")):
            text = source.read_text(encoding="utf-8")
            if text.startswith(HAND_WRITTEN):
                continue
            target = root / target_dir / source.relative_to(root / source_dir)
            try:
                results[target] = _formatted(_header(source.relative_to(root)) + rewrite(text), target)
            except UnasyncError as error:
                raise UnasyncError(f"{source.relative_to(root)}: {error}") from None
    return results


def leftovers(expected: dict[Path, str], pairs: Sequence[tuple[str, str]] = PAIRS, root: Path = ROOT) -> list[Path]:
    """Generated files whose source is gone."""
    return [
        path
        for _, target_dir in pairs
        for path in sorted((root / target_dir).rglob("*.py"))
        if path not in expected and path.read_text(encoding="utf-8").startswith("# Generated from ")
    ]


def stale(expected: dict[Path, str], root: Path = ROOT) -> list[str]:
    """One line for each target that differs from what its source would give."""
    complaints: list[str] = []
    for path, text in expected.items():
        name = path.relative_to(root)
        if not path.exists():
            complaints.append(f"{name}: missing")
            continue
        diff = list(
            difflib.unified_diff(path.read_text(encoding="utf-8").splitlines(), text.splitlines(), lineterm="", n=0)
        )
        if diff:
            changed = [line for line in diff[2:] if line[0] in "+-"]
            complaints.append(f"{name}: {len(changed)} lines differ, first: {changed[0]}")
    return complaints


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the targets, or with ``--check`` say which are not current; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a target is not current")
    options = parser.parse_args(arguments)
    try:
        expected = generated()
    except UnasyncError as error:
        print(error, file=sys.stderr)
        return 2
    orphans = leftovers(expected)
    if options.check:
        complaints = stale(expected) + [f"{path.relative_to(ROOT)}: its source is gone" for path in orphans]
        print("\n".join(complaints) or f"{len(expected)} generated files are current")
        return 1 if complaints else 0
    for path in orphans:
        path.unlink()
    for path, text in expected.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    print(f"{len(expected)} files generated, {len(orphans)} removed")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
