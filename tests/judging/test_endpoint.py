"""Graders behind an OpenAI-compatible endpoint: a real server for the wire, a scripted one for what goes wrong."""

import json
import logging
import pickle
import re
import socket
import subprocess
import sys
import time
import traceback
import warnings
import zlib
from hashlib import sha256

import numpy as np
import pytest

from halluscope import limits
from halluscope.errors import HalluscopeError, JudgeUnavailable, JudgingFailed
from halluscope.judging import ask as any_asking
from halluscope.judging import ask_votes as asking
from halluscope.judging.ask_replies import collect_verdicts
from halluscope.judging.cache import Cache
from halluscope.judging.endpoint import EndpointJudge, EndpointVoter
from halluscope.judging.models.engine import LocalChat
from halluscope.judging.prompts import PromptSpec, json_of, one_of
from halluscope.judging.questions import QuestionSet
from halluscope.judging.resolve import resolve_chat
from halluscope.judging.votes import NO, OTHER, YES
from halluscope.vocabularies import load
from tests.judging.test_verdicts import collect
from tests.scripted_server import SECRET, Said, ScriptedServer, refuse, reply

pytestmark = pytest.mark.usefixtures("access_key")
READ = one_of("correct", "incorrect", "unclear")


def judge_of(server: ScriptedServer, **options) -> EndpointJudge:
    return EndpointJudge(f"judge@{server.url}", **{"attempts": 3, "timeout": 5.0} | options)


def digest(server: ScriptedServer) -> str:
    return sha256(server.url.encode()).hexdigest()[:8]


def ask(judge, prompts) -> list[str | None]:
    """The replies in the order of the prompts, each given once."""
    got: dict[int, str | None] = {}
    for place, said in judge.replies(prompts):
        assert place not in got
        got[place] = said
    assert sorted(got) == list(range(len(prompts)))
    return [got[i] for i in range(len(prompts))]


# The wire.


def test_what_is_sent_and_what_comes_back(serve):
    server = serve(lambda prompt, count, body: reply(f"{prompt}!"))
    judge = judge_of(server, max_tokens=64)
    prompts = [f"prompt {i} כלב 🐕 \x00" for i in range(50)]
    assert ask(judge, prompts) == [f"{prompt}!" for prompt in prompts]
    assert sorted(server.prompts) == sorted(prompts)
    assert server.authorized == {f"Bearer {SECRET}"}
    for body in server.bodies:
        assert {name: body[name] for name in ("model", "temperature", "seed", "max_tokens")} == {
            "model": "judge",
            "temperature": 0,
            "seed": 0,
            "max_tokens": 64,
        }
    assert judge.key == f"openai:judge@{digest(server)}:temperature=0:max_tokens=64"
    assert not judge.failures


def test_it_works_inside_a_running_event_loop(serve):
    """As in a notebook."""
    import asyncio

    server = serve(lambda prompt, count, body: reply("correct"))

    async def cell():
        return ask(judge_of(server), ["a", "b"])

    assert asyncio.run(cell()) == ["correct", "correct"]


def test_a_reply_in_parts_is_their_text(serve):
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "incorrect?"}]}]
    parts += [{"type": "text", "text": "cor"}, {"type": "text", "text": "rect"}]
    assert ask(judge_of(serve(lambda prompt, count, body: reply(parts))), ["a"]) == ["correct"]


# What is tried again.


def test_retry_after_is_honoured(serve):
    came: dict[int, float] = {}

    def script(prompt, count, body):
        came[count] = time.monotonic()
        limited = prompt == "x" and count == 1
        return refuse(429, "slow down", headers={"Retry-After": "1"}) if limited else reply("correct")

    judge = judge_of(serve(script))
    assert ask(judge, ["x"]) == ["correct"]
    assert came[2] - came[1] >= 1.0
    assert not judge.failures


@pytest.mark.parametrize(
    "trouble",
    [
        refuse(500, "oops"),
        refuse(503, "overloaded"),
        refuse(429, "slow down"),
        Said(b"", drop=True),
        Said(b'{"id": "1", "choices": [{"ind', short=1000),
        reply("too late", wait=1.0),
        Said({"error": {"message": "Provider returned error", "code": 502}}),
    ],
    ids=["500", "503", "429", "dropped", "cut off behind its length", "time-out", "502 in a reply of 200"],
)
def test_a_passing_trouble_costs_no_reply(serve, trouble):
    server = serve(lambda prompt, count, body: trouble if prompt == "x" and count < 3 else reply("correct"))
    judge = judge_of(server, timeout=0.4)
    assert ask(judge, ["x", "y"]) == ["correct", "correct"]
    assert server.prompts.count("x") == 3


