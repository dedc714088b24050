"""What an LVLM said, in whatever file: reading it, and putting each response to its row."""

import gzip
import json
from dataclasses import dataclass

import pytest

from halluscope.reading.presence import ImageObjects
from halluscope.responses.files import TEXTS, read
from halluscope.responses.match import ORDER, Identity, match

IMAGES = [ImageObjects(7, ["dog"], "000007.jpg"), ImageObjects(3, [], "000003.jpg"), ImageObjects(9, ["cat"])]
DESCRIBED = Identity(("image_id",), chooses=True)


def lines(path, *rows):
    path.write_text(
        "\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows), encoding="utf-8"
    )
    return path


def matched(source, identity=DESCRIBED, rows=IMAGES, **options):
    return match(read(source, **options), rows, identity)


# Reading


def test_responses(tmp_path):
    path = lines(
        tmp_path / "llava.jsonl", {"image_id": "7", "caption": "A dog."}, "", {"image_id": 3, "response": ""}
    )
    got = matched(path)
    assert (got.name, [row.image_id for row in got.rows], got.texts) == ("llava", [7, 3], ["A dog.", ""])
    assert (got.by, got.of, got.sampled) == ("image_id", 3, False)
    assert matched(path, limit=1).texts == ["A dog."]
    assert matched([{"image_id": "000007", "response": ""}]).rows == IMAGES[:1]
    with pytest.raises(ValueError, match="The limit is 0; expected at least 1 response"):
        read(path, limit=0)


def test_every_form_of_file_reads_the_same(tmp_path):
    rows = [{"image_id": 7, "response": "A dog."}, {"image_id": 3, "response": "Snow."}]
    as_lines = lines(tmp_path / "llava.jsonl", *rows)
    (tmp_path / "llava.json").write_text(json.dumps(rows, indent=1))
    (tmp_path / "llava.jsonl.gz").write_bytes(gzip.compress(as_lines.read_bytes()))
    for source in (as_lines, tmp_path / "llava.json", tmp_path / "llava.jsonl.gz"):
        assert matched(source) == matched(str(source)) == matched(as_lines)
    assert matched(rows).texts == ["A dog.", "Snow."] and matched(rows).name == "responses"


@pytest.mark.parametrize("place", range(len(TEXTS)))
def test_the_text_is_the_first_of_one_list_of_columns(place):
    row = {"image_id": 7} | {name: name for name in reversed(TEXTS[place:])}
    assert matched([row]).texts == [TEXTS[place]]


def test_beside_a_label_text_is_the_question():
    row = {"image_id": 7, "text": "Is there a dog?", "label": "no", "caption": "Yes."}
    assert matched([row]).texts == ["Yes."]
    del row["caption"]
    with pytest.raises(
        ValueError, match=r"responses\[0\]: expected an object with the LVLM's text as response"
    ):
        matched([row])


def test_a_row_of_the_dataset_is_no_response():
    row = {"image_id": 7, "question": "Is there a dog?", "answer": "yes"}
    with pytest.raises(
        ValueError, match=r"responses\[0\] is a row of the dataset, whose 'answer' is the right"
    ):
        read([row], dataset={*row})
    assert read([row | {"response": "No."}], dataset={*row}).each[0].text == "No."
    assert read([row], dataset={*row, "object"}).each[0].text == "yes"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (['{"image_id": 1, "capt'], "line 1 is not JSON"),
        ([{"image_id": 7}], "line 1: expected an object with the LVLM's text as response, .*caption; got"),
        (
            [{"caption": "A dog."}],
            "r holds 1 responses without image_id, and the dataset 3 rows; .*image_id in",
        ),
        ([{"image_id": 7, "caption": "a"}, {"caption": "b"}], "line 2 has no image_id, but others have one"),
        ([{"image_id": 1, "caption": None}], "line 1: caption is None; expected the LVLM's text"),
        ([{"image_id": 7, "response": 3}], "line 1: response is 3; expected the LVLM's text"),
        ([{"image_id": "x", "caption": "a"}], "line 1: image_id x is not among the 3 rows of the dataset"),
        ([{"image_id": 1.7, "caption": "a"}], "line 1: image_id is 1.7; expected a whole number or a name"),
        ([{"image_id": True, "caption": "a"}], "line 1: image_id is True; expected a whole number or a name"),
        ([{"image_id": " ", "caption": "a"}], "line 1: image_id is ' '; expected a whole number or a name"),
        (['{"image_id": 1, "caption": "a", "caption": "b"}'], "'caption' stands there twice"),
        (
            [{"image_id": 7, "caption": "a"}, {"image_id": "07", "caption": "b"}],
            r"line 2: image_id 7 stands in .*r\.jsonl, line 1 already; expected one response per row. Remove one",
        ),
        ([[1, 2]], "entry 1: expected an object"),
        (["7"], "line 1: expected an object"),
        ([], "r.jsonl holds no response; expected one JSON object per line"),
    ],
)
def test_bad_responses(tmp_path, rows, message):
    with pytest.raises(ValueError, match=message):
        matched(lines(tmp_path / "r.jsonl", *rows))


