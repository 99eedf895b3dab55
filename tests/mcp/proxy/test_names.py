"""Names and URIs under a namespace, and back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from spillcache.mcp.proxy.names import NAMESPACE, public_name, public_uri, split_name, split_uri, with_public_uris

namespaces = st.from_regex(NAMESPACE, fullmatch=True)


@given(namespaces, st.text(), namespaces, st.text())
def test_a_public_name_has_one_meaning(one: str, name: str, other: str, second: str) -> None:
    """It comes apart as it was put together, and no two things have the same."""
    assert split_name(public_name(one, name)) == (one, name)
    assert (public_name(one, name) == public_name(other, second)) == ((one, name) == (other, second))


@given(namespaces, st.text())
def test_a_public_uri_leads_back(namespace: str, uri: str) -> None:
    """Whatever the URI holds, itself plus signs too."""
    assert split_uri(public_uri(namespace, uri)) == (namespace, uri)


def test_every_uri_of_the_protocol_is_rewritten() -> None:
    """Links, embedded resources, contents, lists, templates and messages; nothing else is touched."""
    link = {"type": "resource_link", "uri": "a:b", "name": "n", "_meta": {"uri": "a:b"}}
    embedded = {"type": "resource", "resource": {"uri": "a:b", "text": "a:b"}}
    text = {"type": "text", "text": "a:b"}
    shown = with_public_uris(
        {
            "content": [link, embedded, text, "strange"],
            "messages": [{"role": "user", "content": link}, {"role": "user", "content": [embedded]}],
            "contents": [{"uri": "a:b"}],
            "resources": [{"uri": "a:b"}],
            "resourceTemplates": [{"uriTemplate": "a:{b}"}],
            "other": {"uri": "a:b"},
        },
        "ns",
    )
    public_link = link | {"uri": "ns+a:b"}
    public_embedded = {"type": "resource", "resource": {"uri": "ns+a:b", "text": "a:b"}}
    assert shown == {
        "content": [public_link, public_embedded, text, "strange"],
        "messages": [{"role": "user", "content": public_link}, {"role": "user", "content": [public_embedded]}],
        "contents": [{"uri": "ns+a:b"}],
        "resources": [{"uri": "ns+a:b"}],
        "resourceTemplates": [{"uriTemplate": "ns+a:{b}"}],
        "other": {"uri": "a:b"},
    }


def test_a_single_upstream_has_its_own_names() -> None:
    """Without a namespace nothing changes."""
    assert public_name("", "tool") == "tool"
    assert public_uri("", "file:///x") == "file:///x"
    result = {"content": [{"type": "resource_link", "uri": "a:b"}]}
    assert with_public_uris(result, "") == result
