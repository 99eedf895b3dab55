"""Names under a namespace, and back: tools and prompts `NAME_tool`, resources `NAME+scheme:…`. Pure.

A namespace holds neither `_` nor `+`, so the first of them in a name or URI ends it: two upstreams never give one name
to two things, and what a client sends back says by itself whose it is. The empty namespace changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

#: A letter first, because a URI scheme begins with one.
NAMESPACE: Final = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,31}")


def public_name(namespace: str, name: str) -> str:
    """A tool's or prompt's name as clients see it."""
    return f"{namespace}_{name}" if namespace else name


def public_uri(namespace: str, uri: str) -> str:
    """A resource's URI, or URI template, as clients see it."""
    return f"{namespace}+{uri}" if namespace else uri


def split_name(name: str) -> tuple[str, str]:
    """A namespace, and the name as its upstream knows it; the namespace is "" when there is none."""
    namespace, found, inner = name.partition("_")
    return (namespace, inner) if found else ("", name)


def split_uri(uri: str) -> tuple[str, str]:
    """A namespace, and the URI as its upstream knows it; the namespace is "" when there is none."""
    namespace, found, inner = uri.partition("+")
    return (namespace, inner) if found else ("", uri)


def with_public_uris(result: Mapping[str, Any], namespace: str) -> dict[str, Any]:
    """A result whose resource links and embedded resources can be read through the proxy.

    Covers what carries a URI by the protocol: content blocks of tool results and prompt messages, contents of a
    resource, entries of resource lists and templates. A URI inside a text is the text's own business.
    """
    if not namespace:
        return dict(result)
    changed = dict(result)
    for field, rewrite in _FIELDS.items():
        listed = changed.get(field)
        if isinstance(listed, list):
            changed[field] = [rewrite(item, namespace) if isinstance(item, dict) else item for item in listed]
    return changed


def _block(block: dict[str, Any], namespace: str) -> dict[str, Any]:
    if block.get("type") == "resource_link":
        return _with_uri(block, "uri", namespace)
    resource = block.get("resource")
    if block.get("type") == "resource" and isinstance(resource, dict):
        return {**block, "resource": _with_uri(resource, "uri", namespace)}
    return block


def _message(message: dict[str, Any], namespace: str) -> dict[str, Any]:
    content = message.get("content")
    if isinstance(content, dict):
        return {**message, "content": _block(content, namespace)}
    if isinstance(content, list):
        return {**message, "content": [_block(one, namespace) if isinstance(one, dict) else one for one in content]}
    return message


def _resource(entry: dict[str, Any], namespace: str) -> dict[str, Any]:
    return _with_uri(entry, "uri", namespace)


def _template(entry: dict[str, Any], namespace: str) -> dict[str, Any]:
    return _with_uri(entry, "uriTemplate", namespace)


def _with_uri(entry: dict[str, Any], field: str, namespace: str) -> dict[str, Any]:
    uri = entry.get(field)
    return {**entry, field: public_uri(namespace, uri)} if isinstance(uri, str) else entry


_FIELDS: Final[Mapping[str, Callable[[dict[str, Any], str], dict[str, Any]]]] = {
    "content": _block,
    "messages": _message,
    "contents": _resource,
    "resources": _resource,
    "resourceTemplates": _template,
}
