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
    runs = [
        Shown(f"{model} {text}", {}, [_item(text), _item("harmless")], voters=[text, "b"])
        for model in range(models)
    ]
    return Page(
        title=text,
        about=text,
        headlines=[
            Headline(text, text, text, text, text, [text, f"{model}{text}"], text) for model in range(models)
        ],
        tables=[(Table(text, [text, text], [[text, Number(None, text=text, best=True)]]), text)],
        figures=[Figure(text, text, text, "<svg xmlns='http://www.w3.org/2000/svg'/>")],
        runs=runs,
        pictures={text: Picture(images.file(images.noise(), "JPEG"), 23, 17, text)},
        asked=text,
        facts={text: text},
        citation=text,
    )


def _item(text: str) -> Item:
    return Item(
        id=text,
        text=text,
        image=text,
        question=text,
        group=text,
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
    first, second = ([_said(number, model) for number in range(items)] for model in (0, 1))
    names = ["Model one", "Model two"]
    return Page(
        title="A small page",
        about="What models say of small things.",
        headlines=[
            Headline(
                name,
                "right",
                "50.0 %",
                "40.0 to 60.0 %",
                "Half of it is right.",
                ["It is made up."],
                f"small|model:{name}",
            )
            for name in names
        ],
        tables=[
            (
                Table(
                    "Scores",
                    ["model", "right"],
                    [[name, Number(0.5, best=name == names[0])] for name in names],
                ),
                "In percent.",
            )
        ],
        figures=[
            Figure(
                "one",
                "How many?",
                "A bar.",
                "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 40 20'><style>rect{fill:teal}</style>"
                "<rect width='40' height='20'/></svg>",
            )
        ],
        runs=[
            Shown(name, {}, said, voters=["one", "two"])
            for name, said in zip(names, (first, second), strict=True)
        ],
        pictures={"even": Picture(images.file(images.noise(), "JPEG"), 23, 17, "drawn, public domain")},
        facts={"Data": "made up"},
        citation="@misc{small}",
    )


def _said(number: int, model: int) -> Item:
    word, missed = WORDS[number % 4], WORDS[(number + 1) % 4]
    text = "" if model and number % 5 == 0 else f"Here is a {word}, number {number}."
    outcome = FOUND if number % 2 else HALLUCINATED
    kind = "good" if number % 2 else "bad"
    errors = [*(["hallucinated"] if not number % 2 else []), *(["missed"] if not number % 3 else [])]
    return Item(
        id=f"item {number}",
        text=text,
        image="even" if number % 2 == 0 else None,
        question=f"What is in picture {number}?",
        group=f"pair {number // 2}" if number < 44 else "",
        marks=[Mark(10, 10 + len(word), kind, f"{word}: {outcome}", word)] if text else [],
        facts=[Fact("missed", [(missed, "bad")])] if not number % 3 else [],
        errors=errors if text else ["empty"],
        classes=({word: outcome} if text else {}) | ({missed: MISSED} if not number % 3 else {}),
        parts={"type": "even" if number % 2 == 0 else "odd"},
        votes={word: "1?"} if number % 7 == 0 and text else {},
        disputed=number % 7 == 0,
        badness=float(number),
    )
