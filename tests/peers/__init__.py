"""Comparison with other memory stores, side by side: `make bench-peers`.

Each store runs in a virtual environment of its own, behind a driver in `drivers/`, which answers
the same few requests for all of them. The product does not import this package.
"""