# What is a failure of one prompt: counted, and the others go on.


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (reply("corr", "length"), "finish_reason 'length'"),
        (reply("corr", "max_tokens"), "finish_reason 'max_tokens'"),
        (reply("correct", None), "finish_reason None, so whether the reply is whole is not known; "),
        (reply(None, "tool_calls"), "finish_reason 'tool_calls', the model called a tool instead; "),
        (reply("", "content_filter"), "finish_reason 'content_filter', the server's filter withheld it"),
        (reply("correct", "\x1b[2J\nstop"), "finish_reason '\\x1b[2J\\nstop'"),
        (Said(b"[" * 200_000 + b"]" * 200_000), "not JSON"),
        (reply("correct", headers={"Content-Encoding": "gzip"}), "compressed, but damaged"),
        (refuse(301, "moved", headers={"Location": "/v2"}), "HTTP 301, a redirect, which is not followed"),
        (Said({"choices": [{"finish_reason": "stop"}]}), "not the JSON of a chat completion"),
        (refuse(400, "context is too long"), "HTTP 400"),
        (Said(b"", drop=True), "no connection"),
        (Said({"error": {"message": "moderated", "code": 403}}), "HTTP 200 with the error 403"),
        (reply([{"type": "thinking", "thinking": "correct"}]), "an empty reply"),
    ],
)
def test_no_reply_is_none_and_counted(serve, said, reason):
    server = serve(lambda prompt, count, body: said if prompt == "x" else reply("correct"))
    judge = judge_of(server)
    assert ask(judge, ["a", "x", "b"]) == ["correct", None, "correct"]
    ((told, count),) = judge.failures.items()
    assert count == 1 and (told == reason or (reason.endswith(" ") and told.startswith(reason)))


@pytest.mark.parametrize("end", ["eos_token", "end_turn", "stop_sequence", "STOP"])
def test_servers_have_other_words_for_a_whole_reply(serve, end):
    judge = judge_of(serve(lambda prompt, count, body: reply("correct", end)))
    assert ask(judge, ["x"]) == ["correct"]


@pytest.mark.long
def test_a_server_that_drips_is_given_up(serve):
    """No single read takes long, but the reply never ends."""
    server = serve(lambda prompt, count, body: reply("correct", drips=100 if prompt == "x" else 0))
    judge = judge_of(server, attempts=2, timeout=0.4)
    start = time.monotonic()
    assert ask(judge, ["a", "x"]) == ["correct", None]
    assert time.monotonic() - start < 5


# What is too large: refused at the limit, whatever is still to come.

MB = 2**20


def blanks(megabytes: int) -> bytes:
    """Return megabytes of blanks, packed."""
    packer = zlib.compressobj(1, wbits=31)
    return b"".join(packer.compress(b" " * MB) for _ in range(megabytes)) + packer.flush()


TOO_LARGE = "larger than the limit 'reply' of 8,388,608 bytes"
MEASURED = """
import resource, sys
from halluscope.judging.endpoint import EndpointJudge

judge = EndpointJudge(f"judge@{sys.argv[1]}", attempts=1, at_once=1)
list(judge.replies(["warm"]))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert list(judge.replies(["x", "y"])) == [(0, None), (1, "correct")]
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
print(*judge.failures)
"""


PACKED = {"Content-Encoding": "gzip"}
LARGE = [
    (TOO_LARGE, Said(b" " * MB, times=300, chunked=True)),
    (TOO_LARGE, Said(blanks(500), headers=PACKED)),
    ("HTTP 400", Said(blanks(500), status=400, headers=PACKED)),
]


@pytest.mark.parametrize(("reason", "said"), LARGE, ids=["in chunks", "packed", "a packed error"])
def test_a_large_reply_takes_no_more_than_the_limit(serve, reason, said):
    server = serve(lambda prompt, count, body: said if prompt == "x" else reply("correct"))
    command = [sys.executable, "-c", MEASURED, server.url]
    more, failures = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    assert int(more) < 60_000, "kB, of a limit of 8 MiB"
    assert failures.startswith(reason)


