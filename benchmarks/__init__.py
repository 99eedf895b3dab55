"""Benchmarks: `make bench` measures every figure that this package promises and writes `benchmarks/RESULTS.md`."""
