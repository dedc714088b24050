"""Forms of response files that other projects write: matched to the dataset by what they say, or refused."""

import csv
import gzip
import json
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from datasets import load_dataset

import halluscope
import halluscope.inspection.inspecting
from tests import small_datasets

pytestmark = pytest.mark.filterwarnings("ignore:.*(another version|matched by|neither question nor image)")


def other(label):
    return "no" if label == "yes" else "yes"


def scored(responses, dataset, name="pope", **options):
    return halluscope.score(name, responses, dataset, **{"bootstrap": 0} | options)


def lines(file, rows, end="\n"):
    file.write_text("\n".join(map(json.dumps, rows)) + end)
    return file


# Images and addresses of images


def test_the_image_decides_where_ids_count_from_0(tmp_path):
    dataset = str(small_datasets.build("amber", tmp_path))
    by_id = scored([{"id": 1, "response": "A dog and a person."}], dataset, "amber")
    for image in ("AMBER_1.jpg", "../AMBER/image/AMBER_1.jpg"):
        rows = [{"id": 0, "image_path": image, "response": "A dog and a person."}]
        result = scored(lines(tmp_path / f"{len(image)}.jsonl", rows), dataset, "amber")
        assert (result["chair"], result["matched"]) == (by_id["chair"], "image")
    with pytest.raises(ValueError, match="id 0 is not among the"):
        scored([{"id": 0, "image_path": "AMBER_9.jpg", "response": "A dog."}], dataset, "amber")


@pytest.mark.parametrize("first", [None, 0, 1])
def test_questions_alone_in_the_datasets_order(first, upstream, tmp_path):
    """VLMEvalKit asks AMBER's questions and not its descriptions, and counts its rows; many images share a question."""
    dataset = str(halluscope.build("amber", upstream / "amber", out=tmp_path / "amber"))
    queries = json.loads((upstream / "amber/query/query_all.json").read_text())[1004:]
    rows = []
    for place, query in enumerate(queries):
        rows.append({"question": f"{query['query']} Please answer yes or no.", "prediction": "No."})
        if first is not None:
            rows[-1]["index"] = first + place
    result = scored(rows, dataset, "amber")
    assert (result["questions"], result["matched"]) == (14_216, "order")
    assert result["accuracy"] == 9_427 / 14_216
    rows[0], rows[5] = rows[5], rows[0]
    with pytest.raises(ValueError, match="without an id|is not among the 15,220 rows|has the question"):
        scored(rows, dataset, "amber")


@pytest.mark.parametrize(
    ("name", "column", "images"),
    [
        ("mmhal", "image_id", ["a0", "a1", "a2"]),
        ("mmhal", "image", ["a0.jpg", "images/a1.jpg", "a2.png"]),
        ("hqh", "image", ["10.jpg", "11.jpg", "12.jpg"]),
    ],
)
def test_images_by_their_ids_must_be_the_rows(name, column, images, tmp_path):
    dataset = small_datasets.build(name, tmp_path)
    rows = load_dataset(str(dataset), split="test").to_list()[:3]
    for number, row in enumerate(rows):
        row["id"] = str(number)
        row["image_id"] = images[number].rpartition("/")[2].partition(".")[0]
    questions = lines(tmp_path / "questions.jsonl", rows)
    responses = [{column: image, "response": f"There are {image} dogs."} for image in images]
    options = {"judge": "none"} if name == "mmhal" else {}
    result = scored(responses, str(questions), name, **options)
    assert (result["matched"], result.get("uncompared")) == ("order", None)
    with pytest.raises(ValueError, match=f"has the {column} '.*2.*', but its row in the dataset has"):
        scored(responses[::-1], str(questions), name, **options)