def test_the_limit_of_a_reply_is_raised_by_name(serve):
    server = serve(lambda prompt, count, body: reply("a" * 5000))
    with limits.given("reply=4K"):
        judge = judge_of(server)
        assert ask(judge, ["a"]) == [None]
        assert [*judge.failures] == [
            "larger than the limit 'reply' of 4,000 bytes (raise it by --limits reply=8000)"
        ]
    with limits.given("reply=8000"):
        assert ask(judge_of(server), ["a"]) == ["a" * 5000]


# Where a server points to.


@pytest.mark.parametrize("status", [301, 307])
@pytest.mark.parametrize("same_origin", [True, False])
def test_no_redirect_is_followed(serve, status, same_origin):
    other = serve(lambda prompt, count, body: reply("correct"))
    location = "/other" if same_origin else f"{other.url}/chat/completions?\x1b[2J"
    moved = refuse(status, "moved", headers={"Location": location})
    server = serve(lambda prompt, count, body: moved)
    shown = re.escape(location.replace("\x1b", "\\x1b"))
    with pytest.raises(
        JudgeUnavailable, match=rf"points to another address \(HTTP {status}\): '{shown}'.*name it"
    ):
        judge_of(server).replies(["a"])
    prompts = [f"p{i}" for i in range(100)]
    later = serve(lambda prompt, count, body: moved if prompt in prompts else reply("correct"))
    with pytest.raises(JudgeUnavailable, match="points to another address"):
        ask(judge_of(later), prompts)
    assert server.got == later.got == other.got == other.bodies == []
    assert len(server.bodies) == 1 and 1 < len(later.bodies) < 50


# What ends everything at once.


def test_a_server_that_is_down():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{held.getsockname()[1]}/v1"
    judge = EndpointJudge(f"judge@{url}", attempts=2)
    start = time.monotonic()
    with pytest.raises(
        JudgeUnavailable, match=r"cannot be reached: no connection, after at most 2 attempts.*Check the"
    ):
        judge.replies([f"{i}" for i in range(1129)])
    assert time.monotonic() - start < 10


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (Said(b"<html>It works!</html>", kind="text/html"), "not JSON. Check"),
        (
            Said({"error": "Unexpected endpoint"}),
            'not the JSON of a chat completion, \'{"error": "Unexpected endp',
        ),
        (Said([[]] * 3), "not the JSON of a chat completion, '[[], [], []]'"),
    ],
    ids=["a page", "an error with status 200", "something else"],
)
def test_an_address_without_a_model_is_told_at_once(serve, said, message):
    """A page, or an error in JSON, comes with status 200 where an address lacks its /v1, as LM Studio sends it."""
    server = serve(lambda prompt, count, body: said)
    with pytest.raises(JudgeUnavailable) as caught:
        ask(judge_of(server), [f"{i}" for i in range(100)])
    assert f"gives no reply from 'judge': {message}" in str(caught.value)
    assert "which usually ends in /v1" in str(caught.value)
    with pytest.raises(JudgeUnavailable):
        real_votes(EndpointVoter(f"judge@{server.url}"))
    assert len(server.bodies) == 2


def test_pages_in_the_middle_end_the_run(serve, tmp_path):
    """As from a gateway whose server has gone: one page is a missing reply, eight in a row are the end."""
    page = Said(b"<html>Be right back</html>", kind="text/html")
    gone = set(range(100, 300)) | {7}
    server = serve(lambda prompt, count, body: page if prompt in map(str, gone) else reply("correct"))
    store = Cache(tmp_path / "answers.sqlite")
    with pytest.raises(
        JudgeUnavailable, match=r"gives no reply from 'judge': not JSON\. Check the model's name"
    ):
        collect([f"{i}" for i in range(300)], judge_of(server, at_once=2), READ, cache=store)
    assert len(server.prompts) < 120
    assert store.count()[1] == 99


