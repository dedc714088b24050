"""Small report pages, and texts that could break one."""

from halluscope.judging.votes import SIGNS
from halluscope.reporting.page.content import Figure, Headline, Page, Picture
from halluscope.reporting.report_items import FOUND, HALLUCINATED, MISSED, Fact, Item, Mark, Shown
from halluscope.reporting.tables import Number, Table
from tests import images

HOSTILE = (
    "<script>document.title = 'broken'</script>",
    "</script><script>document.title = 'broken'</script>",
    "</style></title></textarea><h1>broken</h1>",
    "<!-- <script> <!--",
    "--> ]]> <![CDATA[",
    "<img src=x onerror=\"document.title = 'broken'\">",
    '" onfocus="document.title = \'broken\'" autofocus="',
    "' style='display: none' x='",
    "javascript:document.title='broken'",
    "{{ 7 * 7 }} {% raw %} ${7 * 7} {# x #}",
    "&lt;b&gt; &amp;#60; &#0; &bogus;",
    "line\u2028separator\u2029and\x85next",
    "\ud800 a lone surrogate \udfff",
    "\x00\x07\x1b[31mred\x1b]0;title\x07\r\x7f\x9b2J",
    "\u202eright to left\u2066\u200f",
    "=cmd|' /C calc'!A0\t+1\t-1\t@SUM(1)",
    r"\input{/etc/passwd} $\alpha$ % \end{tabular} & \\ ~^_#",
    "| **bold** | [link](javascript:alert(1)) ![](http://127.0.0.1:9/x) `code` |\n|---|\n# title",
    "__proto__",
    "x" * 1_000_000,
)
"""Scripts, ends of elements, comments, attributes, templates, entities, line ends, half characters, control characters,
formulas, LaTeX, Markdown, a name of JavaScript's, and a million characters."""


def page_of(text: str, models: int = 2) -> Page:
    """Return a page with the same text in every place, but in only one of the items."""
    items = [_item(text), _item("harmless")]
    return Page(
        **dict.fromkeys(("title", "about", "asked", "citation"), text),
        headlines=[Headline(*[text] * 5, [text, f"{model}{text}"], text) for model in range(models)],
        tables=[(Table(text, [text, text], [[text, Number(None, text=text, best=True)]]), text)],
        figures=[Figure(text, text, text, "<svg xmlns='http://www.w3.org/2000/svg'/>")],
        runs=[Shown(f"{model} {text}", {}, items, voters=[text, "b"]) for model in range(models)],
        pictures={text: Picture(images.file(images.noise(), "JPEG"), 23, 17, text)},
        facts={text: text},
    )


def _item(text: str) -> Item:
    return Item(
        **dict.fromkeys(("id", "text", "image", "question", "group"), text),
        marks=[Mark(0, len(text) // 2, "bad", text, text)],
        facts=[Fact(text, [(text, "good"), ("b", "bad")])],
        errors=[text],
        classes={text: HALLUCINATED, "b": MISSED},
        parts={text: text, "type": text},
        votes={text: SIGNS[1:3]},
        disputed=True,
        badness=1.0,
    )


WORDS = ("dog", "bench", "kite", "boat")


def small_page(items: int = 45) -> Page:
    """Return two models' runs over pairs of items; the last item has no partner.

    Of item n the first model names one class, rightly where n is odd, and misses another where 3 divides n; the second
    says nothing where 5 divides n, and else what the first says. Item n is the worse, the greater n is.
    """
    names, drawing = (
        ("Model one", "Model two"),
        "<style>rect{fill:teal}</style><rect width='40' height='20'/>",
    )
    svg = f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 40 20'>{drawing}</svg>"
    lines = ("right", "50.0 %", "40.0 to 60.0 %", "Half of it is right.", ["It is made up."])
    rows = [[names[0], Number(0.5, best=True)], [names[1], Number(0.5)]]
    said = ([_said(number, model) for number in range(items)] for model in (0, 1))
    return Page(
        title="A small page",
        about="What models say of small things.",
        headlines=[Headline(name, *lines, f"small|model:{name}") for name in names],
        tables=[(Table("Scores", ["model", "right"], rows), "In percent.")],
        figures=[Figure("one", "How many?", "A bar.", svg)],
        runs=[Shown(name, {}, each, voters=["one", "two"]) for name, each in zip(names, said, strict=True)],
        pictures={"even": Picture(images.file(images.noise(), "JPEG"), 23, 17, "drawn, public domain")},
        facts={"Data": "made up"},
        citation="@misc{small}",
    )


def _said(number: int, model: int) -> Item:
    word, missed = WORDS[number % 4], WORDS[(number + 1) % 4]
    text = "" if model and number % 5 == 0 else f"Here is a {word}, number {number}."
    wrong, misses = number % 2 == 0, number % 3 == 0
    outcome, kind = (HALLUCINATED, "bad") if wrong else (FOUND, "good")
    return Item(
        id=f"item {number}",
        text=text,
        image="even" if wrong else None,
        question=f"What is in picture {number}?",
        group=f"pair {number // 2}" if number < 44 else "",
        marks=[Mark(10, 10 + len(word), kind, f"{word}: {outcome}", word)] if text else [],
        facts=[Fact("missed", [(missed, "bad")])] if misses else [],
        errors=["hallucinated"] * wrong + ["missed"] * misses if text else ["empty"],
        classes=({word: outcome} if text else {}) | ({missed: MISSED} if misses else {}),
        parts={"type": "even" if wrong else "odd"},
        votes={word: "1?"} if number % 7 == 0 and text else {},
        disputed=number % 7 == 0,
        badness=float(number),
        unread=number % 11 == 0,
    )
