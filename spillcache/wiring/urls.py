"""A Redis URL as it may be shown: where the server is, never what opens it."""

from __future__ import annotations


def shown_url(url: str) -> str:
    """The URL without its password, query and fragment: `redis://app:***@host:6379/0`.

    A password may hold any character, also unquoted ones that end the host of a URL, so everything up to the last `@`
    counts as credentials; a name alone may be a password in the wrong place, and is hidden as well.
    """
    scheme, divider, rest = url.partition("://")
    if not divider:
        return "(not a URL)"
    if scheme == "unix" and rest.startswith("/"):  # no credentials: what is before an @ is a path
        credentials, place = "", rest
    else:
        credentials, _, place = rest.rpartition("@")
    if "?" in credentials or "#" in credentials:  # the @ may be inside a password of the query
        return f"{scheme}://***"
    user, colon, _ = credentials.partition(":")
    login = f"{user if colon else ''}{':' if colon else ''}***@" if credentials else ""
    address = place.partition("?")[0].partition("#")[0]
    return f"{scheme}://{login}{address}"
