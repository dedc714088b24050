"""MME: the authors' sample and printed scores, other people's forms of files, and files that are not whole."""

import json
import os
import random
from pathlib import Path

import pytest

import halluscope
from halluscope import cli
from halluscope.benchmarks.mme.metric import compute
from halluscope.building.fetch import sha256_of
from halluscope.errors import BuildError
from halluscope.inspection.inspecting import inspect
from halluscope.reporting import published
from tests import small_datasets

pytestmark = pytest.mark.filterwarnings("ignore:.* questions are scored")

UPSTREAM = Path(os.environ.get("HALLUSCOPE_UPSTREAM", "missing")) / "mme"
QUESTIONS = UPSTREAM / "mme_benchmark.jsonl"
needs_upstream = pytest.mark.skipif(not QUESTIONS.exists(), reason="needs the authors' questions")

ASKED = " Please answer yes or no."
ASKED_BY_LLAVA = "\nAnswer the question using a single word or phrase."


def rows_about(subtask, *names):
    """Return the two rows about each image."""
    rows = []
    for name in names:
        for answer in ("yes", "no"):
            question = f"Is it {answer}?"
            image = f"{subtask}/{name}"
            rows.append({"subtask": subtask, "file_name": image, "question": question, "answer": answer})
    return rows


def test_by_hand():
    rows = rows_about("existence", "1.jpg", "2.jpg") + rows_about("count", "3.jpg")
    rows += rows_about("position", "4.jpg") + rows_about("color", "5.jpg")
    # one image of two is right as a whole; count: one answer of two; position: none, though one begins with "not"
    texts = ["Yes", "no.", "YES!", "yes", "Yes", "Yes", "Not so", "perhaps", "yes", "No"]
    result = compute(texts, rows)
    assert result["score/existence"] == 75 + 50
    assert result["score/count"] == 50 + 0
    assert result["score/position"] == 0
    assert result["score/color"] == 200
    assert result["hallucination"] == 375
    assert result["accuracy/existence"] == 3 / 4 and result["accuracy_plus/existence"] == 1 / 2
    assert result["unreadable"] == 1 / 10
    assert str(result["perception"]) == "nan" and str(result["cognition"]) == "nan"
    assert compute(texts[:8], rows[:8])["hallucination"] != result["hallucination"]  # color is missing


@pytest.mark.parametrize(
    ("text", "official", "lmms_eval"),
    [
        ("not", "no", "no"),
        ("   Yes", None, "yes"),
        ("y", None, "yes"),
        ("It is yes", None, None),
        ("", None, None),
    ],
)
def test_the_rules_look_at_the_beginning(text, official, lmms_eval):
    rows = rows_about("OCR", "1.jpg")
    for parser, expected in (("official", official), ("lmms-eval", lmms_eval)):
        table = compute([text, "No"], rows, parser=parser, per_question=True)["per_question"]
        assert table[0]["read"] == expected


def test_an_image_with_one_question_is_refused():
    rows = rows_about("OCR", "1.jpg", "2.jpg")
    with pytest.raises(
        ValueError, match=r"1 of 2 images have not two questions, such as OCR/2.jpg: 'Is it yes\?'"
    ):
        compute(["Yes", "No", "Yes"], rows[:3])


@needs_upstream
def test_the_authors_sample_has_the_scores_that_they_print():
    result = halluscope.score("mme", UPSTREAM / "LaVIN", QUESTIONS)
    printed = dict(published.load("mme").results)["LaVIN [MME]"]
    for name, value in printed.items():
        assert round(result[name], 2) == value
    assert result["hallucination"] == pytest.approx(411.67, abs=0.01)
    assert result["questions"] == 240 and result["images"] == 120


@needs_upstream
def test_scores_are_printed_as_points_and_shares_in_percent(capsys):
    """A subtask's score is of 200 points."""
    words = ["score", "mme", "--responses", UPSTREAM / "LaVIN", "--dataset", QUESTIONS, "--bootstrap", 0]
    assert cli.main([*map(str, words), "--scores", "score/color", "accuracy/color"]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("LaVIN  ")]
    assert line.split() == ["LaVIN", "240", "75.000", "58.3"]