def every_word(key: str) -> list[Said]:
    """Everything that a server can send, with a key in it."""
    completion = reply("correct").body
    return [
        refuse(400, f"bad request from {key}"),
        refuse(500, key, phrase=f"no {key}", headers={"X-Key": key}),
        Said(json.dumps({"detail": [{"key": f"a/{key}"}]}).replace("/", "\\/").encode(), 422),
        Said(f"<b>{key}</b>".encode(), 404, phrase=key, kind=f"text/{key}"),
        Said(key.encode()),
        refuse(307, key, headers={"Location": f"http://127.0.0.1:1/{key}"}),
        refuse(302, key, headers={"Location": key}),
        reply("correct", key),
        reply("correct", f"{'x' * 35}{key}"),
        reply(key, headers={"Set-Cookie": f"key={key}"}),
        reply(f"{'x' * 110} {key}"),
        reply("correct", headers={"Content-Encoding": key}),
        Said(completion | {"choices": [{"finish_reason": [key], "message": {"content": key}}]}),
        Said(completion | {"choices": [{"finish_reason": key * 20, "message": {"content": key}}]}),
        Said(completion | {"choices": {key: key}, key: key}),
    ]


@pytest.mark.parametrize("key", [SECRET, "hunter2", "k/+7=="])
@pytest.mark.parametrize("place", range(15))
@pytest.mark.filterwarnings("ignore")
def test_a_key_that_a_server_repeats_is_shown_nowhere(
    serve, monkeypatch, caplog, capfd, tmp_path, key, place
):
    """It is in no message, chained exception, warning, log, counted reason or judge's key; a long one is not stored."""
    monkeypatch.setenv("OPENAI_API_KEY", f" {key}\n")
    caplog.set_level(logging.DEBUG)
    said = every_word(key)[place]
    store = Cache(tmp_path / "answers.sqlite")
    shown = ""
    for at_once in (True, False):  # to the test prompt too, or only to what comes later
        server = serve(
            lambda prompt, *_, at_once=at_once: said if at_once or prompt[0] == "p" else reply("correct")
        )
        judge = judge_of(server, attempts=1, structured=True)
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            for share in (0, 1):
                try:
                    prompts = [f"p{i}" for i in range(3)]
                    collect(prompts, judge, READ, cache=store, max_failed=share, progress=True)
                except HalluscopeError as error:
                    shown += "".join(traceback.format_exception(error)) + repr(error.__context__)
        assert server.authorized == {f"Bearer {key}"}
        shown += "".join(str(one.message) for one in warned) + caplog.text + "".join(capfd.readouterr())
        shown += judge.key + repr(vars(judge)) + repr(judge.failures) + str(pickle.dumps(judge))
    store.close()
    assert key not in shown and key[:20] not in shown and key not in json.dumps(shown)
    assert shown.count("[access key]") + shown.count("withheld") + shown.count("readable") > 0
    if len(key) > 8:
        assert all(key.encode() not in file.read_bytes() for file in tmp_path.iterdir())


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (401, r"refuses the access key .* OPENAI_API_KEY \(HTTP 401\)"),
        (402, r"has no credit for .* OPENAI_API_KEY \(HTTP 402, '.*Insufficient.*'\)\. Add credit"),
        (403, r"refuses the access key .* OPENAI_API_KEY \(HTTP 403\)"),
    ],
)
def test_a_key_that_is_revoked_in_between_ends_the_run(serve, status, message, tmp_path):
    def script(prompt, count, body):
        if not server.prompts or prompt == "first":
            return reply("unclear")
        return refuse(status, "Insufficient credits")

    server = serve(script)
    prompts = ["first", *(f"{i}" for i in range(100))]
    with pytest.raises(JudgeUnavailable, match=message):
        collect(prompts, judge_of(server, at_once=1), READ, cache=Cache(tmp_path / "answers.sqlite"))
    assert len(server.prompts) < 20


def test_a_prompt_that_a_filter_forbids_is_a_missing_reply(serve):
    """OpenRouter has the status 403 for it; the others are served."""
    flagged = refuse(403, "Your input was flagged")
    server = serve(lambda prompt, count, body: flagged if prompt in "369" else reply("correct"))
    judge = judge_of(server, at_once=1)
    replies = ask(judge, [f"{i}" for i in range(10)])
    assert [i for i, said in enumerate(replies) if said is None] == [3, 6, 9]
    assert dict(judge.failures) == {"HTTP 403": 3}


# Where the access key goes.


@pytest.fixture
def proxy(serve, monkeypatch):
    """A server that all requests to other machines come to."""
    started = serve(lambda prompt, count, body: reply("correct"))
    monkeypatch.setenv("HTTP_PROXY", started.url.removesuffix("/v1"))
    return started


ELSEWHERE = ["localhost.example", "127.0.0.1.", "0.0.0.0", "[::2]", "2130706433"]


