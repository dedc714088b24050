"""A report's page as a file: foreign text affects only its own cell, and only the page's own script may run."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halluscope import sanitize
from halluscope.paths import PACKAGE
from halluscope.reporting.page.content import Page
from halluscope.reporting.page.packing import LONGEST, OUTCOMES
from halluscope.reporting.page.writing import parts, write
from halluscope.reporting.report_items import Fact, Item, Mark, Shown
from tests.reporting.pages import HOSTILE, page_of, small_page

PAGE = PACKAGE / "reporting" / "page"


class Elements(HTMLParser):
    """An HTML parser: elements with their attributes' names, and the text that they begin with."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, ...]] = []
        self.held: list[tuple[dict[str, str | None], str]] = []
        self.at: int | None = None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, *(name for name, _ in attrs)))
        self.held.append((dict(attrs), ""))
        self.at = len(self.held) - 1

    def handle_endtag(self, tag):
        self.tags.append((f"/{tag}",))
        self.at = None

    def handle_comment(self, data):
        self.tags.append(("comment",))

    def handle_data(self, data):
        if self.at is not None:
            attributes, text = self.held[self.at]
            self.held[self.at] = attributes, text + data

    def named(self, id_: str) -> str:
        """Return the content of the element with an id."""
        return next(text for attributes, text in self.held if attributes.get("id") == id_)

    def starts(self, tag: str) -> list[tuple[dict[str, str | None], str]]:
        """Return the elements of a kind, with what they begin with."""
        starts = [one[0] for one in self.tags if not one[0].startswith("/") and one[0] != "comment"]
        return [held for name, held in zip(starts, self.held, strict=True) if name == tag]


def elements(page: Page) -> Elements:
    return Elements("".join(parts(page)))


def index(page: Page) -> dict:
    return json.loads(elements(page).named("index"))


def shape(value):
    """JSON without its texts."""
    if isinstance(value, dict):
        return {name: shape(one) for name, one in value.items()}
    return [shape(one) for one in value] if isinstance(value, list) else type(value)


def in_texts(value) -> str:
    return "".join(piece if isinstance(piece, str) else piece[0] for piece in value)


HARMLESS = elements(page_of("harmless text"))


def check(text: str) -> None:
    """The text is in its cells, and the rest of the page is as with harmless text."""
    found = elements(page_of(text))
    assert found.tags == HARMLESS.tags
    shown = sanitize.printable(text)
    assert found.starts("title")[0][1] == found.starts("h1")[0][1] == shown
    assert shape(json.loads(found.named("index"))) == shape(json.loads(HARMLESS.named("index")))
    (question, (said, _)), *_ = rows = json.loads(found.named("rows-0"))
    assert question == shown and in_texts(said[0]) == shown and len(rows) == 2
    rest = f" ... ({len(text):,} characters)" if len(shown) > LONGEST else ""
    assert said[1][0][0] == shown[:LONGEST] + rest


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text)[:20])
def test_hostile_text_changes_nothing_but_its_own_cell(text):
    check(text)


@settings(max_examples=30)
@given(st.text(st.characters(), min_size=2).filter(str.strip))
def test_no_text_changes_anything_but_its_own_cell(text):
    if text not in ("b", "harmless"):  # names that stand on the page already
        check(text)


def test_only_the_pages_own_script_and_style_run():
    found = elements(page_of(HOSTILE[1]))
    policy = next(held["content"] for held, _ in found.held if held.get("http-equiv"))
    ((_, style),), scripts = found.starts("style"), found.starts("script")
    (script,) = [text for attributes, text in scripts if attributes.get("type") != "application/json"]
    digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (style, script)]
    assert policy == (
        f"default-src 'none'; img-src data:; style-src 'sha256-{digests[0]}'; script-src 'sha256-{digests[1]}'; "
        "base-uri 'none'; form-action 'none'"
    )
    attributes = {name for tag in found.tags for name in tag[1:]}
    assert not {name for name in attributes if name == "style" or name.startswith("on")}
    assert all(held["src"].startswith("data:") for held, _ in found.held if "src" in held)
    assert all(held["href"].startswith("#") for held, _ in found.held if "href" in held)


