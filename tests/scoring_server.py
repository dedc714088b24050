"""A loopback server with vLLM's or SGLang's scoring endpoint, by their documented schemas, which runs transformers.

It reads query and items as they do (text too), and computes label probabilities from the logits of the next token.
Neither vLLM nor SGLang was run; `halluscope.judging.label_scoring` lists the sources.
"""

import contextlib
import json
import math
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import torch

from halluscope.judging.models.steps import Steps

VLLM, SGLANG = "vllm", "sglang"
Reply = tuple[int, Any]


class Mind:
    """A model of transformers: log-probabilities of the next token after query + item.

    Args:
        model: of transformers.
        tokenizer: its tokenizer.
        bias: token id -> what is added to its logit, as a bias of the head would.

    Attributes:
        cache: what it keeps of the queries that it read, as a server with a prefix cache does.
        known: what it said about each query and item.
        read: the number of tokens it read.
    """

    def __init__(self, model: Any, tokenizer: Any, bias: dict[int, float] | None = None) -> None:
        self.model, self.tokenizer, self.bias = model, tokenizer, dict(bias or {})
        self.cache: dict[tuple[int, ...], Any] = {}
        self.known: dict[tuple[tuple[int, ...], tuple[int, ...]], torch.Tensor] = {}
        self.read = 0
        self._steps, self._lock = Steps(model), threading.Lock()

    def log_probabilities(self, query: list[int], items: list[list[int]]) -> list[torch.Tensor]:
        """Per item [vocabulary]."""
        with self._lock, torch.inference_mode():
            new = [item for item in items if (tuple(query), tuple(item)) not in self.known]
            for length in {len(item) for item in new}:
                block = [item for item in new if len(item) == length]
                logits, _ = self._steps.begin(torch.tensor(block), self._of(query))
                self.read += length * len(block)
                for token, more in self.bias.items():
                    logits[:, token] += more
                for item, one in zip(block, logits.double().log_softmax(-1), strict=True):
                    self.known[tuple(query), tuple(item)] = one
        return [self.known[tuple(query), tuple(item)] for item in items]

    def _of(self, query: list[int]) -> Any:
        if not query:
            return None
        if tuple(query) not in self.cache:
            self.read += len(query)
            self.cache[tuple(query)] = self._steps.begin(torch.tensor([query]))[1]
        return self.cache[tuple(query)]


