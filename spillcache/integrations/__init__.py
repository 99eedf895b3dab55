"""Adapters to frameworks, each an optional extra of its own."""