def test_a_byte_order_mark_is_not_text(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps({"image_id": 7, "caption": "a"}).encode())
    assert matched(path).texts == ["a"]


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no file"):
        read(tmp_path / "r.jsonl")


# Matching


@dataclass(frozen=True)
class Asked:
    question_id: int
    sampling: str
    question: str
    image_id: int = 7


ASKED = [
    Asked(number, sampling, f"Is there a {sampling} {number}?")
    for sampling in ("random", "popular")
    for number in (1, 2)
]
ALL = Identity(("question_id",), ("sampling",))


def answer(asked, **more):
    row = {"question_id": asked.question_id, "sampling": asked.sampling}
    return row | {"response": f"About {asked.question}"} | more


def test_a_response_whose_image_has_no_labels(tmp_path):
    path = lines(tmp_path / "llava.jsonl", {"image_id": 8, "caption": "A dog."})
    with pytest.raises(
        ValueError, match=r"line 1: image_id 8 is not among the 3 rows .* the split, that was asked"
    ):
        matched(path)


def test_questions_are_answered_whole_and_scored_in_their_order():
    texts = [f"About {question.question}" for question in ASKED]
    got = matched([answer(question) for question in reversed(ASKED)], ALL, ASKED)
    assert (got.rows, got.texts, got.by) == (ASKED, texts, "question_id and sampling")
    with pytest.raises(
        ValueError,
        match=r"no response to 1 of the 4 rows of the dataset, such as question_id 1, sampling random\. Nothing is",
    ):
        matched([answer(question) for question in ASKED[1:]], ALL, ASKED)


def test_ids_that_do_not_tell_rows_apart():
    """A column that helps to find a row counts only where every response has it."""
    rows = [answer(question) for question in ASKED]
    del rows[3]["sampling"]
    with pytest.raises(
        ValueError, match="question_id 1 stands for more than one of the 4 rows of the dataset"
    ):
        matched(rows, ALL, ASKED)
    assert matched(rows[2:], ALL, ASKED[2:]).by == "question_id"


def test_rows_that_are_not_wanted_are_left_out_with_their_responses():
    popular = Identity(ALL.id, ALL.also, wanted=lambda row: row.sampling == "popular")
    got = matched([answer(question) for question in ASKED], popular, ASKED)
    assert (got.rows, got.of) == (ASKED[2:], 2)
    bare = [{"response": f"About {question.question}"} for question in ASKED]
    assert matched(bare, popular, ASKED).texts == matched(bare[2:], popular, ASKED).texts == got.texts
    nothing = Identity(ALL.id, ALL.also, wanted=lambda row: False)
    with pytest.raises(ValueError, match="No row of the 4 is left to be scored: the options choose none of"):
        matched(bare, nothing, ASKED)


def test_without_ids_the_order_counts():
    bare = [{"response": str(number), "question": question.question} for number, question in enumerate(ASKED)]
    got = matched(bare, ALL, ASKED)
    assert (got.by, got.rows, got.texts) == (ORDER, ASKED, ["0", "1", "2", "3"])
    with pytest.raises(
        ValueError, match="responses holds 3 responses without question_id, and the dataset 4 rows"
    ):
        matched(bare[:3], ALL, ASKED)
    with pytest.raises(
        ValueError, match=r"responses\[0\]: matched by order, its place has the question .*order\?"
    ):
        matched(bare[::-1], ALL, ASKED)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            {"question": "Is there a cow?"},
            "has the question 'Is there a cow.', but in the dataset 'Is there a random",
        ),
        ({"image_id": 8}, "has the image_id 8, but in the dataset 7"),
    ],
)
def test_what_a_response_says_of_its_row_must_be_so(more, message):
    said = [answer(ASKED[0], **more), *map(answer, ASKED[1:])]
    with pytest.raises(
        ValueError, match=rf"responses\[0\]: question_id 1, sampling random {message}.*another file"
    ):
        matched(said, ALL, ASKED)
    spaced = answer(ASKED[0], question=" Is there a  random 1?\n", image_id="007")
    assert matched([spaced, *said[1:]], ALL, ASKED).rows == ASKED


def test_another_image_file_is_another_image():
    with pytest.raises(
        ValueError, match="image_id 7 has the file_name 'x.jpg', but in the dataset '000007.jpg'"
    ):
        matched([{"image_id": 7, "file_name": "x.jpg", "response": ""}])
    rows = [{"image_id": 7, "file_name": "000007.jpg", "response": ""}, {"image_id": 9, "file_name": "x.jpg"}]
    assert matched([rows[0], rows[1] | {"response": ""}]).by == "image_id"