@pytest.mark.parametrize("host", ELSEWHERE)
def test_no_key_goes_over_plain_http_to_another_machine(proxy, monkeypatch, host):
    """The request is sent without the key, as to a server that needs none."""
    judge = EndpointJudge(f"judge@http://{host}:8000/v1", attempts=1)
    assert ask(judge, ["a"]) == ["correct"]
    assert proxy.authorized == {None}
    for agreed in ("other.example", f"x{host}", f"{host}:80"):
        monkeypatch.setenv("HALLUSCOPE_KEY_TO", agreed)
        assert ask(judge, ["a"]) == ["correct"]
    assert proxy.authorized == {None}


@pytest.mark.parametrize(
    ("host", "agreed"),
    [("judge.example", "{0}"), ("[::2]", "a.example, {0}"), ("[::2]", "{0}:8000")],
)
def test_a_key_goes_where_the_user_says_so(proxy, monkeypatch, host, agreed):
    monkeypatch.setenv("HALLUSCOPE_KEY_TO", agreed.format(host))
    judge = EndpointJudge(f"judge@http://{host.upper()}:8000/v1", attempts=1)
    assert ask(judge, ["a"]) == ["correct"]
    assert proxy.authorized == {f"Bearer {SECRET}"}


def test_a_proxy_that_cannot_be_used(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "nonsense://proxy")
    with pytest.raises(JudgeUnavailable, match="proxy that the environment names cannot be used"):
        EndpointJudge("judge@http://judge.example/v1").replies(["a"])


@pytest.mark.parametrize("status", [401, 403])
def test_a_server_that_wants_the_key_that_it_did_not_get(proxy, status):
    proxy.script = lambda prompt, count, body: refuse(status, "who are you?")
    message = rf"requires an access key \(HTTP {status}\)\. It was not sent.*HALLUSCOPE_KEY_TO"
    with pytest.raises(JudgeUnavailable, match=message):
        EndpointJudge("judge@http://judge.example/v1").replies(["a"])


def test_this_machine_is_asked_directly(proxy, serve, monkeypatch):
    """A proxy would read the key."""
    monkeypatch.delenv("NO_PROXY")
    server = serve(lambda prompt, count, body: reply("correct"))
    for host in ("127.0.0.1", "localhost", "LOCALHOST"):
        judge = EndpointJudge(f"judge@{server.url.replace('127.0.0.1', host)}")
        assert ask(judge, ["a"]) == ["correct"]
    assert server.authorized == {f"Bearer {SECRET}"} and not proxy.bodies


# What the server does not take.


def picky(*refused: str, wording="Unsupported parameter: '{}' is not supported with this model.", status=400):
    """A server that refuses these settings."""

    def script(prompt, count, body):
        for name in refused:
            if name in body:
                return refuse(status, wording.format(name))
        return reply("correct")

    return script


@pytest.mark.filterwarnings("ignore:judge accepts no seed")
def test_settings_that_are_refused_are_left_out_and_the_key_says_so(serve):
    """The limit has a newer name, which is tried first."""
    server = serve(picky("max_tokens", "temperature", "seed", status=422))
    judge = judge_of(server, max_tokens=99)
    with pytest.warns(UserWarning, match="accepts no temperature(=0)? and is asked without"):
        assert ask(judge, ["a", "b"]) == ["correct", "correct"]
    assert judge.key == f"openai:judge@{digest(server)}:temperature=default:seed=refused:max_tokens=99"
    assert server.bodies[-1]["max_completion_tokens"] == 99
    assert len(server.bodies) == 3 + 1 + 2
    ask(judge, ["c"])
    assert len(server.bodies) == 3 + 1 + 3


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "Logprobs is not enabled for models/judge"),
        (403, "You may not request logprobs from this model."),
    ],
)
def test_logprobs_that_are_refused_in_other_words_are_left_out(serve, status, message):
    server = serve(lambda prompt, count, body: refuse(status, message) if "logprobs" in body else reply("No"))
    with pytest.warns(UserWarning, match="judge accepts no logprobs and is asked without it"):
        assert real_votes(EndpointVoter(f"judge@{server.url}")) == [NO] * 4


