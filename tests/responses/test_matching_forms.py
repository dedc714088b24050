"""Forms of response files that other projects write: matched to the dataset by what they say, or refused."""

import csv
import gzip
import json
import pickle
import subprocess
import sys

import pytest

import halluscope
import halluscope.inspection.inspecting
from tests import small_datasets

pytestmark = pytest.mark.filterwarnings("ignore:.*(another version|matched by|neither question nor image)")

IMAGES = [f"COCO_val2014_{number:012}.jpg" for number in (42, 7, 99)]
THINGS = ("person", "sky", "person", "wall", "tree", "floor")  # person is asked about twice


def other(label):
    return "no" if label == "yes" else "yes"


def asked_twice(label_of=lambda place: "no"):
    """Return POPE's questions about three images, in its authors' form; the second has one question twice."""
    rows = []
    for image in IMAGES:
        for place, thing in enumerate(THINGS):
            name = f"{thing}" if image == IMAGES[1] or place != 2 else "car"
            label = label_of(place) if name == "person" else ("yes" if place % 2 else "no")
            row = {"question_id": len(rows) + 1, "image": image, "text": f"Is there a {name} in the image?"}
            rows.append(row | {"label": label})
    return rows


def in_files(rows, folder):
    """Write questions as the adversarial sampling; the random one has other questions under the same ids."""
    others = [row | {"text": row["text"].replace("person", "dog").replace("tree", "cup")} for row in rows]
    files = []
    for sampling, written in (("adversarial", rows), ("random", others)):
        file = folder / f"aokvqa_pope_seem_{sampling}.json"
        file.write_text("\n".join(map(json.dumps, written)))
        files.append(str(file))
    return files


def said(rows, wrong=()):
    """Return responses that state the question and an id of their own; those at some places are wrong."""
    return [
        {
            "question_id": place,
            "prompt": row["text"],
            "text": other(row["label"]) if place in wrong else row["label"],
        }
        for place, row in enumerate(rows)
    ]


def scored(responses, dataset, name="pope", **options):
    return halluscope.score(name, responses, dataset, **{"bootstrap": 0} | options)


def lines(file, rows, end="\n"):
    file.write_text("\n".join(map(json.dumps, rows)) + end)
    return file


# Questions alone


@pytest.mark.parametrize("first", ["image", "questions"])
def test_another_order_is_refused_where_it_is_in_doubt(first, tmp_path):
    """Which of the two questions a response answers cannot be known, or which image it is about."""
    rows = asked_twice(lambda place: "yes" if place else "no")
    responses = said(rows)
    if first == "image":
        responses = [*responses[6:12], *responses[:6], *responses[12:]]
    else:
        responses = [*responses[:6], *responses[6:12][::-1], *responses[12:]]
    with pytest.raises(ValueError, match="order"):
        scored(responses, in_files(rows, tmp_path))


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
    rows = [row for place, row in enumerate(asked_twice()) if place % 6 != 2]
    return rows, in_files(rows, tmp_path)[:1]


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


@pytest.mark.parametrize("form", FORMS)
def test_a_half_last_line(form, questions, tmp_path, ran):
    rows, dataset = questions
    responses = [
        {
            "question_id": row["question_id"],
            "question": row["text"],
            "response": row["label"],
            "note": "a note",
        }
        for row in rows
    ]
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


@pytest.mark.parametrize("place", [0, 7])
def test_a_line_that_is_damaged_elsewhere_is_an_error(place, questions, tmp_path):
    rows, dataset = questions
    texts = [json.dumps({"question_id": row["question_id"], "response": row["label"]}) for row in rows]
    texts[place] = texts[place][:-9]
    (tmp_path / "r.jsonl").write_text("\n".join(texts))
    with pytest.raises(ValueError, match=f"line {place + 1} is not JSON"):
        scored(tmp_path / "r.jsonl", dataset, partial=True)
    (tmp_path / "r.jsonl").write_text("\n".join(texts[:place] + texts[place + 1 :]) + '\n{"a" "b"}')
    with pytest.raises(ValueError, match="line 15 is not JSON"):
        scored(tmp_path / "r.jsonl", dataset, partial=True)


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