def test_a_batchs_responses_are_found_by_the_id_that_the_user_gave(tmp_path):
    dataset = str(small_datasets.build("hqh", tmp_path))
    replies = []
    for number in range(8):
        body = {"choices": [{"message": {"content": f"{number} dogs."}}]}
        reply = {"custom_id": str(number), "response": {"status_code": 200, "body": body}}
        replies.append({"id": f"batch_req_{9 - number}"} | reply)
    file = lines(tmp_path / "batch.jsonl", replies[::-1])
    by_id = [{"id": number, "response": f"{number} dogs."} for number in range(8)]
    assert scored(str(file), dataset, "hqh")["texts"] == scored(by_id, dataset, "hqh")["texts"]


@pytest.mark.parametrize("first", [0, 1])
def test_a_count_in_another_order_is_no_order(first, tmp_path):
    dataset = str(small_datasets.build("hallusionbench", tmp_path))
    words = ["Yes.", "Yes.", "No."]
    responses = [{"custom_id": first + number, "response": word} for number, word in enumerate(words)]
    assert scored(responses, dataset, "hallusionbench")["aAcc"] == 1
    with pytest.raises(ValueError, match="custom_id counts the responses in another order.*Sort them by"):
        scored(responses[::-1], dataset, "hallusionbench")


def test_descriptions_beside_answers_with_ids_of_their_own(tmp_path):
    """AMBER's images and questions decide; what is about another image, or asks something else, is refused."""
    dataset = str(small_datasets.build("amber", tmp_path))
    rows = [
        {"id": 70, "image": "AMBER_1.jpg", "query": "Describe this image.", "response": "A dog, a person."}
    ]
    for thing in ("a person in this image", "the grass dry in this image", "it a cat"):
        question = f"Is {'there ' if 'person' in thing else ''}{thing}?"
        rows.append({"id": 70 + len(rows), "image": "AMBER_1.jpg", "query": question, "response": "No."})
    result = scored(rows[:3], dataset, "amber", partial=True)
    assert (result["rows"], result["chair"], result["matched"]) == (3, 0.5, "image and question")
    for other in ([*rows[1:3], rows[0] | {"image": "AMBER_9.jpg"}], rows):
        with pytest.raises(ValueError, match="id 7[01] is not among the 4 rows"):
            scored(other, dataset, "amber", partial=True)


@pytest.mark.parametrize("form", ["rows", "reversed", "by id", "named", "question_id", "with objects"])
def test_ids_decide_before_the_order(form, tmp_path):
    """DASH-B's rows are told apart by images and objects too, as in its authors' file, which has no ids."""
    dataset = small_datasets.build("dash_b", tmp_path)
    rows = []
    for question in load_dataset(str(dataset), split="test"):
        answer = "Yes, there is." if question["answer"] == "yes" else "No, there is not."
        rows.append({"id": question["question_id"], "response": answer})
        if form == "with objects":
            rows[-1]["object_name"] = question["object"]
    options = {}
    if form != "rows":
        rows.reverse()
    if form == "named":
        rows = [{"number": row["id"], "response": row["response"]} for row in rows]
        options["id_column"] = "number"
    if form == "question_id":
        rows = [{"question_id": row["id"], "response": row["response"]} for row in rows]
    responses = {row["id"]: row["response"] for row in rows} if form == "by id" else rows
    result = scored(responses, str(dataset), "dash_b", **options)
    assert result["accuracy"] == 1
    assert result["matched"] == (options.get("id_column") or next(iter(rows[0])))


@pytest.mark.parametrize(
    "address",
    [
        "https://example.org/1_o.jpg?size=large",
        {"url": "https://example.org/1_o.jpg"},
        ["/data/images/1_o.jpg"],
        "data:image/png;base64,AAAA",
        "",
        None,
    ],
)
def test_forms_of_an_address(address, tmp_path):
    dataset = str(small_datasets.build("mmhal", tmp_path))
    rows = [{"id": number, "image_url": None, "response": "Two dogs."} for number in range(3)]
    rows[1]["image_url"] = address
    assert scored(rows, dataset, "mmhal", judge="none")["questions"] == 3


