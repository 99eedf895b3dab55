"""Commands that keep the repository in order; run as ``python -m scripts.<name>``."""
