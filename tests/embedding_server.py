"""An OpenAI-compatible endpoint for embeddings on this machine: it bills ten tokens a text, and fails if told."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class EmbeddingServer(ThreadingHTTPServer):
    """What was asked: (path, key, model, texts, idempotency key) of each call. After `calls_left`, it answers 402."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[tuple[str, str | None, str, list[str], str | None]] = []
        self.calls_left = 1_000_000

    @property
    def base_url(self) -> str:
        """The address to give to clients."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class _Handler(BaseHTTPRequestHandler):
    server: EmbeddingServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        texts = body["input"]
        key, name = self.headers.get("Authorization"), self.headers.get("Idempotency-Key")
        self.server.asked.append((self.path, key, body["model"], texts, name))
        self.server.calls_left -= 1
        rows = [{"index": i, "embedding": [float(len(t)), float(t[-1:] > "4")]} for i, t in enumerate(texts)]
        reply = {"data": rows[::-1], "usage": {"prompt_tokens": 10 * len(texts)}}
        if "break" in texts:
            reply["data"] = rows[:-1]
        out = json.dumps(reply).encode()
        self.send_response(402 if "pay" in texts or self.server.calls_left < 0 else 200)
        self.send_header("Content-Length", str(len(out)))
        self.end_headers()
        self.wfile.write(out)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def embedding_server() -> Iterator[EmbeddingServer]:
    """The server, until the block ends."""
    made = EmbeddingServer()
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield made
    finally:
        made.shutdown()
        thread.join()
        made.server_close()