# Runs that were killed or resumed


@pytest.fixture
def questions(tmp_path):
    """15 questions of POPE about three images, and their file."""
    asked = []
    for number in range(15):
        image = f"COCO_val2014_{number % 3:012}.jpg"
        asked.append((image, f"thing{number}", "yes" if number % 2 else "no"))
    dataset = small_datasets.pope_file(tmp_path / "aokvqa_pope_seem_adversarial.json", asked)
    return [json.loads(line) for line in Path(dataset).read_text().splitlines()], [dataset]


FORMS = ("jsonl", "json", "csv", "tsv")


def written(file, rows, form):
    """Write responses in a form, without the last 9 characters."""
    if form == "jsonl":
        text = "\n".join(map(json.dumps, rows))
    elif form == "json":
        text = json.dumps(rows)
    else:
        with file.open("w", newline="") as stream:
            table = csv.DictWriter(stream, [*rows[0]], delimiter="," if form == "csv" else "\t")
            table.writeheader()
            table.writerows(rows)
        text = file.read_text()
    cut = text[:-9] if form in ("jsonl", "json") else text.rstrip()[: -len("no,'") - 8]
    file.write_text(cut)
    return file


@pytest.mark.parametrize(("form", "note"), [*((form, "a note") for form in FORMS), ("csv", "a note, too")])
def test_a_half_last_line(form, note, questions, tmp_path, ran):
    rows, dataset = questions
    responses = []
    for row in rows:
        about = {"question_id": row["question_id"], "question": row["text"]}
        responses.append(about | {"response": row["label"], "note": note})
    file = written(tmp_path / f"r.{form}", responses, form)
    command = ["score pope --bootstrap 0 --dataset", *dataset, "--responses", file]
    place = {"jsonl": "line 15", "json": "entry 15"}.get(form, "row 15")
    refused = ran(*command, status=2).err
    assert place in refused and "--partial" in refused and "cut off" in refused
    printed = ran(*command, "--partial", "--json")
    (result,) = json.loads(printed.out)
    assert (result["rows"], result["accuracy"], result["part"]) == (14, 1.0, [14, 15])
    assert result["cut_ends"] == 1 and f"{place} is cut off, and left out" in printed.err
    found = halluscope.inspection.inspecting.inspect(file)
    assert found.rows == 14 and "cut off" in str(found) and "--partial" in found.command


def test_half_last_lines_of_two_parts_are_both_told(questions, tmp_path, ran):
    rows, dataset = questions
    responses = [{"question_id": row["question_id"], "response": row["label"]} for row in rows]
    parts = [written(tmp_path / f"{part}.jsonl", responses[part::2], "jsonl") for part in (0, 1)]
    named = f"mine={parts[0]},{parts[1]}"
    told = ran("score pope --partial --bootstrap 0 --dataset", *dataset, "--responses", named).err
    assert "0.jsonl, line 8 is cut off" in told and "1.jsonl, line 7 is cut off" in told


def test_a_line_that_is_cut_within_a_character(questions, tmp_path):
    rows, dataset = questions
    content = b""
    for row in rows:
        line = {"question_id": row["question_id"], "response": f"{row['label']}, caf\u00e9"}
        content += json.dumps(line, ensure_ascii=False).encode() + b"\n"
    (tmp_path / "r.jsonl").write_bytes(content[: content.rindex(b"\xa9")])
    with pytest.raises(ValueError, match="line 15.* cut off"):
        scored(tmp_path / "r.jsonl", dataset)
    assert scored(tmp_path / "r.jsonl", dataset, partial=True)["part"] == [14, 15]


def test_columns_of_a_table_are_not_taken_for_lvlms(questions):
    rows, dataset = questions
    columns = {"response": ["Yes"] * len(rows), "question_id": [row["question_id"] for row in rows]}
    with pytest.raises(ValueError, match="columns response, question_id; expected its rows.*DataFrame"):
        scored(columns, dataset)


