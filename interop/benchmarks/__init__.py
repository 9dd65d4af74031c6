"""Comparison of the protocols with the native API, over HTTP: `kmapp interop_perf`."""