@pytest.mark.parametrize("file", [PAGE / "page.js", PACKAGE / "studies" / "page.js"])
def test_no_script_makes_html_of_text(file):
    script = file.read_text(encoding="utf-8")
    makes = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|eval\(|Function\("
    assert not re.search(makes, script)
    assert not re.search(r"\b(fetch|XMLHttpRequest|WebSocket|sendBeacon|EventSource|import)\b", script)


def test_access_keys_are_blacked_out_even_where_a_mark_divides_them(monkeypatch):
    """A text that holds a key loses its marks, because their places would be wrong."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef")
    text = "My key is sk-0123456789abcdef, and a dog."
    item = Item("1", text, question=text, marks=[Mark(10, 15, "bad", "says"), Mark(37, 40, "good", "dog")])
    run = Shown("sk-0123456789abcdef", {}, [item, Item("2", "a dog", marks=[Mark(2, 5, "good", "dog")])])
    whole = "".join(parts(Page("sk-0123456789abcdef", "", [], [], [], [run], facts={"key": text})))
    assert "0123456789" not in whole and whole.count(sanitize.BLACKED) >= 5
    (_, (first,)), (_, (second,)) = json.loads(Elements(whole).named("rows-0"))
    assert first[0] == [f"My key is {sanitize.BLACKED}, and a dog."]
    assert second[0] == ["a ", ["dog", "good", "dog"]]


def test_what_items_are_found_by():
    """Item 0: the first model invents a dog, and misses a bench; the second says nothing. Item 44 is alone."""
    found = index(small_page())
    (errors, classes, places, disputed, badness, _), second = (signs[0] for signs in found["signs"])
    assert [found["errors"][error] for error in errors] == ["hallucinated", "missed"]
    outcomes = [(found["classes"][code // 4], OUTCOMES[code % 4]) for code in classes]
    assert outcomes == [("dog", "hallucinated"), ("bench", "missed")]
    assert [found["parts"][place] for place in places] == [["type", "even"]] and (disputed, badness) == (1, 0)
    assert [found["errors"][error] for error in second[0]] == ["empty"]
    assert found["ids"][44] == "item 44" and found["groups"][43:] == ["pair 21", ""]
    assert found["pictures"][:3] == [0, -1, 0] and found["credits"] == ["drawn, public domain"]


def shown(*runs):
    """Return a page of runs and nothing else."""
    return Page("", "", [], [], [], [Shown(str(number), {}, run) for number, run in enumerate(runs)])


def test_models_that_were_asked_about_different_items():
    page = shown([Item("a", "x"), Item("b", "y")], [Item("c", "z"), Item("b", "w")])
    found, rows = index(page), json.loads(elements(page).named("rows-0"))
    assert found["ids"] == ["a", "b", "c"]
    texts = [[said and said[0] for said in each] for _, each in rows]
    assert texts == [[["x"], None], [["y"], ["w"]], [None, ["z"]]]
    is_missing = [[signs is None for signs in of] for of in found["signs"]]
    assert is_missing == [[False, False, True], [True, False, False]]


def test_facts_that_are_the_same_for_all_models_stand_once():
    """The right answer belongs to the item; the reading belongs to the response, even if both readings are equal."""

    def run(*replies):
        facts = [[Fact("right", [("no", "plain")]), Fact("read", [(reply, "good")])] for reply in replies]
        return [Item(str(number), "x", facts=each) for number, each in enumerate(facts)]

    assert index(shown(run("yes", "no"), run("yes", "yes")))["common"] == ["right"]
    assert index(shown(run("yes")))["common"] == []


def test_a_page_is_written_as_a_whole_or_not_at_all(tmp_path):
    file = tmp_path / "page.html"
    write(Page("Nothing", "", [], [], [], []), file)
    assert "<h1>Nothing</h1>" in file.read_text(encoding="utf-8")
    file.write_text("before")
    with pytest.raises(TypeError):
        write(shown([Item("a", "x", facts=[Fact("f", [("v", b"good")])])]), file)  # type: ignore[list-item]
    assert [one.read_text() for one in tmp_path.iterdir()] == ["before"]
