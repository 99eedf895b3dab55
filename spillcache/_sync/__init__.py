# Generated from spillcache/_async/__init__.py by scripts/unasync.py: edit that.
"""The asyncio side, written by hand. `_sync` is generated from it by `make sync`."""
