"""The platform API of mem0, for its Python and JavaScript clients and its command line."""
