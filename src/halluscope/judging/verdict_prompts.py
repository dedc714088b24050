"""Prompts that ask a judge for a verdict on a response, and what the judge's reply says.

That no verdict is copied from the response is seen to by `halluscope.judging.guard`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from halluscope.files.writing import json_text
from halluscope.judging import guard
from halluscope.judging.judge import Schema
from halluscope.judging.prompts import PromptSpec, Refusal, fill, json_object, json_of, key_of
from halluscope.sanitize import encodable, short_repr

TYPES: Mapping[str, type] = {"integer": int, "boolean": bool, "string": str, "array": list}
"""A type in a JSON schema -> Python's type."""

NO_OBJECT = Refusal("a reply must be one JSON object and nothing else")
NOT_AS_ASKED = Refusal("a reply must state its verdict as the prompt asks, once")


@dataclass(frozen=True)
class Verdict:
    """What a reply says of a response."""

    numbers: Mapping[str, float]  # criterion -> its value
    notes: Mapping[str, Any] = field(default_factory=dict)  # texts that explain them


# What a prompt says of a row, by its placeholders: texts, unless the prompt itself puts them into words
Fields = Mapping[str, Any]


def beside(module: str, name: str) -> str:
    """Return the text of a file in the folder `prompts` beside a module, which is given by its `__file__`."""
    return (Path(module).parent / "prompts" / name).read_text(encoding="utf-8")


class VerdictPrompt(ABC):
    """A prompt for a verdict on a response."""

    key: str  # its name in a signature

    @abstractmethod
    def ask(self, fields: Fields, response: str) -> PromptSpec[Verdict]:
        """Return the prompt about a response, with what reads the reply to it.

        Args:
            fields: what is put into the placeholders, except the response, which is put into `{answer}`.
            response: the response, without thoughts.
        """

    @abstractmethod
    def read_given(self, reply: str, response: str) -> Verdict | None:
        """Return the verdict of a reply that a user gives; nothing guards against copies of the response there."""

    @abstractmethod
    def refusal(self, reply: str, response: str = "") -> Refusal | None:
        """Say by which rule a reply cannot be read; None if it can."""


