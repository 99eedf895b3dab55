"""`python -m spillcache.cli` is `spillcache`."""

from __future__ import annotations

from spillcache.cli import main

if __name__ == "__main__":
    main()
