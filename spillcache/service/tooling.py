"""From settings to how the tool is called and how it answers."""

from __future__ import annotations

from typing import Final

from spillcache.errors import ArgumentsInvalid
from spillcache.shown import shown_name
from spillcache.tool.clients import KNOWN_LIMITS
from spillcache.tool.definition import ToolOptions
from spillcache.wiring.settings import PREFIX, Settings

#: What every page, listing and envelope can be made within, in bytes: in two copies a listing may take 1,500.
LEAST_PAGE_BYTES: Final = 2_048


def tool_options(settings: Settings, *, least: int = LEAST_PAGE_BYTES) -> ToolOptions:
    """How these settings want the tool to be. `least` is the smallest budget with which the process can do its work.

    Raises `ArgumentsInvalid`, which names each setting that is below it.
    """
    _check_budgets(settings, least)
    return ToolOptions(
        name=settings.tool_name,
        rendering=settings.rendering,
        structured=settings.structured_content,
        limits=KNOWN_LIMITS.extended(settings.client_budgets, cap=settings.max_page_bytes),
        default_budget=settings.budget_bytes,
        full_bytes=settings.full_bytes,
    )


def _check_budgets(settings: Settings, least: int) -> None:
    budgets = {
        f"{PREFIX}BUDGET_BYTES (--budget)": settings.budget_bytes,
        f"{PREFIX}MAX_PAGE_BYTES": settings.max_page_bytes,
        **{f"{PREFIX}CLIENT_BUDGETS of {shown_name(name)}": size for name, size in settings.client_budgets.items()},
    }
    small = [name for name, size in budgets.items() if size < least]
    if small:
        raise ArgumentsInvalid(
            f"too small for an answer: {', '.join(small)}", next_step=f"Set at least {least} bytes there."
        )
