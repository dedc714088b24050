"""An OpenAI-compatible server, scripted by a test, in a thread of the test."""

import contextlib
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = "sk-proj-0123456789abcdefSECRET"
"""An access key that no test may find anywhere."""


@dataclass
class Said:
    """What the server sends back; a body in bytes is sent unchanged.

    It waits `wait` seconds, or drops the connection, or announces `short` bytes more than it sends, or sends `drips`
    blanks first, ten a second, or sends the body `times` times, in chunks without a length if it is `chunked`.
    """

    body: bytes | dict
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    wait: float = 0.0
    drop: bool = False
    short: int = 0
    drips: int = 0
    times: int = 1
    chunked: bool = False
    phrase: str | None = None
    kind: str = "application/json"


def reply(text: object, reason: str | None = "stop", **more) -> Said:
    """A chat completion that says `text`."""
    choice = {"index": 0, "finish_reason": reason, "message": {"role": "assistant", "content": text}}
    return Said(
        {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}, **more
    )


def refuse(status: int, message: str, **more) -> Said:
    """Return an error in OpenAI's format."""
    return Said({"error": {"message": message, "type": "error", "param": None, "code": None}}, status, **more)


class ScriptedServer:
    """Answers each request by `script(prompt, number of times it came, body)`, and records the requests."""

    def __init__(self, script: Callable[[str, int, dict], Said]) -> None:
        self.script, self.bodies, self.most_at_once = script, [], 0
        self.authorized: set[str | None] = set()
        self.got: list[str] = []
        self._under_way, self._lock = 0, threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    @property
    def judge(self) -> str:
        """The server as a judge, by name."""
        return f"openai:judge@{self.url}"

    @property
    def prompts(self) -> list[str]:
        """The prompts that came, without the word that a judge asks first."""
        with self._lock:
            prompts = [body["messages"][0]["content"] for body in self.bodies]
        return [prompt for prompt in prompts if not prompt.startswith("Reply with one word")]

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()

    def _take(self, body: dict, authorization: str | None) -> Said:
        prompt = body["messages"][0]["content"]
        with self._lock:
            self.bodies.append(body)
            self.authorized.add(authorization)
            count = sum(one["messages"][0]["content"] == prompt for one in self.bodies)
            self._under_way += 1
            self.most_at_once = max(self.most_at_once, self._under_way)
        try:
            said = self.script(prompt, count, body)
            time.sleep(said.wait)
        finally:
            with self._lock:
                self._under_way -= 1
        return said

    def _handler(server):
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                said = server._take(body, self.headers["Authorization"])
                if said.drop:
                    self.close_connection = True
                    self.connection.close()
                    return
                sent = said.body if isinstance(said.body, bytes) else json.dumps(said.body).encode()
                self.send_response(said.status, said.phrase)
                self.send_header("Content-Type", said.kind)
                if said.chunked:
                    self.send_header("Transfer-Encoding", "chunked")
                    sent = b"%x\r\n%b\r\n" % (len(sent), sent)
                else:
                    length = said.times * len(sent) + said.short + said.drips
                    self.send_header("Content-Length", str(length))
                for name, value in said.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                for _ in range(said.drips):
                    self.wfile.write(b" ")
                    self.wfile.flush()
                    time.sleep(0.1)
                for _ in range(said.times):
                    self.wfile.write(sent)
                if said.chunked:
                    self.wfile.write(b"0\r\n\r\n")
                self.close_connection = bool(said.short)

            def do_GET(self) -> None:
                """As a redirect may make it of a POST."""
                server.got.append(self.path)
                self.send_response(405)
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_HEAD = do_GET

            def log_message(self, *_: object) -> None:
                pass

            def handle(self) -> None:
                with contextlib.suppress(OSError):  # the client may go away
                    super().handle()

        return Handler
