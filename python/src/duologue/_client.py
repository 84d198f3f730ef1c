"""The client, once for threads and once for asyncio.

A request that got no answer is sent again under the same name, so that its turn is taken once.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from types import TracebackType
from typing import Any
from urllib.parse import quote

import httpx

from ._shapes import Events, Sentence, ServiceError, Turn

STREAM = {"Accept": "text/event-stream"}
TRIES = 4


def _pause(error: Exception, tried: int) -> float | None:
    """How long to wait before the same request is sent again; `None` if that would not help."""
    if tried + 1 >= TRIES:
        return None
    if isinstance(error, ServiceError):
        return error.retry_after if error.status in (429, 503) else None
    return 0.1 * 2**tried if isinstance(error, httpx.TransportError) else None


def _said(text: str | None, predicates: list[str] | None, why: bool) -> dict[str, Any]:
    if (text is None) == (predicates is None):
        raise ValueError("say either a text or predicates")
    said = {"text": text} if text is not None else {"predicates": predicates}
    return {**said, "request": uuid.uuid4().hex, **({"why": True} if why else {})}


def _checked(answer: httpx.Response) -> Any:
    if answer.is_success:
        return answer.json()
    raise ServiceError.of(answer.status_code, answer.text, answer.headers.get("Retry-After"))


def _bearer(token: str | None) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"} if token else {}


class _Opened:
    """What both sessions know of themselves."""

    def __init__(self, opened: dict[str, Any]) -> None:
        self.id: str = opened["session"]
        self.site: str = opened["site"]
        self.role: str = opened["role"]
        self.greeting: str = opened.get("text") or ""
        self._headers = _bearer(opened["token"])
        self._path = f"/v1/sessions/{quote(self.id, safe='')}"


class Session(_Opened):
    """A conversation."""

    def __init__(self, http: httpx.Client, opened: dict[str, Any]) -> None:
        super().__init__(opened)
        self._http = http

    def say(self, text: str | None = None, *, predicates: list[str] | None = None, why: bool = False) -> Turn:
        """Says something and waits for the whole reply."""
        return Turn.of(self._call("POST", "/turns", _said(text, predicates, why)))

    def stream(self, text: str) -> Iterator[Sentence | Turn]:
        """Says something; sentences come as they are safe to say, and last the whole turn."""
        said, events = _said(text, None, False), Events()
        with self._http.stream("POST", f"{self._path}/turns", json=said, headers={**self._headers, **STREAM}) as answer:
            if not answer.is_success:
                answer.read()
                _checked(answer)
            for line in answer.iter_lines():
                yield from events.line(line)

    def state(self) -> dict[str, Any]:
        """Where the conversation stands."""
        found: dict[str, Any] = self._call("GET", "")
        return found

    def facts(self, scope: str = "session") -> list[dict[str, Any]]:
        """The facts of the session, of its site (`shared`), or of its kb, each with who told it."""
        found: list[dict[str, Any]] = self._call("GET", f"/facts?scope={quote(scope)}")["facts"]
        return found

    def why(self, turn: int) -> list[dict[str, Any]]:
        """The proofs of what was done in a turn."""
        found: list[dict[str, Any]] = self._call("GET", f"/turns/{turn}/why")["why"]
        return found

    def why_not(self, turn: int, atom: str) -> list[str]:
        """Why something was not done."""
        found: list[str] = self._call("GET", f"/turns/{turn}/whynot?atom={quote(atom, safe='')}")["because"]
        return found

    def _call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        return _sent(self._http, method, self._path + path, body, self._headers)


def _sent(http: httpx.Client, method: str, path: str, body: dict[str, Any] | None, headers: dict[str, str]) -> Any:
    for tried in range(TRIES):
        try:
            return _checked(http.request(method, path, json=body, headers=headers))
        except (ServiceError, httpx.TransportError) as error:
            pause = _pause(error, tried)
            if pause is None:
                raise
            time.sleep(pause)
    raise AssertionError("the last try returns or raises")


class Client:
    """The service at an address; `token` is an operator's, customers need none."""

    def __init__(self, address: str = "http://127.0.0.1:8080", *, token: str | None = None, timeout: float = 60.0) -> None:
        self._http = httpx.Client(base_url=address, timeout=timeout)
        self._headers = _bearer(token)

    def open(self, site: str = "main", role: str | None = None) -> Session:
        """Opens a conversation."""
        body = {"role": role} if role else {}
        return Session(self._http, _sent(self._http, "POST", f"/v1/sites/{quote(site, safe='')}/sessions", body, self._headers))

    def close(self) -> None:
        """Closes the connections; conversations go on whenever somebody asks for them."""
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class AsyncSession(_Opened):
    """A conversation, for asyncio."""

    def __init__(self, http: httpx.AsyncClient, opened: dict[str, Any]) -> None:
        super().__init__(opened)
        self._http = http

    async def say(self, text: str | None = None, *, predicates: list[str] | None = None, why: bool = False) -> Turn:
        """Says something and waits for the whole reply."""
        return Turn.of(await self._call("POST", "/turns", _said(text, predicates, why)))

    async def stream(self, text: str) -> AsyncIterator[Sentence | Turn]:
        """Says something; sentences come as they are safe to say, and last the whole turn."""
        said, events = _said(text, None, False), Events()
        async with self._http.stream("POST", f"{self._path}/turns", json=said, headers={**self._headers, **STREAM}) as answer:
            if not answer.is_success:
                await answer.aread()
                _checked(answer)
            async for line in answer.aiter_lines():
                for event in events.line(line):
                    yield event

    async def state(self) -> dict[str, Any]:
        """Where the conversation stands."""
        found: dict[str, Any] = await self._call("GET", "")
        return found

    async def facts(self, scope: str = "session") -> list[dict[str, Any]]:
        """The facts of the session, of its site (`shared`), or of its kb, each with who told it."""
        found: list[dict[str, Any]] = (await self._call("GET", f"/facts?scope={quote(scope)}"))["facts"]
        return found

    async def why(self, turn: int) -> list[dict[str, Any]]:
        """The proofs of what was done in a turn."""
        found: list[dict[str, Any]] = (await self._call("GET", f"/turns/{turn}/why"))["why"]
        return found

    async def why_not(self, turn: int, atom: str) -> list[str]:
        """Why something was not done."""
        found: list[str] = (await self._call("GET", f"/turns/{turn}/whynot?atom={quote(atom, safe='')}"))["because"]
        return found

    async def _call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        return await _sent_async(self._http, method, self._path + path, body, self._headers)


async def _sent_async(http: httpx.AsyncClient, method: str, path: str, body: dict[str, Any] | None, headers: dict[str, str]) -> Any:
    for tried in range(TRIES):
        try:
            return _checked(await http.request(method, path, json=body, headers=headers))
        except (ServiceError, httpx.TransportError) as error:
            pause = _pause(error, tried)
            if pause is None:
                raise
            await asyncio.sleep(pause)
    raise AssertionError("the last try returns or raises")


class AsyncClient:
    """The service at an address, for asyncio; `token` is an operator's, customers need none."""

    def __init__(self, address: str = "http://127.0.0.1:8080", *, token: str | None = None, timeout: float = 60.0) -> None:
        self._http = httpx.AsyncClient(base_url=address, timeout=timeout)
        self._headers = _bearer(token)

    async def open(self, site: str = "main", role: str | None = None) -> AsyncSession:
        """Opens a conversation."""
        body = {"role": role} if role else {}
        opened = await _sent_async(self._http, "POST", f"/v1/sites/{quote(site, safe='')}/sessions", body, self._headers)
        return AsyncSession(self._http, opened)

    async def close(self) -> None:
        """Closes the connections; conversations go on whenever somebody asks for them."""
        await self._http.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()