@dataclass(frozen=True)
class JsonPrompt(VerdictPrompt):
    """A prompt of this project's, whose reply is a JSON object.

    Each text stands in it as a JSON string, so that none can end its quotes. A reply is read only if it is exactly the
    requested object.
    """

    name: str  # with a number that goes up when the reader changes
    template: str
    reply: Mapping[str, Schema]  # part of the reply -> its JSON schema
    stated_in: tuple[str, ...]  # the parts that state the verdict; the others explain it
    verdict: Callable[[Mapping[str, Any]], Verdict]  # reads the parts of a reply that fits
    blank_ok: bool = True  # whether a text in the reply may be blank

    @property
    def key(self) -> str:  # type: ignore[override]
        return key_of(self.name, self.template)

    def ask(self, fields: Fields, response: str) -> PromptSpec[Verdict]:
        template = self.template
        code = ""
        if guard.may_be_a_reply(response, self.words):
            code = guard.code_for(response)
            template = guard.with_code(template, code)
        return PromptSpec(
            prompt=fill(template, str, **self.texts(fields, response)),
            read=partial(self._read_with, code, response),
            schema=self.schema(code),
            refusal=partial(self._refusal_with, code),
        )

    def _read_with(self, code: str, response: str, reply: str) -> Verdict | None:
        """Return the verdict of a reply that must carry this code; "" for none."""
        bare = guard.without_code(reply, code)
        if bare is None:
            return None
        return self.read(bare, response)

    def _refusal_with(self, code: str, reply: str) -> Refusal | None:
        """Say by which rule a reply that must carry this code ("" for none) cannot be read."""
        bare = guard.without_code(reply, code)
        if bare is None:
            return guard.NO_CODE
        return self.refusal(bare)

    def texts(self, fields: Fields, response: str) -> dict[str, str]:
        """Return what is put into the template, by its placeholders."""
        return _written(fields, response, json_text)

    def schema(self, code: str = "") -> Schema | None:
        """Return the JSON schema of a reply that carries a code, if there is one. It does not say which code it is.

        None if a judge is sent no schema.
        """
        parts: dict[str, Schema] = {}
        if code:
            parts[guard.CODE] = {"type": "string"}
        parts.update(self.reply)
        return json_of(**parts)

    @property
    def words(self) -> list[str]:
        """The words by which a reply states a verdict."""
        words = []
        for part in self.stated_in:
            words.append(part)
            for value in self.reply[part].get("enum", ()):
                if isinstance(value, str):
                    words.append(value)
        return words

    def read(self, reply: str, response: str = "") -> Verdict | None:
        """Return the verdict of a reply, wherever it comes from; None if it cannot be read."""
        parts = json_object(reply)
        if parts is None or self.refusal(reply) is not None:
            return None
        return self.verdict(parts)

    def read_given(self, reply: str, response: str) -> Verdict | None:
        return self.read(reply, response)

    def refusal(self, reply: str, response: str = "") -> Refusal | None:
        parts = json_object(reply)
        if parts is None:
            return NO_OBJECT
        if parts.keys() != self.reply.keys():
            expected = ", ".join(self.reply)
            got = short_repr(", ".join(parts), 80)
            return Refusal(f"a reply must have the parts {expected} and no others", f"it has {got}")
        for name, schema in self.reply.items():
            if not self._fits(parts[name], schema):
                return Refusal(f"{name} must be as the prompt asks", f"it is {short_repr(parts[name], 80)}")
        return None

    def _fits(self, value: Any, schema: Schema) -> bool:
        if type(value) is not TYPES[schema["type"]]:
            return False
        if "enum" in schema and value not in schema["enum"]:
            return False
        if isinstance(value, list):
            return all(self._fits(item, schema["items"]) for item in value)
        return self.blank_ok or bool(str(value).strip())


@dataclass(frozen=True)
class WordPrompt(VerdictPrompt):
    """The authors' own prompt, sent as their script sends it: texts as they are. The reply is in words."""

    name: str  # with a number that goes up when the reader changes
    template: str
    reader: Callable[[str, str], Verdict | None]  # takes a reply and the response
    refuser: Callable[[str, str], Refusal | None] = field(default=lambda reply, response: NOT_AS_ASKED)

    @property
    def key(self) -> str:  # type: ignore[override]
        return key_of(self.name, self.template)

    def ask(self, fields: Fields, response: str) -> PromptSpec[Verdict]:
        return PromptSpec(
            prompt=fill(self.template, str, **self.texts(fields, response)),
            read=lambda reply: self.reader(reply, response),
            refusal=lambda reply: self.refuser(reply, response),
        )

    def texts(self, fields: Fields, response: str) -> dict[str, str]:
        """Return what is put into the template, by its placeholders."""
        return _written(fields, response, encodable)

    def read_given(self, reply: str, response: str) -> Verdict | None:
        return self.reader(reply, "")

    def refusal(self, reply: str, response: str = "") -> Refusal | None:
        return self.refuser(reply, response)


@dataclass(frozen=True)
class PinnedPrompt(WordPrompt):
    """A prompt in the authors' words, read from the user's copy of their file: this package may not ship them.

    The words are needed to ask a judge, not to read its replies. So the key is made of their digest.
    """

    sha256: str = field(kw_only=True)  # of the text that is read from the file

    @property
    def key(self) -> str:  # type: ignore[override]
        return key_of(self.name, self.sha256)


def _written(fields: Fields, response: str, write: Callable[[str], str]) -> dict[str, str]:
    """Return the fields of a row and the response as `write` puts them into a template."""
    texts = {name: write(value) for name, value in fields.items()}
    texts["answer"] = write(response)
    return texts


def plain(texts: list[str]) -> list[str]:
    """Return texts of a reply as they can be written to any file."""
    return [encodable(text) for text in texts]
