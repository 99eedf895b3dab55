"""`@spills`: a tool function whose oversized results become envelopes."""

from __future__ import annotations

import asyncio
import functools
import inspect
import typing
from collections.abc import Callable
from typing import Any, ParamSpec, Protocol

from spillcache.envelope import Envelope
from spillcache.errors import ArgumentsInvalid
from spillcache.wire import Wire

P = ParamSpec("P")

_NOTE = (
    "A result over {budget} comes back as an envelope instead, with `completeness`, a preview and the "
    "`spill_id` to read it by, page by page. The preview is not the data."
)


class Offers(Protocol):
    """What the decorator needs of a cache: `spillcache.SpillCache` and `spillcache.sync.SpillCache` both have it."""

    def offer(self, result: Any, *, tool: str, tenant: str | None, budget: int | None, wire: Wire | None) -> Any:
        """The result or an `Envelope`; awaitable on the asyncio side."""
        ...


def spills(
    cache: Offers,
    *,
    tool: str | None = None,
    tenant: str | None = None,
    budget: int | None = None,
    wire: Wire | None = None,
) -> Callable[[Callable[P, Any]], Callable[P, Any]]:
    """Decorate a tool function: what it returns goes through `cache.offer`, and an envelope is returned as a dict.

    An `async def` takes either cache (the synchronous one works in a thread), a plain function the synchronous one.
    `tool` is the function's name unless given. Signature and docstring of the result say what it may return, and it
    does not pretend to be the original: frameworks that build schemas from annotations would reject the envelope.
    Raises `ArgumentsInvalid` for what cannot be decorated.
    """
    asynchronous = inspect.iscoroutinefunction(cache.offer)

    def decorate(function: Callable[P, Any]) -> Callable[P, Any]:
        name = tool or str(getattr(function, "__name__", ""))
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise ArgumentsInvalid("a generator has no one result to spill; use cache.writer inside it")

        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def wrapper(*args: P.args, **kwargs: P.kwargs) -> Any:
                result = await function(*args, **kwargs)
                offer = functools.partial(cache.offer, result, tool=name, tenant=tenant, budget=budget, wire=wire)
                offered: Any = await (offer() if asynchronous else asyncio.to_thread(offer))
                return _sendable(offered)

            return _honest(wrapper, function, budget)
        if asynchronous:
            raise ArgumentsInvalid("a plain function needs a cache of spillcache.sync; this one is for asyncio")

        @functools.wraps(function)
        def plain_wrapper(*args: P.args, **kwargs: P.kwargs) -> Any:
            result = function(*args, **kwargs)
            return _sendable(cache.offer(result, tool=name, tenant=tenant, budget=budget, wire=wire))

        return _honest(plain_wrapper, function, budget)

    return decorate


def _sendable(offered: Any) -> Any:
    return offered.as_dict() if isinstance(offered, Envelope) else offered


def _honest(wrapper: Callable[P, Any], function: Callable[..., Any], budget: int | None) -> Callable[P, Any]:
    """Say what the wrapper returns, and drop `__wrapped__`, through which frameworks would find the old annotation.

    With it they lose the way to the module in which annotations are to be understood, so these are resolved here.
    """
    hints = _hints(function)
    returns = _or_envelope(hints.get("return", Any))
    signature = inspect.signature(function)
    parameters = [one.replace(annotation=hints.get(one.name, one.annotation)) for one in signature.parameters.values()]
    described: Any = wrapper
    described.__signature__ = signature.replace(parameters=parameters, return_annotation=returns)
    described.__annotations__ = {**getattr(function, "__annotations__", {}), **hints, "return": returns}
    note = _NOTE.format(budget=f"{budget} bytes" if budget else "the budget")
    described.__doc__ = f"{inspect.cleandoc(function.__doc__)}\n\n{note}" if function.__doc__ else note
    del described.__wrapped__
    return wrapper


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError):  # annotations that only a type checker can resolve
        return {}


def _or_envelope(hint: Any) -> Any:
    return Any if hint is Any else typing.Union[hint, dict[str, Any]]  # noqa: UP007 - built at run time
