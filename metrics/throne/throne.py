"""THRONE for `evaluate`: a thin module over the installed package `halluscope`."""

import datasets

from halluscope.metrics import module, throne

_ABOUT = """
THRONE measures object hallucination in the free-form image descriptions of large vision-language models: an ensemble
of language models reads each description and answers, class by class, whether it implies the object; agreed answers
are compared with the objects that are annotated in the image.
"""

_BIBTEX = """
@inproceedings{kaul2024throne,
  title={{THRONE}: An Object-based Hallucination Benchmark
         for the Free-form Generations of Large Vision-Language Models},
  author={Kaul, Prannay and Li, Zhizhong and Yang, Hao and Dukler, Yonatan
          and Swaminathan, Ashwin and Taylor, C. J. and Soatto, Stefano},
  booktitle={Proceedings of the IEEE/CVF Conference on Computer Vision and Pattern Recognition (CVPR)},
  pages={27228--27238},
  year={2024}
}
"""


class Throne(module.Module):
    """See `halluscope.metrics.throne.compute` for every option and result."""

    about, bibtex = _ABOUT, _BIBTEX
    links = ["https://arxiv.org/abs/2405.05256"]
    row = {
        "predictions": datasets.Value("string"),
        "references": datasets.List(datasets.Value("string")),
    }
    score = staticmethod(throne.compute)
