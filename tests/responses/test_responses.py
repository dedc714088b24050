"""Responses: the text of a row, a model's files, and the matcher, function by function.

tests/test_door.py tests them together.
"""

import json
import random
import time
from dataclasses import dataclass, replace
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halluscope.options import MatchingOptions
from halluscope.reading.presence import ImageObjects
from halluscope.responses import parsers, thoughts
from halluscope.responses.identity import Identity
from halluscope.responses.matching import match
from halluscope.responses.reading import Reading, read

IMAGES = [ImageObjects(7, ["dog"], "000007.jpg"), ImageObjects(3, [], "000003.jpg"), ImageObjects(9, ["cat"])]
DESCRIBED = Identity(("image_id",), partial_ok=True)


def lines(path, *rows):
    path.write_text(
        "\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows), encoding="utf-8"
    )
    return path


def responses(source, dataset=(), parts=MappingProxyType({}), **options):
    (found,) = read([source], Reading((), dataset, parts, MatchingOptions(**options)))
    return found


def matched(source, identity=DESCRIBED, rows=IMAGES, **how):
    return match(responses(source, **how), rows, identity)


# Reading


def test_responses(tmp_path):
    path = lines(
        tmp_path / "llava.jsonl", {"image_id": "7", "caption": "A dog."}, "", {"image_id": 3, "caption": ""}
    )
    got = matched(path)
    assert (got.name, [row.image_id for row in got.rows], got.texts) == ("llava", [7, 3], ["A dog.", ""])
    assert (got.by, got.of, got.sampled) == ("image_id", 3, False)
    assert (got.left_out, got.other_prompts) == (0, 0)
    assert matched(path, limit=1).texts == ["A dog."]
    assert matched([{"image_id": "000007", "response": ""}]).rows == IMAGES[:1]
    with pytest.raises(ValueError, match="limit is 0; expected a whole number of responses of at least 1"):
        matched(path, limit=0)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"image_id": 7, "caption": ""}, '{"image_id": 1, "capt'], "line 2 is not JSON, or is cut off"),
        ([{"caption": "A dog."}], r"r\.jsonl holds 1 responses without an id, and the dataset has 3 rows"),
        ([{"image_id": 7, "caption": "a"}, {"caption": "b"}], "line 2 has no image_id"),
        ([{"image_id": 7, "response": 3}], "line 1: response is 3; expected the LVLM's text"),
        ([{"image_id": "x", "caption": "a"}], "line 1: image_id x is not among the 3 rows of the dataset"),
        ([{"image_id": 1.7, "caption": "a"}], "line 1: image_id is 1.7; expected a whole number or a name"),
        (
            [{"image_id": 7, "caption": "a"}, {"image_id": "07", "caption": "b"}],
            r"line 2: image_id 7 is already in .*r\.jsonl, line 1; expected one response per row. Remove one",
        ),
        (["7"], "line 1 is 7; expected an object"),
        ([], "r.jsonl holds no responses; expected one JSON object per line"),
    ],
)
def test_bad_responses(tmp_path, rows, message):
    with pytest.raises(ValueError, match=message):
        matched(lines(tmp_path / "r.jsonl", *rows))


# Names and parts


# Matching by ids


@dataclass(frozen=True)
class Asked:
    question_id: int
    sampling: str
    question: str
    image_id: int = 7
    file_name: str = ""


ASKED = [
    Asked(number, sampling, f"Is there a {sampling} {number}?")
    for sampling in ("random", "popular")
    for number in (1, 2)
]
ALL = Identity(("question_id",), {"sampling": ("random", "popular")})


def answer(asked, **more):
    row = {"question_id": asked.question_id, "sampling": asked.sampling}
    return row | {"response": f"About {asked.question}"} | more


def test_questions_are_answered_whole_and_scored_in_their_order():
    texts = [f"About {question.question}" for question in ASKED]
    got = matched([answer(question) for question in reversed(ASKED)], ALL, ASKED)
    assert (got.rows, got.texts, got.by) == (ASKED, texts, "question_id and sampling")
    some = [answer(question) for question in ASKED[1:]]
    with pytest.raises(
        ValueError,
        match=r"no response to 1 of the 4 rows of the dataset, such as question_id 1, sampling random\. Answer "
        r"them, or pass --partial \(partial=True\)",
    ):
        matched(some, ALL, ASKED)
    part = matched(some, replace(ALL, options=MatchingOptions(partial=True)), ASKED)
    assert (part.rows, part.texts, part.of) == (ASKED[1:], texts[1:], 4)


