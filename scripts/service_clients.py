"""Clients of others against a running service: `service_clients.py ADDRESS MANAGER_TOKEN FOLDER`; `scripts/service-clients` starts both."""

import asyncio
import json
import sys
import urllib.request
from pathlib import Path

import openai
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

ADDRESS, TOKEN, FOLDER = sys.argv[1:4]


def chat() -> None:
    """OpenAI's client takes turns, whole and in parts, in one conversation a user."""
    client = openai.OpenAI(base_url=f"{ADDRESS}/v1", api_key=TOKEN, max_retries=0)
    model = next(m.id for m in client.models.list() if m.id.endswith("/customer"))

    def say(text: str, user: str) -> str:
        answer = client.chat.completions.create(model=model, user=user, messages=[{"role": "user", "content": text}])
        return answer.choices[0].message.content or ""

    assert "Soft Taco" in say("two soft tacos", "a"), "the order is said back"
    pieces = client.chat.completions.create(model=model, user="a", stream=True, messages=[{"role": "user", "content": "and a large pepsi"}])
    said = "".join(p.choices[0].delta.content or "" for p in pieces if p.choices)
    assert "Pepsi" in said, said
    assert "Soft Taco" not in say("what do i have so far", "b"), "another user has another order"
    try:
        openai.OpenAI(base_url=f"{ADDRESS}/v1", api_key="no-token", max_retries=0).chat.completions.create(model=model, messages=[{"role": "user", "content": "hello"}])
        raise AssertionError("a wrong key was taken")
    except openai.AuthenticationError:
        pass
    print("openai: ok")


async def tools() -> None:
    """The protocol's own client lists the tools and uses each."""
    async with streamable_http_client(f"{ADDRESS}/mcp") as streams, ClientSession(streams[0], streams[1]) as session:
        await session.initialize()
        names = {tool.name for tool in (await session.list_tools()).tools}
        assert names == {"say", "state", "facts", "why"}, names
        said = await session.call_tool("say", {"text": "two soft tacos"})
        assert "Soft Taco" in said.content[0].text, said
        for name in ("state", "facts", "why"):
            result = await session.call_tool(name, {})
            assert "Soft Taco" in result.content[0].text, (name, result)
    print("mcp: ok")


def ask(path: str, body: object = None, token: str = "") -> dict:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(ADDRESS + path, data, {"Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)


def document() -> None:
    """The document as who speaks in a session sees it: with its own id and token, so that what is behind them is reached."""
    opened = ask("/v1/sites/main/sessions", {})
    ask(f"/v1/sessions/{opened['session']}/turns", {"text": "two soft tacos"}, opened["token"])
    described = ask("/openapi.json")
    assert described["openapi"].startswith("3.1")
    parameters = described["components"]["parameters"]
    parameters["session"].update(schema={"const": opened["session"]}, example=opened["session"])
    parameters["turn"].update(schema={"type": "integer", "minimum": 0, "maximum": 2})
    Path(FOLDER, "own.json").write_text(json.dumps(described))
    Path(FOLDER, "own.token").write_text(opened["token"])


document()
chat()
asyncio.run(tools())