def test_a_server_that_loads_its_model_is_said_to_be_waited_for(serve, capsys, monkeypatch):
    monkeypatch.setattr(any_asking, "SILENT_S", 0.1)
    server = serve(lambda prompt, count, body: reply("correct", wait=0.5 if "ready" in prompt else 0.0))
    for progress, said in ((False, False), (True, True)):
        collect_verdicts([PromptSpec("Is it?", READ)], judge_of(server), progress=progress)
        assert ("no answer to a test prompt yet" in capsys.readouterr().err) == said


# Replies that are held to a schema.

SCHEMA = json_of(verdict={"type": "string", "enum": ["correct", "incorrect"]})


def test_a_grader_that_never_keeps_the_form_is_not_asked_everything(serve, tmp_path):
    """Of 300 prompts 50 are asked, and stored; nothing else is asked until the user allows all to fail."""
    server = serve(lambda prompt, count, body: reply(f"Well, {prompt}!"))
    prompts = [f"Is it {number}?" for number in range(300)]
    schema = json_of(verdict={"type": "string"}, reason={"type": "string"})
    asked = [PromptSpec(prompt, READ, schema) for prompt in prompts]
    message = (
        r"50 of 50 prompts have no readable verdict from .*: 0 without a reply, 50 with a reply that says something "
        r"else \('Well, Is it \d+\?!', .*\)\. .* replies in JSON with verdict and reason; or "
        r"ask the other 250 too, with 0.5 or more \(--max-failed"
    )
    for is_second in (False, True):
        with pytest.raises(JudgingFailed, match=message) as caught:
            collect_verdicts(asked, judge_of(server), cache=Cache(tmp_path / "answers.sqlite"))
        assert sorted(server.prompts) == sorted(prompts[:50])
        assert ("50 unreadable replies were kept from before" in str(caught.value)) == is_second
    with pytest.warns(UserWarning, match="300 of 300 prompts have no readable verdict"):
        collect_verdicts(asked, judge_of(server), cache=Cache(tmp_path / "answers.sqlite"), max_failed=1)
    assert sorted(server.prompts) == sorted(prompts)


def test_a_schema_is_sent_with_its_prompt_and_stands_in_the_key(serve):
    server = serve(lambda prompt, count, body: reply("correct"))
    judge = judge_of(server, structured=True)
    assert sorted(judge.replies(["a", "b"], [SCHEMA, None])) == [(0, "correct"), (1, "correct")]
    assert judge.key == f"openai:judge@{digest(server)}:temperature=0:max_tokens=256:json_schema"
    sent = {body["messages"][0]["content"]: body.get("response_format") for body in server.bodies}
    told = {"type": "json_schema", "json_schema": {"name": "verdict", "strict": True, "schema": SCHEMA}}
    assert sent["a"] == told and sent["b"] is None


def test_a_server_that_refuses_schemas_is_asked_without(serve, tmp_path):
    server = serve(picky("response_format", wording="body.{}: Extra inputs are not permitted"))
    store = Cache(tmp_path / "answers.sqlite")
    asked = [PromptSpec(f"{i}", READ, SCHEMA) for i in range(5)]
    for _ in range(2):
        judge = judge_of(server, structured=True)
        with pytest.warns(UserWarning, match="accepts no JSON schema of a reply and is asked without"):
            assert collect_verdicts(asked, judge, cache=store).verdicts == [["correct"] * 5]
        assert not judge.structured and "json_schema" not in judge.key
    assert len(server.prompts) == 5


# How a judge is named.