# Matching by order


# What a response says of its row


# Thoughts


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("A dog.", "A dog."),
        ("", ""),
        ("a < b and <thin> </thin>", "a < b and <thin> </thin>"),
        ("<THINK >a bus</THINK >A dog.", "A dog."),
        ("<seed:think>a bus</seed:think>A dog.", "A dog."),
        ("<|begin_of_thought|>a bus<|end_of_thought|>A dog.", "A dog."),
        ("◁think▷a bus◁/think▷A dog.", "A dog."),
        ("[THINK]a bus[/THINK]A dog.", "A dog."),
        ("<unused94>a bus<unused95>A dog.", "A dog."),
        ("A <think>bus</think>dog <think>or\ntwo</think>runs.", "A dog runs."),
        ("a bus</think>a cat</think>A dog.", "A dog."),
        ("<think>a <think>b</think>c</think>A dog.", "A dog."),
        ("<think>a bus</reasoning>A dog.", "A dog."),
        ("<think>a bus", ""),
        ("<think>a</think>A dog. <think>But", ""),
        ("a bus</think>A dog. [THINK]But", ""),
    ],
)
def test_without_thoughts(text, said):
    assert thoughts.without(text) == said
    removed = thoughts.take_out(["A cat.", text], "removed")
    assert (removed.texts, removed.thoughts) == (["A cat.", said], int(text != said))
    assert thoughts.take_out([text], "kept").texts == [text]


@given(st.lists(st.sampled_from(["<think>", "</think>", "[THINK]", "◁/think▷", "dog", "</reasoning>", " "])))
def test_no_mark_is_left(parts):
    said = thoughts.without("".join(parts))
    assert thoughts.without(said) == said and not {"<", "[", "◁"} & {*said}


# Characters


# Time


@pytest.mark.parametrize("mark", ["<think>", "</think>", "<think></think>", "<think ", "◁think▷"])
def test_thoughts_are_found_in_linear_time(mark):
    start = time.process_time()
    thoughts.without(mark * (200_000 // len(mark)))
    assert time.process_time() - start < 3


@pytest.mark.parametrize("name", parsers.PARSERS)
def test_parsers_take_linear_time(name):
    start = time.process_time()
    for unit in (" ", "no, ", "yes or no ", "there is no ", "(", '"a', "\n", ". ", "not visible "):
        parsers.PARSERS[name](unit * (200_000 // len(unit)) + "x")
    assert time.process_time() - start < 10


# Words, marks, and characters that Python and RE2 see otherwise
TRICKY = r"""yes|Yes|YES|no|No|NOT|nope|yeah|n't|isn't|isn\u2019t|neither|None|.|,|?|;|-| - |\u2013|'|\u2019|\n|\t
 |\0|\x0b|\x1c|\x85|\xa0|\u2028|\xe9|\u0130|ye\u017f|\u212a|there is|There is a|there is no|There isn't a|I see a
I can't see|the image|does not show|is visible|not visible|it is|cannot be seen|no doubt|maybe|whether|not sure|a dog
yes or no|no-one|yes-man|know|eyes|1,000|_|**|(|]|<|y,es|n.o|y.e.s|.....................................|any image"""

# Marks of an answer
MARKED = r"""**No**|__yes__|`no`|<b>|</b>|<answer>|</answer>|\\boxed{no}|{"answer": "yes"}|["no"]|Answer:|The answer is
Final answer|# |> |~~|~~no~~|[yes]|response|</s>|\n\n|\nNo|Yes\n|no because|I'd say|well, no -|\u201cno\u201d
"no"|no)|no there"""


@pytest.mark.parametrize("name", parsers.PARSERS)
def test_a_column_of_responses_is_read_as_each_one_is(name):
    draw = random.Random(0)
    plain, marked = (
        parts.replace("\n", "|").encode().decode("unicode_escape").split("|") for parts in (TRICKY, MARKED)
    )
    texts = [
        draw.choice(["", " "]).join(draw.choices(parts, k=draw.choice([1, 2, 3, 5, 9])))
        for parts in (plain, plain + marked)
        for _ in range(parsers.MANY)
    ]
    each = [parsers.PARSERS[name](text) for text in texts]
    assert parsers.read(texts, name).tolist() == each
    assert parsers.read([*texts, "no\ud800"], name)[:-1].tolist() == each