def test_a_question_in_other_words_is_told_what_to_do(questions, tmp_path):
    rows, dataset = questions
    responses = []
    for place, row in enumerate(rows):
        answer = other(row["label"]) if place == 3 else row["label"]
        responses.append({"question_id": row["question_id"], "response": answer})
    in_other_words = [{**response, "question": "Do you see one?"} for response in responses]
    with pytest.raises(ValueError, match="asked in other words, leave question out"):
        scored(lines(tmp_path / "asked.jsonl", in_other_words), dataset)
    assert scored(lines(tmp_path / "r.jsonl", responses), dataset)["rows"] == len(rows)


@pytest.mark.parametrize("states", ["id", "id and question", "image and question", "own id and question"])
def test_identical_repeats_count_once(states, questions, tmp_path):
    rows, dataset = questions
    columns = {
        "id": ("question_id",),
        "id and question": ("question_id", "question"),
        "image and question": ("image", "question"),
        "own id and question": ("id", "question"),
    }[states]
    responses = []
    for place, row in enumerate(rows):
        about = row | {"question": row["text"], "id": place}
        answer = other(row["label"]) if place == 3 else row["label"]
        responses.append({name: about[name] for name in columns} | {"response": answer, "seconds": place})
    resumed = [*responses[:9], *(row | {"seconds": 0.1} for row in responses[6:])]
    with pytest.warns(UserWarning, match="3 responses repeat an earlier one"):
        result = scored(lines(tmp_path / "r.jsonl", resumed), dataset)
    assert (result["rows"], result["accuracy"]) == (15, pytest.approx(14 / 15))
    assert result["repeats"] == 3 and "left_out" not in result
    resumed[9]["response"] = other(resumed[9]["response"])
    with pytest.raises(ValueError, match=r"(already in|earlier response|questions|responses)"):
        scored(lines(tmp_path / "r.jsonl", resumed), dataset)


# Other forms


@pytest.mark.parametrize("name", ["r.pkl", "r.pickle", "r.pkl.gz", "r.json"])
def test_a_pickle_is_not_loaded(name, questions, tmp_path, ran):
    _, dataset = questions
    marker = tmp_path / "loaded"

    class Loads:
        def __reduce__(self):
            return open, (str(marker), "w")

    content = pickle.dumps(Loads())
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    refused = ran("score pope --dataset", *dataset, "--responses", tmp_path / name, status=2).err
    assert "pickle.load" in refused and "json.dump" in refused and not marker.exists()
    assert len(refused.strip().splitlines()) == 1
    assert "pickle.load" in ran("inspect", tmp_path / name, status=2).err and not marker.exists()


def test_the_cache_of_chairs_script_is_converted_as_the_refusal_says(tmp_path, ran):
    script = "class CHAIR:\n    pass\n"
    make = "import pickle; from chair import CHAIR; c = CHAIR(); c.imid_to_objects = {7: {'dog', 'cat'}}; "
    make += "pickle.dump(c, open('chair.pkl', 'wb'))"
    (tmp_path / "chair.py").write_text(script)
    subprocess.run([sys.executable, "-c", make], cwd=tmp_path, check=True)
    responses = lines(tmp_path / "r.jsonl", [{"image_id": 7, "caption": "A dog."}])
    refused = ran("score chair --responses", responses, "--dataset", tmp_path / "chair.pkl", status=2).err
    convert = refused.split("`")[1]
    subprocess.run([sys.executable, "-c", convert], cwd=tmp_path, check=True)
    objects = tmp_path / "chair_objects.json"
    assert json.loads(objects.read_text()) == {"7": ["cat", "dog"]}
    scores = ran("score chair --synonyms names --json --responses", responses, "--dataset", objects).out
    assert json.loads(scores)[0]["chair_i"] == 0
