"""The asyncio side, written by hand. `_sync` is generated from it by `make sync`."""
