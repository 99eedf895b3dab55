"""Configuration files, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from spillcache.errors import ArgumentsInvalid
from spillcache.mcp.proxy.config import load_upstreams, make_upstream


def test_a_file_names_several_upstreams(tmp_path: Path) -> None:
    """Each in a table of its own, with what is said of it and the defaults for the rest."""
    file = tmp_path / "proxy.toml"
    file.write_text(
        """
        [upstream.metrics]
        command = "metrics-server"
        args = ["--fast"]
        inherit_env = ["TOKEN"]
        budgets = { "query_*" = 20000, "*" = 5000 }
        exclude = ["get_*"]

        [upstream.billing]
        url = "https://billing.example/mcp"
        forward_authorization = true
        on_store_failure = "error"
        drop_output_schema = true
        """
    )
    found = load_upstreams(file)
    assert list(found) == ["metrics", "billing"]
    metrics, billing = found.values()
    assert (metrics.command, metrics.args, metrics.inherit_env) == ("metrics-server", ("--fast",), ("TOKEN",))
    assert [metrics.options_for(tool, 7_500).budget for tool in ("query_a", "b")] == [20_000, 5_000]
    assert [metrics.spills(tool) for tool in ("query", "get_it")] == [True, False]
    assert billing.options_for("any", 7_500).budget == 7_500
    assert billing.options_for("any", 7_500).structured == "drop"
    assert billing.options_for("any", 7_500).on_store_failure == "error"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[upstream.a]\ncommand = 'x'\nbudgets = { t = 1 }", "upstream.a.budgets.t"),
        ("[upstream.a]\nurl = 'ftp://x'", "upstream.a.url"),
        ("[upstream.a]\n", "either command or url"),
        ("[upstream.a]\ncommand = 'x'\nurl = 'http://x'", "either command or url"),
        ("[upstream.a]\ncommand = 'x'\nforward_authorization = true", "forward_authorization cannot be used"),
        ("[upstream.a]\nurl = 'http://x'\nenv = { A = 'secret' }", "env cannot be used with url"),
        ("[upstream.a]\ncommand = 'x'\ncolour = 'secret'", "upstream.a.colour"),
        ("[upstream.a_b]\ncommand = 'x'", "letters, digits and hyphens"),
        ("[upstream]\n", "upstream"),
        ("upstream = 'secret'", "upstream"),
        ("[upstream.a", "not TOML"),
    ],
)
def test_an_error_names_file_and_key_but_no_value(tmp_path: Path, text: str, said: str) -> None:
    """A value may be a secret in the wrong place."""
    file = tmp_path / "proxy.toml"
    file.write_text(text)
    with pytest.raises(ArgumentsInvalid) as caught:
        load_upstreams(file)
    assert str(file) in caught.value.message
    assert said in caught.value.message
    assert "secret" not in caught.value.message
    assert caught.value.next_step


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    """With its name."""
    with pytest.raises(ArgumentsInvalid, match="cannot be read"):
        load_upstreams(tmp_path / "none.toml")


def test_a_header_cannot_smuggle_another() -> None:
    """A line break in a header's value is refused."""
    with pytest.raises(ArgumentsInvalid, match="line breaks"):
        make_upstream(url="http://x", headers={"A": "b\r\nC: d"})


def test_secrets_do_not_show(tmp_path: Path) -> None:
    """Not in the representation that ends up in logs."""
    upstream = make_upstream(command="x", env={"TOKEN": "hunter2"})
    assert "hunter2" not in repr(upstream)
