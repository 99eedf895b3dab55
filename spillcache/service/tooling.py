"""From settings to how the tool is called and how it answers."""

from __future__ import annotations

from spillcache.tool.clients import KNOWN_LIMITS
from spillcache.tool.definition import ToolOptions
from spillcache.wiring.settings import Settings


def tool_options(settings: Settings) -> ToolOptions:
    """How these settings want the tool to be. Raises `ArgumentsInvalid`."""
    return ToolOptions(
        name=settings.tool_name,
        rendering=settings.rendering,
        structured=settings.structured_content,
        limits=KNOWN_LIMITS.extended(settings.client_budgets, cap=settings.max_page_bytes),
        default_budget=settings.budget_bytes,
        full_bytes=settings.full_bytes,
    )
