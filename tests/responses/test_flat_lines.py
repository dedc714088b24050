"""Large files of JSON lines are read by Arrow: as they are read line by line, or not at all."""

import json

import pytest

import halluscope
from halluscope.errors import BuildError, LimitExceeded
from halluscope.responses import flat_lines
from halluscope.responses.reading import read
from tests import small_datasets

ROWS = [{"question_id": 7, "text": "Yes."}, {"question_id": 8, "text": "No, a \u201cred\u201d bus."}]
USUAL = [json.dumps(row) for row in ROWS]

# Lines that Arrow reads, and others that it reads otherwise than Python does, or takes where Python does not
READ = {
    "usual": USUAL,
    "not escaped": [json.dumps(row, ensure_ascii=False) for row in ROWS],
    "keys in another order": [USUAL[0], '{"text": "No.", "question_id": 8}'],
    "a pair of surrogates": [USUAL[0], '{"question_id": 8, "text": "\\ud83d\\ude00 No."}'],
    "true and false": [
        '{"question_id": 7, "sure": true, "text": ""}',
        '{"question_id": 8, "sure": false, "text": "a"}',
    ],
    "carriage returns": [f"{line}\r" for line in USUAL],
}
OTHERS = {
    "a key is missing": [USUAL[0], '{"text": "No."}'],
    "null": [USUAL[0], '{"question_id": 8, "text": null}'],
    "a number with a point": [USUAL[0], '{"question_id": 8.0, "text": "No."}'],
    "a number of 30 digits": [USUAL[0], f'{{"question_id": {10**30}, "text": "No."}}'],
    "a date": ['{"question_id": 7, "text": "2024-01-02T00:00:00Z"}', '{"question_id": null, "text": "No."}'],
    "a key twice": [USUAL[0], '{"question_id": 8, "text": "No.", "text": "Yes."}'],
    "half a surrogate": [USUAL[0], '{"question_id": 8, "text": "\\udc00 No."}'],
    "an object": [USUAL[0], '{"question_id": 8, "text": {"content": "No."}}'],
    "a list of one": [USUAL[0], '{"question_id": 8, "text": ["No."]}'],
    "two objects on a line": [USUAL[0] + USUAL[1], "", USUAL[1]],
    "an empty line": [USUAL[0], "", USUAL[1]],
    "a control character": [USUAL[0], '{"question_id": 8, "text": "No\x01"}'],
    "NaN": [USUAL[0], '{"question_id": NaN, "text": "No."}'],
    "another kind": [USUAL[0], '{"question_id": "8", "text": "No."}'],
    "cut off": [USUAL[0], USUAL[1][:-9]],
    "no JSON at first": ["{'question_id': 7}", USUAL[1]],
    "no JSON": [USUAL[0], "{'question_id': 8}"],
    "very deep": [USUAL[0], '{"question_id": 8, "text": ' + "[" * 100_000 + "]}"],
    "capitals": ['{"Question ID": 7, "text": "Yes."}', '{"Question ID": 8, "text": "No."}'],
}


def outcome(file):
    """What is read from a file, or the message of the error."""
    try:
        (responses,) = read([file])
    except (BuildError, LimitExceeded, ValueError) as error:
        return str(error)
    return (
        responses.texts,
        responses.missing,
        responses.columns,
        responses.table.rows(),
        list(responses.table.where),
    )


def test_rows_of_a_large_file_keep_their_places(tmp_path, monkeypatch):
    """The second half is about the sampling that is scored, and its last id is none."""
    monkeypatch.setattr(flat_lines, "SMALLEST", 0)
    asked = [("1.jpg", "dog", "yes"), ("1.jpg", "cat", "no")]
    dataset = [small_datasets.pope_file(tmp_path / f"{name}.json", asked) for name in ("random", "popular")]
    lines = []
    for number, name in ((1, "random"), (2, "random"), (1, "popular"), (7, "popular")):
        lines.append({"question_id": number, "sampling": name, "response": "Yes"})
    small_datasets.write_lines(tmp_path / "r.jsonl", lines)
    with pytest.raises(ValueError, match="r.jsonl, line 4: question_id 7.* is not among the 2 rows"):
        halluscope.score("pope", tmp_path / "r.jsonl", dataset, sampling="popular", bootstrap=0)


@pytest.mark.parametrize("name", [*READ, *OTHERS])
def test_a_file_is_read_as_line_by_line(name, tmp_path, monkeypatch):
    lines = {**READ, **OTHERS}[name]
    file = tmp_path / "r.jsonl"
    file.write_bytes("\n".join(lines).encode())
    line_by_line = outcome(file)
    monkeypatch.setattr(flat_lines, "SMALLEST", 0)
    assert (flat_lines.read(file) is not None) == (name in READ or name == "capitals")
    assert outcome(file) == line_by_line