@pytest.fixture(scope="module")
def answers():
    """A made answer to each question, by subtask, image and bare question."""
    draw = random.Random(0)
    said = {}
    for line in QUESTIONS.read_text().splitlines():
        row = json.loads(line)
        text = draw.choice([row["answer"]] * 4 + ["Yes", "No.", "It may be."])
        said[row["type"], Path(row["image"]).stem, bare(row["question"])] = (row, text)
    return said


def bare(question):
    return " ".join(question.replace(ASKED, "").replace(ASKED_BY_LLAVA, "").split())


def in_llavas_order(answers):
    """Yield LLaVA's questions, each with the right answer and the made one."""
    for line in (UPSTREAM / "llava_mme.jsonl").read_text().splitlines():
        asked = json.loads(line)
        row, text = answers[asked["category"], Path(asked["image"]).stem, bare(asked["text"])]
        yield asked, row["answer"], text


def write_llava(answers, folder):
    lines = []
    for asked, _, text in in_llavas_order(answers):
        line = {"question_id": asked["question_id"], "prompt": asked["text"], "text": text, "metadata": {}}
        lines.append(line)
    return write_lines(folder / "llava.jsonl", lines)


def write_lmms_eval(answers, folder):
    lines = []
    for number, (asked, right, text) in enumerate(in_llavas_order(answers)):
        about = {"question_id": asked["question_id"], "category": asked["category"]}
        line = {"doc_id": number, "target": right, "filtered_resps": [text], "mme_cognition_score": about}
        line["doc"] = about | {"question": bare(asked["text"]) + ASKED, "answer": right}
        lines.append(line)
    return write_lines(folder / "20260101_samples_mme.jsonl", lines)


def write_vlmevalkit(answers, folder):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["index", "category", "image_path", "question", "answer", "prediction"])
    for number, (asked, right, text) in enumerate(in_llavas_order(answers)):
        question = bare(asked["text"]) + ASKED
        book.active.append([number, asked["category"], asked["image"], question, right, text])
    book.save(folder / "model_MME.xlsx")
    return folder / "model_MME.xlsx"


def write_authors(answers, folder):
    by_subtask = {}
    for row, text in answers.values():
        cells = [Path(row["image"]).name, row["question"], row["answer"], text]
        by_subtask.setdefault(row["type"], []).append("\t".join(cells))
    (folder / "model").mkdir()
    for subtask, lines in by_subtask.items():
        (folder / "model" / f"{subtask}.txt").write_text("\n".join(lines) + "\n")
    return folder / "model"


def write_lines(file, lines):
    file.write_text("\n".join(map(json.dumps, lines)))
    return file


def write_vlmevalkit_without_images(answers, folder):
    """As VLMEvalKit's MME.tsv without image_path: only the order tells which questions are about one image."""
    lines = []
    for number, (asked, right, text) in enumerate(in_llavas_order(answers)):
        line = {"index": number, "category": asked["category"], "question": bare(asked["text"]) + ASKED}
        lines.append(line | {"answer": right, "prediction": text})
    return write_lines(folder / "model_MME.jsonl", lines)


def write_cambrian(answers, folder):
    """With a count as id, which is the name of some images, the prompt in its template, and the right answer."""
    lines = []
    for number, (asked, right, text) in enumerate(in_llavas_order(answers)):
        prompt = f"A chat: be polite. USER: <image>\n{bare(asked['text'])}{ASKED}\nUse one word. ASSISTANT:"
        line = {"question_id": number, "prompt": prompt, "answer": text, "gt_answer": right}
        lines.append(line | {"category": asked["category"]})
    return write_lines(folder / "answers_0.jsonl", lines)


FORMS = [
    write_cambrian,
    write_llava,
    write_lmms_eval,
    write_vlmevalkit,
    write_vlmevalkit_without_images,
    write_authors,
]


@needs_upstream
@pytest.mark.parametrize("write", FORMS)
def test_each_form_of_file_is_read(write, answers, tmp_path):
    expected = by_plain_code(answers)
    file = write(answers, tmp_path)
    result = halluscope.score("mme", file, QUESTIONS)
    for subtask, score in expected.items():
        assert result[f"score/{subtask}"] == pytest.approx(score)
    perception = [score for subtask, score in expected.items() if "_" not in subtask]
    assert result["perception"] == pytest.approx(sum(perception))
    assert result["cognition"] == pytest.approx(sum(expected.values()) - sum(perception))
    assert "part" not in result


