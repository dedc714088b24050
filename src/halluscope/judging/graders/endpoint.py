"""A grader: a model behind an OpenAI-compatible endpoint, such as OpenAI's, a gateway's, or your own."""

from collections.abc import Iterator, Sequence
from typing import Any

from halluscope.judging.chat_completions import FORMAT, ChatCompletions, OverChat, reply_of
from halluscope.judging.client import AT_ONCE, Client, Failure
from halluscope.judging.graders.chat import MAX_TOKENS, Schema
from halluscope.judging.server import KEY_VARIABLE, Server


class EndpointJudge(OverChat):
    """A model that is asked over HTTP, with each prompt as the only message of a chat.

    Args:
        model: its name on the server; "MODEL@http://host/v1" includes the address.
        base_url: the address; by default the environment's OPENAI_BASE_URL, else OpenAI's.
        key_variable: the environment variable that holds the access key. OPENAI_API_KEY may be unset for a server that
            needs no key. The key is sent to https:// addresses and to this machine, and over plain http:// to another
            machine only if the environment variable HALLUSCOPE_KEY_TO names the host.
        temperature: how freely a reply is drawn; None leaves it to the server.
        max_tokens: how many tokens a reply may have, including thinking.
        structured: hold replies to the JSON schema that goes with a prompt, if there is one (OpenAI's structured
            output).
        at_once: how many requests may be under way, or have a reply that the caller has not taken.
        attempts: how often a prompt is tried.
        timeout: seconds that the server may be silent in an attempt; all attempts of a prompt with their waits may
            take `attempts` times as long.
        leave_out: settings that the server is known to refuse, from `halluscope.judging.chat_completions.SETTINGS`.

    A temperature, a seed or a schema that the server refuses is left out, with a warning, and `key` records it.

    Raises:
        MissingExtra: without httpx2.
        JudgeUnavailable: if the model is missing, the address cannot be used, or the access key is not set.
    """

    def __init__(
        self,
        model: str,
        base_url: str | None = None,
        key_variable: str = KEY_VARIABLE,
        temperature: float | None = 0.0,
        max_tokens: int = MAX_TOKENS,
        structured: bool = False,
        at_once: int = AT_ONCE,
        attempts: int = 6,
        timeout: float = 60.0,
        leave_out: str | Sequence[str] = (),
    ) -> None:
        client = Client(Server.named(model, base_url, key_variable), at_once, attempts, timeout)
        self._chat = ChatCompletions(client, leave_out, temperature=temperature, max_tokens=max_tokens)
        self._structured, self.max_tokens = structured, max_tokens

    seeded = True

    @property
    def model(self) -> str:
        """The model's name on the server."""
        return self._chat.model

    @property
    def key(self) -> str:
        """The model, a digest of the address if it is not OpenAI's, and the settings sent with a prompt."""
        return f"{self._chat.key}{':json_schema' if self.structured else ''}"

    @property
    def structured(self) -> bool:
        """Whether replies are held to a schema; a server may refuse that."""
        return self._structured and FORMAT not in self._chat.refused

    def replies(
        self,
        prompts: Sequence[str],
        schemas: Sequence[Schema | None] | None = None,
        seeds: Sequence[int] | None = None,
    ) -> Iterator[tuple[int, str | None]]:
        """Send all prompts, many at once. The first call sends a test prompt first, to see what the server accepts."""
        every = len(prompts)
        asked = list(zip(prompts, schemas or [None] * every, seeds or [0] * every, strict=True))
        self._chat.settle(**self._own(next((schema for _, schema, _ in asked if schema), None)))
        return self._replies(asked)

    def body(self, prompt: str, schema: Schema | None = None, seed: int = 0) -> dict[str, Any]:
        """Return the request for one prompt, as JSON."""
        return self._chat.body(prompt, **self._own(schema, seed))

    def read(self, completion: Any) -> str | Failure:
        """Return the reply in a chat completion, even an empty one; a reply that was cut off is a `Failure`."""
        return reply_of(completion, empty=True)

    def _replies(self, asked: Sequence[tuple[str, Schema | None, int]]) -> Iterator[tuple[int, str | None]]:
        for place, reply in self._chat.each((self.body(*one) for one in asked), self.read):
            yield place, reply if isinstance(reply, str) else None

    def _own(self, schema: Schema | None, seed: int = 0) -> dict[str, Any]:
        """Return the settings for one request alone."""
        return {**(_held_to(schema) if schema and self.structured else {}), "seed": seed}


def _held_to(schema: Schema) -> dict[str, Any]:
    """Return the setting by which a server holds a reply to a schema."""
    return {
        FORMAT: {
            "type": "json_schema",
            "json_schema": {"name": "verdict", "strict": True, "schema": schema},
        }
    }