class ScoringServer:
    """Answers POST requests, and keeps them.

    Args:
        mind: computes.
        kind: `VLLM` or `SGLANG`; anything else has no scoring endpoint.
        change: gets the path, the body and the honest (status, reply), and gives what is sent; a reply in bytes goes as
            it is.
        longest: how many tokens vLLM's prompts may have; longer ones lose their end.
        tokenizes: whether it has the endpoint /tokenize.
    """

    def __init__(
        self,
        mind: Mind,
        kind: str = VLLM,
        change: Callable[[str, dict[str, Any], Reply], Reply] = lambda path, body, said: said,
        longest: int = 8192,
        tokenizes: bool = True,
    ) -> None:
        self.mind, self.kind, self.change, self.longest = mind, kind, change, longest
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.keys: set[str | None] = set()
        self.most_at_once = 0
        self._now, self._lock = 0, threading.Lock()
        self.routes = {"/generative_scoring": self._vllm} if kind == VLLM else {}
        self.routes |= {"/v1/score": self._sglang} if kind == SGLANG else {}
        self.routes |= {"/tokenize": self._tokenize} if tokenizes else {}
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    @property
    def scored(self) -> list[dict[str, Any]]:
        """The bodies of requests for scores, without the one that looks whether the endpoint is there."""
        paths = ("/generative_scoring", "/v1/score")
        return [body for path, body in self.asked if path in paths and self._is_no_probe(body)]

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()

    def take(self, path: str, body: dict[str, Any]) -> Reply:
        with self._lock:
            self.asked.append((path, body))
            self._now += 1
            self.most_at_once = max(self.most_at_once, self._now)
        try:
            return self.change(path, body, self._honest(path, body))
        finally:
            with self._lock:
                self._now -= 1

    def _honest(self, path: str, body: dict[str, Any]) -> Reply:
        if path in self.routes:
            return self.routes[path](body)
        if path == "/v1/chat/completions":
            return self._chat(body)
        return 404, {"detail": "Not Found"}

    def _is_no_probe(self, body: dict[str, Any]) -> bool:
        return len(body["query"]) > 1

    def _ids(self, text: Any, special: bool) -> list[int]:
        return (
            text if isinstance(text, list) else self.mind.tokenizer.encode(text, add_special_tokens=special)
        )

    def _vllm(self, body: dict[str, Any]) -> Reply:
        labels, vocabulary = body["label_token_ids"], self.mind.model.config.vocab_size
        if not labels or not body["items"] or any(not 0 <= label < vocabulary for label in labels):
            return 400, {"error": {"message": "label_token_id is out of vocabulary range", "code": 400}}
        query = self._ids(body["query"], body.get("add_special_tokens", True))
        items = [self._ids(item, False) for item in body["items"]]
        if body.get("item_first", False):
            query, items = [], [item + query for item in items]
        items = [item[: self.longest - 1 - len(query)] for item in items]
        data = []
        for i, said in enumerate(self.mind.log_probabilities(query, items)):
            known = said[labels]
            share = known.softmax(0) if body.get("apply_softmax", True) else known.exp()
            data.append({"index": i, "object": "score", "score": float(share[0])})
        read = len(query) * len(items) + sum(map(len, items))
        usage = {"prompt_tokens": read, "total_tokens": read + len(items), "completion_tokens": len(items)}
        return 200, {
            "id": "generative-scoring-1", "object": "list", "created": 0, "model": "m", "data": data, "usage": usage,
        }  # fmt: skip

    def _sglang(self, body: dict[str, Any]) -> Reply:
        labels, vocabulary = body["label_token_ids"], self.mind.tokenizer.vocab_size
        if any(label >= vocabulary for label in labels):
            return 400, {"object": "error", "message": "Token ID is out of vocabulary", "code": 400}
        query, items = body["query"], body["items"]
        if isinstance(query, str):  # text is joined before it is read
            query, items = [], [self._ids(query + item, True) for item in items]
        scores = []
        for said in self.mind.log_probabilities(query, items):
            known = said[labels]
            if body.get("apply_softmax", False):
                scores.append(known.float().softmax(0).tolist())
            else:
                scores.append([math.exp(one) for one in known.tolist()])
        read = len(query) * len(items) + sum(map(len, items))
        usage = {"prompt_tokens": read, "total_tokens": read, "completion_tokens": 0}
        return 200, {"scores": scores, "model": body.get("model"), "usage": usage, "object": "scoring"}

    def _tokenize(self, body: dict[str, Any]) -> Reply:
        tokens = self._ids(body["prompt"], body.get("add_special_tokens", True))
        return 200, {"tokens": tokens, "count": len(tokens), "max_model_len": self.longest}

    def _chat(self, body: dict[str, Any]) -> Reply:
        """The likeliest first token of a reply, which is all that a voter reads here."""
        tokenizer = self.mind.tokenizer
        chat = tokenizer.apply_chat_template(body["messages"], tokenize=False, add_generation_prompt=True)
        ids = tokenizer.encode(chat, add_special_tokens=False)
        (said,) = self.mind.log_probabilities([], [ids])
        token = int(said.argmax())
        top = [
            {"token": tokenizer.decode([one]), "logprob": float(said[one]), "bytes": None}
            for one in said.topk(20).indices.tolist()
        ]
        content = [{"token": tokenizer.decode([token]), "logprob": float(said[token]), "top_logprobs": top}]
        choice = {
            "index": 0, "finish_reason": "stop", "logprobs": {"content": content},
            "message": {"role": "assistant", "content": tokenizer.decode([token])},
        }  # fmt: skip
        usage = {"prompt_tokens": len(ids), "total_tokens": len(ids) + 1, "completion_tokens": 1}
        return 200, {
            "id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice], "usage": usage,
        }  # fmt: skip


def _handler(server: ScoringServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            server.keys.add(self.headers["Authorization"])
            status, said = server.take(self.path, body)
            sent = said if isinstance(said, bytes) else json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, *_: object) -> None:
            pass

        def handle(self) -> None:
            with contextlib.suppress(OSError):  # the client may go away
                super().handle()

    return Handler
