"""Images of a result: sent where the model sees them and its provider takes them in a tool's message, stored as sent."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from mcp_server import png
from scripts import Play, calls, says

from nbcontext import assets
from nbcontext.call import Call
from nbcontext.execution.images import picture
from nbcontext.opening import Setup
from nbcontext.session import Session
from nbcontext.settings import Settings
from nbcontext.store import verify
from nbcontext.testing import AnthropicServer, Scripted, ScriptedServer

CONTEXT = assets.loop().context
URL = "data:image/png;base64," + base64.b64encode(png(4, 3)).decode()
SIZE = f"PNG image, 4x3, {len(png(4, 3))} B."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "p.png").write_bytes(png(4, 3))
    return tmp_path


def test_the_message_has_the_image_and_stays_so(folder: Path):
    play = Play(folder, [calls(("read", {"path": "p.png"})), says("a"), says("b")], vision=True, model="anthropic/x")
    session = play.new()
    session.ask("one")
    session.ask("two")
    tool = play.model.requests[-1].messages[3]
    text = play.results(session)[0]
    assert text == f"[#0001 p.png sha {session.results['sha'][0]}]\n{SIZE}"
    assert tool["content"] == [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": URL}}]
    assert session.recall("#0001") == SIZE
    session.close()
    again = play.resume()
    assert again.request(3) == play.model.requests[2]
    assert not verify.verify(play.setup().settings.open_store()).faults


def test_after_a_move_to_a_provider_that_takes_none_the_text_alone_goes(folder: Path):
    play = Play(
        folder, [calls(("read", {"path": "p.png"})), says("a"), says("b"), says("c")], vision=True, model="anthropic/x"
    )
    session = play.new()
    session.ask("one")
    session.move("openai/y")
    session.ask("two")
    assert isinstance(play.model.requests[-1].messages[3]["content"], str)
    session.move("anthropic/x")
    session.ask("three")
    assert play.model.requests[-1].messages[3]["content"][1]["image_url"]["url"] == URL
    assert session.request(3) == play.model.requests[2]


@pytest.mark.parametrize(("vision", "model"), [(False, "anthropic/x"), (True, "openai/y")])
def test_elsewhere_it_is_an_error_with_size_and_kind(folder: Path, vision: bool, model: str):
    play = Play(folder, [calls(("read", {"path": "p.png"})), says("a")], vision=vision, model=model)
    session = play.new()
    session.ask("one")
    assert f"p.png is binary (PNG image, {len(png(4, 3))} bytes)" in play.results(session)[0]
    assert list(session.results["kind"]) == ["error"]


def test_a_large_one_says_so_and_is_answered_in_full_each_time(folder: Path):
    (folder / "root" / "big.png").write_bytes(png(8001, 1))
    script = [calls(*[("read", {"path": name}) for name in ("big.png", "p.png", "p.png")]), says("a")]
    play = Play(folder, script, vision=True, model="anthropic/x")
    session = play.new()
    session.ask("one")
    assert "It is not shown" in play.results(session)[0]
    assert list(session.results["kind"]) == ["full", "full", "full"]
    contents = [message["content"] for message in play.model.requests[-1].messages if message["role"] == "tool"]
    assert [type(content) for content in contents] == [str, list, list]


def test_text_that_begins_like_an_image_is_text(folder: Path):
    (folder / "root" / "t").write_text("GIF89a is a format\n")
    play = Play(folder, [calls(("read", {"path": "t"})), says("a")], vision=True, model="anthropic/x")
    session = play.new()
    session.ask("one")
    assert play.results(session)[0].endswith("1: GIF89a is a format")


@pytest.mark.parametrize(
    ("data", "size"),
    [
        (b"GIF89a\x05\0\x04\0", "GIF image, 5x4, 10 B."),
        (b"RIFF\0\0\0\0WEBPVP8X\0\0\0\0\0\0\0\0\x06\0\0\x07\0\0", "WebP image, 7x8, 30 B."),
        (b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f\x06\xc0\x01\0" + bytes(5), "WebP image, 7x8, 30 B."),
        (b"\xff\xd8\xff\xe0\0\x04\0\0\xff\xc0\0\x11\x08\0\x09\0\x0a" + bytes(4), "JPEG image, 10x9, 21 B."),
        (b"\x89PNG\r\n\x1a\n", "PNG image, 8 B."),
    ],
)
def test_the_header_tells_kind_and_size(data: bytes, size: str):
    found = picture(data)
    assert found is not None
    assert found.described(CONTEXT) == size


def test_on_the_wire(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-key")
    script = [Scripted(calls=(Call(id="c1", name="read", arguments='{"path": "p.png"}'),)), Scripted(text="ok")]
    for kind, model, is_sent in (
        (AnthropicServer, "anthropic/claude-sonnet-4-5-20250929", True),
        (ScriptedServer, "openai/gpt-4o", False),
    ):
        with kind(script) as server:
            setup = Setup(settings=Settings(home=folder / model.replace("/", "-")))
            session = Session.new(
                "s", model=model, api_base=server.api_base, root=folder / "root", mode="auto", setup=setup
            )
            session.ask("look")
            session.ask("again")
            sent = json.dumps(server.requests[-1])
            assert (base64.b64encode(png(4, 3)).decode() in sent) is is_sent
            assert not server.violations
            if is_sent:
                block = server.requests[1]["messages"][-1]["content"][0]
                assert [part["type"] for part in block["content"]] == ["text", "image"]
                assert block["cache_control"]
                assert all("cache_control" not in part for part in block["content"])
