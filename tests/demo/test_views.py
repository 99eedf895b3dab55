"""What fragments of a payload let somebody conclude."""

from __future__ import annotations

import orjson

from spillcache.demo.views import NO_DATA, UNAVAILABLE, Fragment, all_series, conclude, preview_of, search

PAYLOAD = orjson.dumps(
    {
        "results": [
            {"query": "up", "result": [{"metric": {"pod": name}, "values": [[1, "1"], [2, "0"]]} for name in "ab"]},
        ]
    }
)


def _said(*fragments: Fragment) -> list[str]:
    return [one.text for one in conclude(all_series(PAYLOAD), fragments)]


def test_the_whole_payload_gives_the_truth() -> None:
    """Last value and count of each series are the payload's."""
    series = all_series(PAYLOAD)
    assert [one.last for one in series] == ["0", "0"]
    assert all(said.is_right(one) for said, one in zip(conclude(series, [Fragment(0, PAYLOAD)]), series, strict=True))


def test_labels_without_values_are_taken_for_unavailable() -> None:
    """A search that matches labels shows no value of any series."""
    assert _said(*search(PAYLOAD, 7_500)) == [UNAVAILABLE, UNAVAILABLE]


def test_a_search_that_is_cut_leaves_the_rest_without_data() -> None:
    """What does not fit the output was not seen."""
    assert _said(*search(PAYLOAD, 30)) == [UNAVAILABLE, NO_DATA]


def test_a_preview_takes_a_value_in_the_middle_for_the_last() -> None:
    """A series that the preview cuts is given a wrong current value; those after it, none."""
    cut = PAYLOAD.index(b'[2,"0"]')
    head = PAYLOAD[:cut].decode()
    said = conclude(all_series(PAYLOAD), preview_of({"preview": head}, len(PAYLOAD)))
    assert [one.text for one in said] == ["1 (1 samples)", NO_DATA]
    assert not said[0].is_right(all_series(PAYLOAD)[0])


def test_values_without_labels_belong_to_nobody() -> None:
    """The preview's tail shows numbers, but not whose."""
    tail = PAYLOAD[PAYLOAD.rindex(b"[1,") :].decode()
    assert [one.text for one in conclude(all_series(PAYLOAD), preview_of({"preview_tail": tail}, len(PAYLOAD)))] == [
        NO_DATA, NO_DATA,
    ]  # fmt: skip