def by_plain_code(answers):
    """Return the subtasks' scores as the authors' script counts them."""
    by_image = {}
    for (subtask, image, _), (row, text) in answers.items():
        start = text.lower()[:4]
        said = "yes" if "yes" in start else "no" if "no" in start else "other"
        by_image.setdefault((subtask, image), []).append(said == row["answer"].lower())
    scores = {}
    for subtask in {subtask for subtask, _ in by_image}:
        pairs = [right for (of, _), right in by_image.items() if of == subtask]
        accuracy = sum(map(sum, pairs)) / (2 * len(pairs))
        scores[subtask] = 100 * accuracy + 100 * sum(map(all, pairs)) / len(pairs)
    return scores


def refused(lines, tmp_path, **options):
    """Return the message about the lines of a file for the subtask existence."""
    (tmp_path / "existence.txt").write_text("\n".join(lines))
    with pytest.raises(ValueError) as error:
        halluscope.score("mme", tmp_path, QUESTIONS, **options)
    return str(error.value)


@needs_upstream
def test_files_that_are_not_whole_are_refused(tmp_path):
    lines = (UPSTREAM / "LaVIN/existence.txt").read_text().splitlines()
    image = lines[-1].split("\t")[0]
    missing = refused(lines[:-1], tmp_path)
    assert "no response to 1 of the 2,374 rows" in missing and image in missing
    assert f"such as existence/{image}: " in refused(lines[:-1], tmp_path, partial=True)
    other = lines[-1].replace("Is there", "Was there")
    assert "existence.txt, line 60 states 'Was there" in refused([*lines[:-1], other], tmp_path)
    twice = lines[-1] + " or not"
    assert "line 61 answers id existence/" in refused([*lines, twice], tmp_path)
    unknown = lines[-1].replace(image, "other.jpg")
    assert "no image of the 2,374 rows" in refused([*lines[:-1], unknown], tmp_path)
    without = lines[-1].rpartition("\t")[0]
    assert "line 60 is" in refused([*lines[:-1], without], tmp_path)
    (tmp_path / "readme.txt").write_text("Put results here.")
    assert "readme.txt does not begin with an image" in refused(lines, tmp_path)


@needs_upstream
@pytest.mark.parametrize("ending", ["", " Answer the question using a single word or phrase."])
def test_inspect_knows_the_questions_among_other_words(ending, tmp_path):
    """As InternVL's script writes them: each subtask a file, with its own words after the authors'."""
    lines = []
    for line in (UPSTREAM / "LaVIN/color.txt").read_text().splitlines():
        image, asked, right, text = line.split("\t")
        lines.append("\t".join((image, f"Look: {asked}{ending}", right, text)))
    (tmp_path / "color.txt").write_text("\n".join(lines))
    said = inspect(tmp_path)
    assert (said.benchmarks, said.about) == (["mme"], "color")


@needs_upstream
def test_without_images_both_questions_about_one_follow_each_other(answers, tmp_path):
    file = write_vlmevalkit_without_images(answers, tmp_path)
    lines = file.read_text().splitlines()
    file.write_text("\n".join(lines[1:] + lines[:1]))
    with pytest.raises(
        ValueError, match="line 1 states no image, and asks with the next response not what the"
    ):
        halluscope.score("mme", file, QUESTIONS)


@needs_upstream
def test_an_images_number_may_stand_without_its_ending(answers, tmp_path):
    lines = []
    for (_, image, _), (row, text) in answers.items():
        lines.append({"image_id": image, "question": row["question"], "response": text})
    file = write_lines(tmp_path / "mine.jsonl", lines)
    result = halluscope.score("mme", file, QUESTIONS)
    for subtask, score in by_plain_code(answers).items():
        assert result[f"score/{subtask}"] == pytest.approx(score)


@needs_upstream
def test_a_table_with_a_header_is_no_list_of_answers(answers, tmp_path):
    """pandas' to_csv with tabs, named .txt: its header was taken for a response."""
    lines = ["image\tquestion\tanswer\tprediction"]
    for row, text in answers.values():
        lines.append("\t".join([row["image"], row["question"], row["answer"], text]))
    for name, content in (("mine.txt", lines), ("mine.tsv", lines), ("list.txt", lines[1:])):
        (tmp_path / name).write_text("\n".join(content))
    with pytest.raises(ValueError, match=r"mine\.txt, line 1 is not JSON.* or name a table \.csv, \.tsv"):
        halluscope.score("mme", tmp_path / "mine.txt", QUESTIONS)
    table = halluscope.score("mme", tmp_path / "mine.tsv", QUESTIONS)
    assert table == halluscope.score("mme", {"mine": tmp_path / "list.txt"}, QUESTIONS)["mine"]


