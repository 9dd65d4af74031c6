"""Benchmark of kmapp and other memory stores: `make bench-peers`.

Each other store runs in its own virtual environment, behind a driver in `drivers/`. All drivers
answer the same few requests. The product does not import this package.
"""
