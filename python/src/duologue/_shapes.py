"""What the service says, as Python values; `raw` keeps all of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Turn:
    """A turn that was taken."""

    text: str
    turn: int
    predicates: list[str]
    actions: list[str]
    lines: list[str]
    state: dict[str, Any]
    ended: str | None
    raw: dict[str, Any] = field(repr=False)

    @classmethod
    def of(cls, raw: dict[str, Any]) -> Turn:
        lists = {name: list(raw.get(name) or []) for name in ("predicates", "actions", "lines")}
        return cls(text=raw.get("text", ""), turn=raw.get("turn", 0), state=raw.get("state") or {}, ended=raw.get("ended"), raw=raw, **lists)


@dataclass(frozen=True)
class Sentence:
    """A part of a reply that is safe to say before the rest is there."""

    text: str


class ServiceError(Exception):
    """What the service refused, with its remedy; `retry_after` (seconds) where the same request may be sent again."""

    def __init__(self, status: int, code: str, message: str, help: str, retry_after: float | None = None) -> None:
        super().__init__(f"{message} ({help})" if help else message)
        self.status, self.code, self.message, self.help, self.retry_after = status, code, message, help, retry_after

    @classmethod
    def of(cls, status: int, body: str, retry_after: str | None) -> ServiceError:
        try:
            error = json.loads(body)["error"]
            code, message, help = error["code"], error["message"], error.get("help", "")
        except (ValueError, KeyError, TypeError):
            code, message, help = "http", f"the service answered {status}", body[:200]
        seconds = float(retry_after) if retry_after and retry_after.isdigit() else None
        return cls(status, code, message, help, seconds)


class Events:
    """Reads `text/event-stream` line by line."""

    def __init__(self) -> None:
        self._name, self._data = "message", list[str]()

    def line(self, line: str) -> Iterator[Sentence | Turn]:
        """What is complete with this line."""
        if line.startswith("event:"):
            self._name = line[6:].strip()
        elif line.startswith("data:"):
            self._data.append(line[5:].removeprefix(" "))
        elif not line and self._data:
            name, data = self._name, json.loads("\n".join(self._data))
            self._name, self._data = "message", []
            if name == "sentence":
                yield Sentence(data["text"])
            elif name == "turn":
                yield Turn.of(data)
            elif name == "error":
                error = data.get("error", data)
                raise ServiceError(200, error.get("code", "turn"), error.get("message", "the turn was not taken"), error.get("help", ""))
