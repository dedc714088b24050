"""HQM for `evaluate`: a thin module over the installed package `halluscope`."""

import datasets

from halluscope.hub import module


class Hqm(module.Module):
    """See `halluscope.benchmarks.hqm.metric.compute` for every option and result."""

    benchmark = "hqm"
    row = {"predictions": datasets.Value("float64"), "references": datasets.Value("float64")}

    def add(self, *, prediction=None, reference=None):
        """Add a model's two scores."""
        super().add(prediction=prediction, reference=_score(reference))

    def add_batch(self, *, predictions=None, references=None):
        """Add models' scores in both tests."""
        super().add_batch(predictions=predictions, references=_score(references))


def _score(references):
    if references is None:
        raise ValueError(
            "references is None; expected the models' scores in the second test. Marks for content validity are not "
            "added, but given at once: compute(predictions=marks, indicator='content')."
        )
    return references
