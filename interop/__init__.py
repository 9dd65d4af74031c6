"""Endpoints that speak the protocols of other products' clients."""