def test_names_and_keys(monkeypatch):
    """A key tells servers apart; it holds no address, and no path."""
    assert resolve_chat("openai:gpt").key == "openai:gpt:temperature=0:max_tokens=256:json_schema"
    cloudflare = resolve_chat("openai:@cf/meta/llama@http://h:8/v1/", temperature=None, max_tokens=9)
    assert re.fullmatch(
        r"openai:@cf/meta/llama@[0-9a-f]{8}:temperature=default:max_tokens=9:json_schema",
        cloudflare.key,
    )
    urls = ["http://host/v1", "https://host/v1", "http://host:8000/v1", "http://host/v2", "http://other/v1"]
    keys = {resolve_chat(f"openai:gpt@{url}").key for url in urls}
    assert len(keys | {resolve_chat("openai:gpt").key}) == 6
    assert not any("host" in key or "other" in key for key in keys)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://elsewhere/v1")
    assert resolve_chat("openai:gpt").key == resolve_chat("openai:gpt@http://elsewhere:80/v1/").key
    for model in ("org/model@revision", "org/model@v1.0", f"model@sha256:{'0' * 64}", "@cf/meta/llama-3.1"):
        assert resolve_chat(f"openai:{model}").model == model
    for path in ("/models/tiny", "~/models/tiny", "C:\\models\\tiny"):
        key = EndpointJudge(f"{path}@http://h/v1").key
        assert key.startswith("openai:tiny-") and "models" not in key


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("openai: @http://host/v1", "names no model"),
        ("openai:g\x07pt", "expected one line of printable characters"),
        ("openai:gpt@localhost:8000", "neither http:// nor https://; write 'openai:MODEL@"),
        ("openai:gpt@me:password@api.example.com/v1", "neither http:// nor https://"),
        ("openai:gpt@http://me:password@host/v1", "address cannot be used"),
        ("openai:gpt@http://host/v1?key=password", "address cannot be used"),
        ("openai:gpt@http://host:password/v1", "address cannot be used"),
        ("nobody", r"There is no judge 'nobody'.*expected 'openai:MODEL\[@URL\]', or a local model"),
        ("flan-t5", "There is no judge 'flan-t5' that reads free text"),
        (7, "7 is not a judge of free text"),
    ],
)
def test_names_that_are_none(name, message):
    with pytest.raises(JudgeUnavailable, match=message) as caught:
        resolve_chat(name)
    assert "password" not in str(caught.value)


def test_an_access_key_that_is_missing_or_none(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(JudgeUnavailable, match="OPENAI_API_KEY is not set"):
        resolve_chat("openai:gpt")
    resolve_chat("openai:gpt@http://h/v1")
    for bad in ("sk-\nInjected: header", "schlüssel"):
        monkeypatch.setenv("OPENAI_API_KEY", bad)
        with pytest.raises(
            JudgeUnavailable, match="OPENAI_API_KEY holds characters that no access key has"
        ) as caught:
            resolve_chat("openai:gpt")
        assert bad not in str(caught.value)


# A real server.


PROMPTS = [
    "Answer with one word, yes or no: is the sky blue?",
    "What is 1 + 1?",
    "Say hello to a 🐕 in two words.",
]
"""The last reply does not end within twelve tokens."""


@pytest.mark.long
def test_a_real_server_replies_as_the_same_model_does_here(real_server, smollm2_folder, tmp_path):
    local = LocalChat(str(smollm2_folder), max_tokens=12, device="cpu")
    here = ask(local, [*PROMPTS, PROMPTS[0]])
    assert here[0] == here[-1] and [said is None for said in here] == [False, False, True, False]
    assert ask(local, ["word " * 10_000]) == [None], "no room is left for a reply"
    assert "smollm2@" in local.key and str(smollm2_folder) not in local.key

    there = EndpointJudge(f"{smollm2_folder}@{real_server}", max_tokens=12)
    assert there.key.startswith("openai:smollm2-") and there.key.endswith("temperature=0:max_tokens=12")
    store = Cache(tmp_path / "answers.sqlite")
    with pytest.warns(UserWarning, match=r"1 without a reply \(finish_reason 'length': 1\)"):
        got = collect(PROMPTS, there, lambda said: said, cache=store, max_failed=0.5)
    assert got == [here[:-1]]
    assert list(store.replies(there.key, [(PROMPTS[0], 0, 0)]).values()) == [here[0]]


REAL = QuestionSet(
    "two",
    ("Answer yes or no: is there {a/an} {x}?", "Does the text say {x}?"),
    "{response}\n{question}",
)
"""SmolLM2 says yes or no to the first, and something else to the second."""


def real_votes(judge) -> list[int]:
    """A judge's codes: two questions about two classes of a text. The judge is left open."""
    questions = [question for about in REAL.about(load(["dog", "bus"])) for question in about]
    codes, pairs = np.full(4, -9), np.argwhere(np.ones((1, 4), dtype=bool))
    for batch in asking.checked_answers(judge, ["Yes. A person waits for the bus."], questions, pairs):
        codes[batch.rows] = batch.codes
    return codes.tolist()


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:2 of 4 replies")
def test_a_real_server_votes_as_the_same_model_does_here(real_server, smollm2_folder, smollm2):
    voter = EndpointVoter(f"{smollm2_folder}@{real_server}")
    codes = real_votes(voter)
    assert codes == real_votes(smollm2) and set(codes) == {YES, NO, OTHER}
    assert not voter.failures and "smollm2/" not in voter.key
