"""Clients and servers that nobody here wrote."""
