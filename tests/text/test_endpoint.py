"""Embeddings from an OpenAI-compatible endpoint on this machine."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from ratewise.errors import InputError
from ratewise.text.endpoint import EndpointEmbedder, endpoint_embedder
from ratewise.text.learner import Learner, vectors_of


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        texts, server = body["input"], self.server
        server.asked.append((self.path, self.headers.get("Authorization"), body["model"], texts))  # type: ignore[attr-defined]
        rows = [{"index": i, "embedding": [float(len(t)), 1.0]} for i, t in enumerate(texts)]
        reply = {"data": rows[::-1], "usage": {"prompt_tokens": 10 * len(texts)}}
        if "break" in texts:
            reply["data"] = rows[:-1]
        out = json.dumps(reply).encode()
        self.send_response(402 if "pay" in texts else 200)
        self.send_header("Content-Length", str(len(out)))
        self.end_headers()
        self.wfile.write(out)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    made = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    made.asked = []  # type: ignore[attr-defined]
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


@pytest.fixture
def learner(server: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch) -> Learner:
    monkeypatch.setenv("EMBED_KEY", "secret-1")
    base = f"http://127.0.0.1:{server.server_address[1]}/v1"
    return Learner("embeddings", "small", base, "EMBED_KEY", "0.5")


def test_vectors_come_in_the_order_of_the_texts_and_are_billed(learner: Learner, server: ThreadingHTTPServer) -> None:
    embed = endpoint_embedder(learner)
    assert isinstance(embed, EndpointEmbedder)
    np.testing.assert_array_equal(embed(["aaa", "", "bb"])[:, 0], [3, 1, 2])
    path, key, model, texts = server.asked[0]  # type: ignore[attr-defined]
    assert (path, key, model, texts[1]) == ("/v1/embeddings", "Bearer secret-1", "small", " ")
    assert float(embed.bill.cost("0.5")) == pytest.approx(30 * 0.5e-6)


def test_each_text_is_paid_for_once(learner: Learner, server: ThreadingHTTPServer, tmp_path: Path) -> None:
    for _ in range(2):
        vectors_of(["a", "bb", "a"], learner, folder=tmp_path)
    assert [sorted(texts) for *_, texts in server.asked] == [["a", "bb"]]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "words"), [("break", "does not have 2 embeddings"), ("pay", "did not come: HTTP 402")]
)
def test_trouble_is_told_in_one_line(learner: Learner, text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        endpoint_embedder(learner)(["a", text])
