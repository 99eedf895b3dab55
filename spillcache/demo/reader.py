"""One replica: a process that serves pages and shares nothing with the others but Redis and the key ring.

`python -m spillcache.demo.reader URL KEYRING_FILE` takes one JSON request a line, `{"spill_id": …, "cursor": …}`, and
answers each with one line: the page or the error, exactly as an agent would get it.
"""

from __future__ import annotations

import sys
from typing import BinaryIO

import orjson

from spillcache.sync import Keyring, SpillCache, SpillError


def serve(cache: SpillCache, requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer every request until there are no more."""
    for line in requests:
        request = orjson.loads(line)
        try:
            answer = cache.page(request["spill_id"], cursor=request.get("cursor")).as_dict()
        except SpillError as error:
            answer = error.as_dict()
        answers.write(orjson.dumps(answer, option=orjson.OPT_APPEND_NEWLINE))
        answers.flush()


if __name__ == "__main__":
    _, url, keyring_file = sys.argv
    with SpillCache.from_url(url, keyring=Keyring.from_file(keyring_file)) as opened:
        serve(opened, sys.stdin.buffer, sys.stdout.buffer)
