"""The generator of the synchronous side."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts import unasync


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("async def f():\n    return await g()\n", "def f():\n    return g()\n"),
        ("async with a as b:\n    pass\n", "with a as b:\n    pass\n"),
        ("async for page in walk():\n    pass\n", "for page in walk():\n    pass\n"),
        ("x = [y async for y in z]\n", "x = [y for y in z]\n"),
        ("import redis.asyncio\n", "import redis\n"),
        ("from redis.asyncio.client import Pipeline\n", "from redis.client import Pipeline\n"),
        ("async def __aenter__(self): ...\n", "def __enter__(self): ...\n"),
        ("await (await anext(it)).aclose()\n", "(next(it)).close()\n"),
        ("from spillcache._async.store import Store\n", "from spillcache._sync.store import Store\n"),
        ("from ._async import x\n", "from ._sync import x\n"),
    ],
)
def test_code_loses_what_makes_it_asynchronous(source: str, expected: str) -> None:
    """Each construct of the table becomes its synchronous form, blanks included."""
    assert unasync.rewrite(source) == expected


def test_docstrings_and_comments_follow_the_code() -> None:
    """An example in a docstring is rewritten like the code it shows."""
    source = 'def f():\n    """Use ``async with C() as c: await c.page(i)``."""\n    # await nothing\n'
    assert unasync.rewrite(source) == 'def f():\n    """Use ``with C() as c: c.page(i)``."""\n    # nothing\n'


def test_strings_that_are_data_are_left_alone() -> None:
    """A word inside a value is not code."""
    source = 'x = "await the async result"\nf("aclose")\n'
    assert unasync.rewrite(source) == source


def test_await_inside_an_f_string_is_refused_or_rewritten_alike() -> None:
    """What only some Python versions can see as tokens must not slip through unchanged."""
    try:
        text = unasync.rewrite('x = f"{await y}"\n')
    except unasync.UnasyncError:
        return
    assert "await" not in text


def test_every_source_gets_a_target_that_says_where_it_came_from(tmp_path: Path) -> None:
    """Targets mirror the sources, hand-written pairs excepted, and name their origin."""
    source = tmp_path / "a"
    source.mkdir()
    (source / "one.py").write_text("async def f() -> None: ...\n")
    (source / "two.py").write_text(unasync.HAND_WRITTEN + "\n")
    expected = unasync.generated([("a", "b")], tmp_path)
    assert [path.name for path in expected] == ["one.py"]
    text = expected[tmp_path / "b" / "one.py"]
    assert text.startswith("# Generated from a/one.py by scripts/unasync.py")
    assert "def f() -> None: ..." in text


def test_a_stale_a_missing_and_an_orphaned_target_are_each_named(tmp_path: Path) -> None:
    """The check tells which file is not current and why."""
    current, changed, missing, orphan = (
        tmp_path / f"{name}.py" for name in ("current", "changed", "missing", "orphan")
    )
    current.write_text("x = 1\n")
    changed.write_text("x = 2\n")
    orphan.write_text("# Generated from gone.py by scripts/unasync.py: edit that.\n")
    expected = {current: "x = 1\n", changed: "x = 1\n", missing: "x = 1\n"}
    complaints = unasync.stale(expected, tmp_path)
    assert complaints == ["changed.py: 2 lines differ, first: -x = 2", "missing.py: missing"]
    assert unasync.leftovers(expected, [("", ".")], tmp_path) == [orphan]
