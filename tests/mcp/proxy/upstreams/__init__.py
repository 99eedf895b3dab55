"""Servers behind the proxy, as programs of their own."""
