"""A stand-in for the Hugging Face Hub on loopback, in a thread of the test.

It serves the requests of `huggingface_hub`, `datasets` and `evaluate`: create, preupload, large files, commits, tags,
trees, files with ranges. Repositories work as in git: a commit is a complete table of files, and never changes.
"""

import base64
import hashlib
import json
import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar
from urllib.parse import parse_qsl, unquote, urlsplit

import yaml

TOKEN = "hf_standInTokenThatNobodyMaySee"
LARGE = {".parquet", ".png", ".jpg"}
EMPTY = {".gitattributes": b"*.parquet filter=lfs diff=lfs merge=lfs -text\n"}

Files = dict[str, bytes]


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _git_sha1(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


@dataclass
class Repository:
    """Commits, oldest first, tags, and open pull requests: each its commit, with all files."""

    private: bool = False
    sdk: str | None = None
    commits: dict[str, Files] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    pulls: list[Files] = field(default_factory=list)

    def commit(self, files: Files) -> str:
        sha = hashlib.sha1(repr((len(self.commits), sorted(files.items()))).encode()).hexdigest()
        self.commits[sha] = files
        return sha

    @property
    def head(self) -> str:
        return list(self.commits)[-1]

    @property
    def files(self) -> Files:
        return self.commits[self.head]

    def at(self, revision: str) -> str | None:
        if pull := re.fullmatch(r"refs/pr/([0-9]+)", revision):
            return revision if 0 < int(pull[1]) <= len(self.pulls) else None
        found = self.head if revision in ("main", "HEAD") else self.tags.get(revision, revision)
        return found if found in self.commits else None

    def files_at(self, sha: str) -> Files:
        return self.pulls[int(sha.rpartition("/")[2]) - 1] if "/" in sha else self.commits[sha]


@dataclass
class Answer:
    """A response of the server."""

    body: Any = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


def _refuse(status: int, message: str, code: str = "") -> Answer:
    headers = {"X-Error-Message": message} | ({"X-Error-Code": code} if code else {})
    return Answer({"error": message}, status, headers)


class StandInHub:
    """The Hub. `gate` may inspect each request, and answer it, wait, or raise to drop the connection."""

    def __init__(self) -> None:
        self.repositories: dict[tuple[str, str], Repository] = {}
        self.large: dict[str, bytes] = {}
        self.requests: list[str] = []
        self.user: dict[str, Any] = {"name": "me", "orgs": [{"name": "acme"}]}
        self.gate: Callable[[str, str], Answer | None] = lambda method, path: None
        self._lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()

    def environment(self, home: Path, **more: str) -> dict[str, str]:
        """Return the environment for another process, with this Hub, its token, and separate caches in a folder."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith("HF_")}
        here = {"HF_ENDPOINT": self.url, "HF_TOKEN": TOKEN, "HF_HOME": str(home), "HF_HUB_DISABLE_XET": "1"}
        return kept | here | {"NO_PROXY": "*", "HF_HUB_DISABLE_TELEMETRY": "1"} | more

    def __getitem__(self, name: tuple[str, str]) -> Repository:
        """A repository by its kind ("dataset", "space", "model") and "org/name"."""
        return self.repositories[name]

    def make(self, kind: str, name: str, files: Files | None = None, **more: Any) -> Repository:
        made = self.repositories[kind, name] = Repository(**more)
        made.commit(EMPTY | (files or {}))
        return made

    @contextmanager
    def holding(self, pattern: str) -> Iterator[threading.Event]:
        """Make matching requests wait, so that a client can be killed meanwhile; the event is set when one arrives."""
        came, go = threading.Event(), threading.Event()

        def gate(method: str, path: str) -> None:
            if re.search(pattern, f"{method} {path}"):
                came.set()
                go.wait(60)
                raise ConnectionAbortedError

        before, self.gate = self.gate, gate
        try:
            yield came
        finally:
            self.gate = before
            go.set()

    # What is asked

    def answer(self, method: str, target: str, headers: Any, body: bytes) -> Answer:
        url = urlsplit(target)
        path = unquote(url.path)
        self.requests.append(f"{method} {path}")
        if early := self.gate(method, path):
            return early
        known = headers.get("Authorization") == f"Bearer {TOKEN}"
        if not known and (headers.get("Authorization") or path == "/api/whoami-v2"):
            return _refuse(401, "Invalid credentials in Authorization header")
        with self._lock:
            for pattern, route in self._routes.items():
                if found := re.fullmatch(pattern, path):
                    asked = {
                        "query": dict(parse_qsl(url.query)),
                        "body": body,
                        "known": known,
                        "ask": headers,
                    }
                    return route(self, *found.groups(), **asked)
        return _refuse(404, "Not here", "EntryNotFound")

    def _whoami(self, **_: Any) -> Answer:
        return Answer({"type": "user", "auth": {"accessToken": {"role": "write"}}} | self.user)

    def _yaml(self, **_: Any) -> Answer:
        return Answer({"errors": [], "warnings": []})

    def _create(self, *, body: bytes, **_: Any) -> Answer:
        asked = json.loads(body)
        kind, name = asked.get("type", "model"), f"{asked['organization']}/{asked['name']}"
        if (kind, name) in self.repositories:
            return _refuse(409, "You already created this repo")
        self.make(kind, name, private=asked.get("visibility") == "private", sdk=asked.get("sdk"))
        return Answer(
            {"url": f"{self.url}/{'' if kind == 'model' else kind + 's/'}{name}", "id": name, "name": name}
        )

    def _api(
        self, kind: str, name: str, op: str | None, revision: str | None, rest: str | None, **asked: Any
    ) -> Answer:
        found = self.repositories.get((kind, name))
        if found is None or (found.private and not asked["known"]):
            return _refuse(404, "Repository not found", "RepoNotFound")
        sha = found.at(revision or "main")
        if sha is None:
            return _refuse(404, "Invalid rev id", "RevisionNotFound")
        if op in (None, "revision"):
            return Answer(self._info(name, found, sha))
        if op == "refs":
            refs = [("branches", "main", "refs/heads/main", found.head)]
            refs += [("tags", tag, f"refs/tags/{tag}", at) for tag, at in found.tags.items()]
            tables: dict[str, list[Any]] = {"branches": [], "tags": [], "converts": []}
            for table, label, ref, at in refs:
                tables[table].append({"name": label, "ref": ref, "targetCommit": at})
            return Answer(tables)
        if op == "discussions":
            listed = [_discussion(kind, name, number) for number in range(1, len(found.pulls) + 1)]
            return Answer({"discussions": listed, "count": len(listed), "start": 0})
        files = found.files_at(sha)
        if op == "tree":
            return Answer(
                _tree(files, rest or "", asked["query"].get("recursive", "").lower() in ("true", "1"))
            )
        if op == "paths-info":
            wanted = _paths(asked["ask"], asked["body"])
            entries = {entry["path"]: entry for entry in _tree(files, "", True)}
            return Answer([entries[path] for path in wanted if path in entries])
        if op == "preupload":
            return Answer(
                {"files": [_mode(one["path"], files) for one in json.loads(asked["body"])["files"]]}
            )
        if op == "tag":
            tag = json.loads(asked["body"])["tag"]
            if tag in found.tags:
                return _refuse(409, "Tag already exists")
            found.tags[tag] = sha
            return Answer()
        return self._commit(found, asked["body"], name if asked["query"].get("create_pr") == "1" else "")

    def _commit(self, found: Repository, body: bytes, proposed_to: str) -> Answer:
        files = dict(found.files)
        for line in body.splitlines():
            item = json.loads(line)
            key, value = item["key"], item["value"]
            if key == "header" and value.get("parentCommit", found.head) != found.head:
                return _refuse(412, "A commit has happened since. Please refresh and try again.")
            read = str(value.get("path")).startswith(".eval_results/") or value.get("path") == "eval.yaml"
            if read and (problem := _wrong_yaml(value["path"], base64.b64decode(value["content"]))):
                return _refuse(400, problem)
            if key == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif key == "lfsFile":
                files[value["path"]] = self.large[value["oid"]]
            elif key == "deletedFile":
                del files[value["path"]]
        if proposed_to:
            found.pulls.append(files)
            pull = f"{self.url}/{proposed_to}/discussions/{len(found.pulls)}"
            oid = _git_sha1(repr(sorted(files)).encode())
            return Answer(
                {"commitUrl": f"{self.url}/x/y/commit/{oid}", "commitOid": oid, "pullRequestUrl": pull}
            )
        sha = found.commit(files)
        url = f"{self.url}/x/y/commit/{sha}"
        return Answer({"commitUrl": url, "commitOid": sha, "pullRequestUrl": None, "hookOutput": ""})

    def _info(self, name: str, found: Repository, sha: str) -> dict[str, Any]:
        when = "2026-01-01T00:00:00.000Z"
        files = [{"rfilename": file} for file in sorted(found.files_at(sha))]
        facts = {
            "_id": "0" * 24,
            "id": name,
            "author": name.split("/")[0],
            "sha": sha,
            "private": found.private,
        }
        facts |= {"gated": False, "disabled": False, "downloads": 0, "likes": 0, "tags": [], "sdk": found.sdk}
        return facts | {"lastModified": when, "createdAt": when, "siblings": files}

    def _resolve(
        self, kinds: str | None, name: str, revision: str, path: str, *, known: bool, ask: Any, **_: Any
    ) -> Answer:
        found = self.repositories.get(((kinds or "models/").removesuffix("s/"), name))
        if found is None or (found.private and not known):
            return _refuse(404, "Repository not found", "RepoNotFound")
        sha = found.at(revision)
        if sha is None:
            return _refuse(404, "Invalid rev id", "RevisionNotFound")
        data = found.files_at(sha).get(path)
        if data is None:
            return _refuse(404, "Entry not found", "EntryNotFound")
        etag = f'"{_sha256(data) if _large(path) else _git_sha1(data)}"'
        headers = {
            "ETag": etag,
            "X-Repo-Commit": _git_sha1(sha.encode()) if "/" in sha else sha,
            "Accept-Ranges": "bytes",
        }
        if _large(path):
            headers |= {"X-Linked-Etag": etag, "X-Linked-Size": str(len(data))}
        if part := re.match(r"bytes=(\d+)-(\d*)", ask.get("Range", "")):
            first, last = int(part[1]), min(int(part[2] or len(data) - 1), len(data) - 1)
            return Answer(
                data[first : last + 1], 206, headers | {"Content-Range": f"bytes {first}-{last}/{len(data)}"}
            )
        return Answer(data, 200, headers)

    def _batch(self, kinds: str | None, name: str, *, body: bytes, **_: Any) -> Answer:
        objects = []
        for one in json.loads(body)["objects"]:
            upload = {"href": f"{self.url}/_large/{one['oid']}", "header": {}}
            actions = {} if one["oid"] in self.large else {"actions": {"upload": upload}}
            objects.append({"oid": one["oid"], "size": one["size"], "authenticated": True} | actions)
        return Answer({"transfer": "basic", "objects": objects})

    def _put(self, oid: str, *, body: bytes, **_: Any) -> Answer:
        if _sha256(body) != oid:
            return _refuse(400, "Not the announced content")
        self.large[oid] = body
        return Answer()

    _ID = r"([^/]+/[^/]+)"
    _OPERATION = "revision|tree|paths-info|preupload|commit|refs|tag|discussions"
    _REVISION = "refs/pr/[0-9]+|[^/]+"
    _routes: ClassVar[dict[str, Callable[..., Answer]]] = {
        "/api/whoami-v2": _whoami,
        "/api/validate-yaml": _yaml,
        "/api/repos/create": _create,
        rf"/api/(model|dataset|space)s/{_ID}(?:/({_OPERATION})(?:/({_REVISION})(?:/(.*))?)?)?": _api,
        rf"/(datasets/|spaces/)?{_ID}/resolve/({_REVISION})/(.+)": _resolve,
        rf"/(datasets/|spaces/)?{_ID}\.git/info/lfs/objects/batch": _batch,
        "/_large/([0-9a-f]{64})": _put,
    }

    def _handler(hub):
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # or each answer waits 40 ms
            wbufsize = -1

            def _do(self) -> None:
                body = self._body()
                try:
                    answer = hub.answer(self.command, self.path, self.headers, body)
                except ConnectionAbortedError:
                    self.close_connection = True
                    return
                sent = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
                self.send_response(answer.status)
                for name, value in (answer.headers | {"Content-Length": str(len(sent))}).items():
                    self.send_header(name, value)
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(sent)

            do_GET = do_HEAD = do_POST = do_PUT = _do

            def _body(self) -> bytes:
                if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
                    return self.rfile.read(int(self.headers.get("Content-Length") or 0))
                parts = []
                while size := int(self.rfile.readline().split(b";")[0], 16):
                    parts.append(self.rfile.read(size))
                    self.rfile.readline()
                self.rfile.readline()
                return b"".join(parts)

            def log_message(self, *_: object) -> None:
                pass

            def handle(self) -> None:
                with suppress(OSError):  # the client may be killed
                    super().handle()

        return Handler


def _discussion(kind: str, name: str, number: int) -> dict[str, Any]:
    facts = {"num": number, "title": "results", "status": "open", "isPullRequest": True}
    repo = {"name": name, "type": kind}
    return facts | {"author": {"name": "me"}, "createdAt": "2026-01-01T00:00:00.000Z", "repo": repo}


def _wrong_yaml(path: str, content: bytes) -> str:
    """Say what the Hub would refuse in a file of results or in eval.yaml, by the Hub's documentation."""
    found = yaml.safe_load(content)
    if path == "eval.yaml":
        tasks = found.get("tasks")
        whole = {"name", "description", "evaluation_framework", "tasks"} <= found.keys()
        return "" if whole and tasks and all("id" in one for one in tasks) else "eval.yaml is not valid"
    known = {"dataset", "value", "date", "source", "notes", "verifyToken"}
    for one in found:
        if not one.keys() <= known or {"id", "task_id"} - one["dataset"].keys() or "value" not in one:
            return f"{path} is not valid"
    return ""


def _large(path: str) -> bool:
    return PurePosixPath(path).suffix in LARGE


def _tree(files: Files, under: str, deep: bool) -> list[dict[str, Any]]:
    folders = {str(folder) for path in files for folder in PurePosixPath(path).parents} - {"."}
    entries = [{"type": "directory", "path": path, "oid": "0" * 40, "size": 0} for path in sorted(folders)]
    for path, data in sorted(files.items()):
        entry = {"type": "file", "path": path, "size": len(data), "oid": _git_sha1(data)}
        if _large(path):
            entry["lfs"] = {"oid": _sha256(data), "size": len(data), "pointerSize": 130}
        entries.append(entry)
    start = f"{under.strip('/')}/" if under else ""
    return [
        e for e in entries if e["path"].startswith(start) and (deep or "/" not in e["path"][len(start) :])
    ]


def _paths(ask: Any, body: bytes) -> list[str]:
    if "json" in (ask.get("Content-Type") or ""):
        return list(json.loads(body)["paths"])
    return [value for key, value in parse_qsl(body.decode()) if key == "paths"]


def _mode(path: str, files: Files) -> dict[str, Any]:
    oid = None if path not in files else _sha256(files[path]) if _large(path) else _git_sha1(files[path])
    return {
        "path": path,
        "uploadMode": "lfs" if _large(path) else "regular",
        "shouldIgnore": False,
        "oid": oid,
    }