@needs_upstream
def test_a_folder_of_text_files_is_no_dataset():
    with pytest.raises(ValueError, match=r"LaVIN cannot be loaded as a dataset \(its columns are text\)"):
        halluscope.score("mme", UPSTREAM / "LaVIN", UPSTREAM / "LaVIN")


def test_rows_as_lmms_eval_publishes_them(tmp_path):
    import pandas

    rows = rows_about("existence", "1.jpg", "2.jpg") + rows_about("code_reasoning", "0007.png")
    published_rows = []
    for row, folder in zip(rows, ("", "", "images/", "images/", "", ""), strict=True):
        name = row["file_name"].replace("/", f"/{folder}")
        asked = {
            "question_id": name,
            "image": {"bytes": b"PNG", "path": None},
            "question": row["question"] + ASKED,
        }
        published_rows.append(asked | {"answer": row["answer"].title(), "category": row["subtask"]})
    pandas.DataFrame(published_rows).to_parquet(tmp_path / "test-00000-of-00001.parquet")
    mine = [{"image": row["file_name"], "question": row["question"], "text": row["answer"]} for row in rows]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    result = halluscope.score("mme", mine[::-1], tmp_path / "test-00000-of-00001.parquet", bootstrap=0)
    of_rows = halluscope.score("mme", mine[::-1], tmp_path / "rows.jsonl", bootstrap=0)
    assert result["signature"] == of_rows["signature"]
    assert result["accuracy"] == compute(["Yes", "No"] * 3, published_rows)["accuracy"] == 1


@needs_upstream
def test_every_source_builds_the_same_dataset(tmp_path):
    from PIL import Image

    builder = small_datasets.builder("mme")
    release = tmp_path / "release"
    for line in QUESTIONS.read_text().splitlines():
        row = json.loads(line)
        folder = release / row["type"]
        stem = Path(row["image"]).stem
        (folder / "images").mkdir(parents=True, exist_ok=True)
        with (folder / f"{stem}.txt").open("a") as file:
            file.write(f"{row['question']}\t{row['answer']}\n")
        if not (folder / f"images/{stem}.png").exists():
            Image.new("L", (1, 1)).save(folder / f"images/{stem}.png")

    of_file = builder.build(QUESTIONS, out=tmp_path / "of_file")
    of_texts = builder.build(release, out=tmp_path / "of_texts", with_images=False)
    first, second = (next(folder.glob("data/*.parquet")) for folder in (of_file, of_texts))
    assert sha256_of(first) == sha256_of(second)
    lines = []  # a subtask in a file of its own
    for line in QUESTIONS.read_text().splitlines():
        row = json.loads(line)
        if row["type"] == "color":
            lines.append(f"{Path(row['image']).name}\t{row['question']}\t{row['answer']}")
    (release / "color.txt").write_text("\n".join(lines))
    of_both = builder.build(release, out=tmp_path / "of_both", with_images=False)
    assert sha256_of(next(of_both.glob("data/*.parquet"))) == sha256_of(first)
    with_images = builder.build(release, out=tmp_path / "with_images")
    stats = json.loads((with_images / "stats.json").read_text())
    assert "image" in stats["tables"][0]["columns"] and not stats["subset"]
    (release / "color.txt").write_text("10.jpg\tIs it red?")
    for message in (
        "color.txt, line 1 is .*; expected a question and its right answer",
        "holds no color.txt",
    ):
        with pytest.raises(BuildError, match=message):
            builder.build(release, out=tmp_path / "refused", with_images=False)
        for file in (release / "color.txt", *release.glob("color/*.txt")):
            file.unlink(missing_ok=True)


def test_a_folder_of_some_subtasks_is_a_subset(tmp_path):
    builder = small_datasets.builder("mme")
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "existence.txt").write_text("1.jpg\tIs there a dog?\tYes\n1.jpg\tIs there a cat?\tNo\n")
    with pytest.raises(ValueError, match="holds no count.txt.*--subset"):
        builder.build(texts, out=tmp_path / "built")
    built = builder.build(texts, out=tmp_path / "built", subset=True)
    assert json.loads((built / "stats.json").read_text())["counts"]["existence"] == 2
