"""The memory bank API of Hindsight, for its Python client."""
