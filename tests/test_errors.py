"""Errors: one tree, one table, and an answer that tells the agent what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from spillcache import errors
from spillcache.errors import CODES, BudgetTooSmall, ResultAmbiguous, ResultNotFound, SpillError

CONTRACT = {
    "spill_id_malformed", "spill_not_found", "spill_expired", "spill_lost", "spill_corrupt", "cursor_malformed",
    "cursor_rejected", "cursor_key_unknown", "cursor_version_unsupported", "manifest_version_unsupported",
    "receipt_rejected", "result_not_found", "result_ambiguous", "arguments_invalid", "budget_too_small",
    "pattern_invalid", "payload_too_large", "quota_exceeded", "unauthorized", "store_unavailable", "store_busy",
    "store_full", "server_unsupported", "keyring_invalid", "upstream_unavailable", "upstream_invalid",
    "shutting_down", "issuer_unavailable", "host_not_allowed",
}  # fmt: skip


def every_class() -> Iterator[type[SpillError]]:
    """All error classes of the module."""
    for value in vars(errors).values():
        if isinstance(value, type) and issubclass(value, SpillError):
            yield value


def made(kind: type[SpillError]) -> SpillError:
    """An error of a class, whatever that needs to know."""
    if kind is BudgetTooSmall:
        return BudgetTooSmall("message", minimum=361)
    if kind is ResultAmbiguous:
        return ResultAmbiguous("message", indices=[1, 3], next_step="Choose 1 or 3.")
    if kind is ResultNotFound:
        return ResultNotFound("message", nearest=["cpu"])
    return kind("message")


def test_the_table_holds_the_codes_of_the_contract() -> None:
    """Every code that a caller may meet is there, and no other."""
    assert set(CODES) == CONTRACT


def test_codes_are_unique_and_each_class_has_its_own() -> None:
    """No two classes share a code."""
    leaves = list(CODES.values())
    assert len({kind.code for kind in leaves}) == len(leaves)
    assert all(CODES[kind.code] is kind for kind in leaves)


@pytest.mark.parametrize("kind", CODES.values())
def test_an_error_answers_in_the_contract_s_order(kind: type[SpillError]) -> None:
    """`status` FAILED, `code`, `message` and a `next_step` that says something, in this order."""
    answer = made(kind).as_dict()
    nearest = ["nearest"] if kind is ResultNotFound else []
    assert list(answer) == ["status", "code", "message", *nearest, "next_step"]
    assert answer["status"] == "FAILED"
    assert answer["code"] == kind.code
    assert len(answer["next_step"]) > 10


@pytest.mark.parametrize("kind", CODES.values())
def test_statuses_are_errors_and_retryable_ones_may_pass(kind: type[SpillError]) -> None:
    """HTTP statuses lie in 400-599; what is retryable is not the caller's own mistake."""
    assert 400 <= kind.http_status < 600
    assert not kind.retryable or kind.http_status in (429, 501, 502, 503, 507)


@pytest.mark.parametrize(
    "kind", [kind for kind in CODES.values() if issubclass(kind, errors.SpillGone | errors.StoreError)]
)
def test_what_cannot_be_read_is_never_called_empty(kind: type[SpillError]) -> None:
    """Lost, expired and unavailable say that this is not empty data, or that nothing was stored."""
    assert re.search(r"not empty data|run the tool again", made(kind).next_step)


def test_the_docstring_draws_the_tree_that_exists() -> None:
    """Each class and each code of the tree stands in the module's docstring."""
    drawn = errors.__doc__ or ""
    assert [kind.__name__ for kind in every_class() if kind.__name__ not in drawn] == []
    assert [code for code in CODES if code not in drawn] == []


def test_what_an_error_carries_is_there_for_programs() -> None:
    """The smallest budget, the nearest names and the numbers to choose from are attributes."""
    assert BudgetTooSmall("m", minimum=400).minimum == 400
    missing = ResultNotFound("m", nearest=["a", "b"])
    assert missing.nearest == ("a", "b")
    assert missing.as_dict()["nearest"] == ["a", "b"]
    assert "nearest" not in ResultNotFound("m").as_dict()
    assert ResultAmbiguous("m", indices=[2, 5], next_step="n").indices == (2, 5)
