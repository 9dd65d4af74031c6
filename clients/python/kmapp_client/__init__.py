"""Python client of kmapp."""

from kmapp_client.async_client import AsyncClient
from kmapp_client.client import Client
from kmapp_client.errors import (
    Conflict,
    ConnectionFailed,
    Forbidden,
    Gone,
    InvalidRequest,
    KmappError,
    NotFound,
    RateLimited,
    ServerError,
    Unauthorized,
)
from kmapp_client.transport import Retry

__version__ = "0.1.0"
__all__ = [
    "AsyncClient",
    "Client",
    "Conflict",
    "ConnectionFailed",
    "Forbidden",
    "Gone",
    "InvalidRequest",
    "KmappError",
    "NotFound",
    "RateLimited",
    "Retry",
    "ServerError",
    "Unauthorized",
]
