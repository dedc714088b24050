"""HQH for `evaluate`: a thin module over the installed package `halluscope`."""

import datasets

from halluscope.metrics import hqh, module
from halluscope.records.free_questions import read

_ABOUT = """
HQH asks free-form questions about images. Each answer is judged in two steps: is its main answer right, and how many
claims beside it contradict the image? Both become rates, over all questions, by type (existence, count, color, action,
relation, comparison, environment, OCR) and by level (object, attribute, scene).
"""

_BIBTEX = """
@article{yan2024measuring,
  title={Measuring the Measurers: Quality Evaluation of Hallucination Benchmarks for Large Vision-Language Models},
  author={Yan, Bei and Zhang, Jie and Yuan, Zheng and Shan, Shiguang and Chen, Xilin},
  year={2024}
}
"""

_ROW = {
    "id": datasets.Value("int64"),
    "image_id": datasets.Value("int64"),
    "question": datasets.Value("string"),
    "answer": datasets.Value("string"),
    "type": datasets.Value("string"),
    "level": datasets.Value("string"),
    "caption": datasets.Value("string"),
    "details": datasets.Value("string"),
}


def _row(row, where):
    return {name: "" if value is None else value for name, value in read(row, where).row.items()}


class HQH(module.Module):
    """See `halluscope.metrics.hqh.compute` for every option and result."""

    about, bibtex = _ABOUT, _BIBTEX
    links = ["https://github.com/HQHBench/HQHBench"]
    row = {"predictions": datasets.Value("string"), "references": _ROW}
    read_row = staticmethod(_row)
    score = staticmethod(hqh.compute)
