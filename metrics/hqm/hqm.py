"""HQM for `evaluate`: a thin module over the installed package `halluscope`."""

import datasets

from halluscope.metrics import hqm, module

_ABOUT = """
HQM measures how far a hallucination benchmark can be believed, from the scores of several models: whether a second run
(test-retest) or a parallel form gives the same scores, whether they agree with people's (criterion validity), and what
share of the questions and answers people find right (content validity).
"""

_BIBTEX = """
@misc{yan_measuring,
  title={Measuring the Measurers: Quality Evaluation of Hallucination Benchmarks for Large Vision-Language Models},
  author={Yan, Bei and Zhang, Jie and Yuan, Zheng and Shan, Shiguang and Chen, Xilin},
  url={https://github.com/HQHBench/HQHBench}
}
"""


class Hqm(module.Module):
    """See `halluscope.metrics.hqm.compute` for every option and result."""

    about, bibtex = _ABOUT, _BIBTEX
    links = ["https://github.com/HQHBench/HQHBench"]
    row = {"predictions": datasets.Value("float64"), "references": datasets.Value("float64")}
    score = staticmethod(hqm.compute)

    def add(self, *, prediction=None, reference=None, **more):
        """Add a model's two scores."""
        super().add(prediction=prediction, reference=_score(reference), **more)

    def add_batch(self, *, predictions=None, references=None, **more):
        """Add models' scores in both tests."""
        super().add_batch(predictions=predictions, references=_score(references), **more)


def _score(references):
    if references is None:
        raise ValueError(
            "references is None; expected the models' scores in the second test. Marks for content validity are not "
            "added, but given at once: compute(predictions=marks, indicator='content')."
        )
    return references
