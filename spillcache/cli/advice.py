"""What to do about an error, for people at a terminal: the library's own next steps are written for agents.

`--json` keeps those. Here each code that a person can do something about has a command or an option to type.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from spillcache import errors
from spillcache.cli.failures import Interrupted, OutputFailed
from spillcache.cli.session import Session
from spillcache.errors import SpillError


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked for: the command, and which spill, if any. `server` names where the spills are, for people."""

    command: str
    session: Session
    server: str
    spill_id: str | None = None
    cursor: str | None = None


_START_AGAIN = "Start again with `{page}`, and copy each cursor exactly as it is printed."
_SETTING = "Check {server}"

#: One code has several causes, and the words tell them apart: they are those of `store.translate` and `connect`.
_BY_WORDS: tuple[tuple[type[SpillError], str, str], ...] = (
    (errors.StoreUnavailable, "credentials", _SETTING + ": user and password."),
    (errors.StoreUnavailable, "for now", "Try again in a few seconds; if that does not help, run `{doctor}`."),
    (errors.StoreUnavailable, "read-only", _SETTING + ": it must name the primary, not a replica."),
    (errors.StoreUnavailable, "replicas confirmed", "Run `{doctor}`, or lower SPILLCACHE_WAIT_REPLICAS."),
    (errors.ArgumentsInvalid, "Redis URL", "Correct {server}."),
)

#: Below a code's own line comes that of the class above it.
_BY_CODE: Mapping[type[SpillError], str] = {
    errors.SpillIdMalformed: "Copy the spill id again, exactly as `put` printed it (26 characters).",
    errors.SpillCorrupt: "What is stored is damaged: store the payload again.",
    errors.SpillGone: "Check the id, tenant, prefix and {server}. If it has expired, store the payload again.",
    errors.CursorKeyUnknown: "Use the key ring that it was signed with, or start again with `{page}`.",
    errors.CursorError: _START_AGAIN,
    errors.ManifestVersionUnsupported: "Read it with the release of spillcache that wrote it, or a newer one.",
    errors.ResultNotFound: "`{show}` lists all results. One that was not found is not an empty one.",
    errors.ResultAmbiguous: "Choose one by its number: `{page} --result {number}`; `{show}` lists them.",
    errors.PatternInvalid: "Correct the pattern, or take it as plain text with -F. Nothing was searched.",
    errors.BudgetTooSmall: "Use --budget {minimum} or more.",
    errors.ArgumentsInvalid: "Correct what the message names and run it again.",
    errors.PayloadTooLarge: "Raise SPILLCACHE_MAX_PAYLOAD_BYTES, or store less.",
    errors.StoreFull: "Give Redis more memory, or wait until spills have expired; `{doctor}` shows how full it is.",
    errors.StoreBusy: "Try again in a few seconds.",
    errors.ServerUnsupported: "Run `{doctor}`: it says what is missing at {server}.",
    errors.StoreUnavailable: _SETTING + ": does a server run there? `{doctor}` looks closer.",
}
_OWN_WORDS_SPEAK_TO_AGENTS = (errors.ResultAmbiguous, errors.BudgetTooSmall)


def message_for_people(error: SpillError) -> str:
    """The message without how a tool would be called."""
    return error.message.partition("; call again")[0]


def next_step_for_people(error: SpillError, asked: Asked) -> str:
    """What to do now. After a failed `put` it begins with what that means: nothing was stored."""
    if isinstance(error, OutputFailed | Interrupted):
        return error.next_step
    said = error.next_step != error.default_next_step and not isinstance(error, _OWN_WORDS_SPEAK_TO_AGENTS)
    step = error.next_step if said else _template(error, asked).format_map(_facts(error, asked))
    return f"Nothing was stored. {step}" if asked.command == "put" else step


def _template(error: SpillError, asked: Asked) -> str:
    for kind, words, step in _BY_WORDS:
        if isinstance(error, kind) and words in error.message:
            return step
    if isinstance(error, errors.ArgumentsInvalid) and asked.cursor is not None:
        return _START_AGAIN
    found = next((_BY_CODE[kind] for kind in type(error).__mro__ if kind in _BY_CODE), None)
    return found if found is not None else error.next_step.replace("{", "{{").replace("}", "}}")


def _facts(error: SpillError, asked: Asked) -> dict[str, str]:
    command, spill_id = asked.session.command, asked.spill_id or "ID"
    return {
        "page": command("page", spill_id),
        "show": command("show", spill_id),
        "doctor": command("doctor"),
        "server": asked.server,
        "minimum": str(error.minimum) if isinstance(error, errors.BudgetTooSmall) else "",
        "number": str(error.indices[0]) if isinstance(error, errors.ResultAmbiguous) else "",
    }
