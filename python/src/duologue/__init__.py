"""A client for `duologue serve`: conversations over HTTP, with and without asyncio, whole or sentence by sentence."""

from ._client import AsyncClient, AsyncSession, Client, Session
from ._shapes import Sentence, ServiceError, Turn

__all__ = ["AsyncClient", "AsyncSession", "Client", "Sentence", "ServiceError", "Session", "Turn"]
