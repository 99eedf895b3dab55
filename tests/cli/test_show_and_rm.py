"""`spillcache show` and `spillcache rm`."""

from __future__ import annotations

import hashlib

from tests.cli.commands import Program
from tests.servers.caches import metrics

PAYLOAD = metrics(results=3, points=50)


def test_show_lists_every_result_with_its_counts(program: Program) -> None:
    """--json holds size, digest and lease, and the whole inventory."""
    answer = program("show", program.store(PAYLOAD, tool="metrics"), "--json").answer
    assert (answer["size_bytes"], answer["tool"]) == (len(PAYLOAD), "metrics")
    assert answer["sha256"] == hashlib.sha256(PAYLOAD).hexdigest()
    assert 0 < answer["lease_left_s"] <= 1200
    names = [entry["name"] for entry in answer["inventory"]["entries"]]
    assert names == ["query 0", "query 1", "query 2"]


def test_show_for_people_is_a_table(program: Program) -> None:
    """Name and path of each result, how long it is kept for sure, and a command that reads one of them."""
    printed = program("show", program.store(PAYLOAD)).text
    assert "$.results[2]" in printed
    assert "15 min after the last read; now kept 15 min or more" in printed
    words = printed.splitlines()[-1].partition("spillcache ")[2].split()
    assert program(*words).out.startswith(b'{"name":"query 0"')


def test_a_hostile_name_neither_colours_nor_moves_the_terminal(program: Program) -> None:
    """Markup and escape sequences in names are shown as text."""
    payload = b'{"results":[{"name":"[red]a[/]","v":[1]},{"name":"b\\u001b[2Jc","v":[2]}]}'
    printed = program("show", program.store(payload)).text
    assert "[red]a[/]" in printed
    assert "\x1b" not in printed


def test_rm_removes_once(program: Program) -> None:
    """What was removed is gone; removing it again says so."""
    spill_id = program.store(PAYLOAD)
    assert program("rm", spill_id, "--json").answer == {"spill_id": spill_id, "deleted": True}
    again = program("rm", spill_id, "--json")
    assert (again.code, again.answer["code"]) == (1, "spill_not_found")


def test_rm_needs_no_key_ring(program: Program) -> None:
    """Deleting signs nothing."""
    spill_id = program.store(PAYLOAD)
    assert program("rm", spill_id, SPILLCACHE_KEYRING_FILE="").code == 0
    assert program("page", spill_id, "--json").answer["code"] == "spill_not_found"


def test_show_of_binary_data_says_what_its_pages_are(program: Program) -> None:
    """Base64, where they are JSON."""
    assert "base64" in program("show", program.store(bytes(range(128, 256)) * 9)).text


def test_a_long_list_is_cut_and_says_so(program: Program) -> None:
    """What is not shown is counted, and --all shows it."""
    spill_id = program.store(metrics(results=60, points=20))
    short, whole = program("show", spill_id), program("show", spill_id, "--all")
    assert "10 more are not shown" in short.text
    assert "query 49" in short.text
    assert "query 59" not in short.text
    assert "query 59" in whole.text
    assert len(program("show", spill_id, "--json").answer["inventory"]["entries"]) == 60
