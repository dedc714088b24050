"""Object enumeration: training data that list the objects of an image, their places, and what is absent.

THRONE, section 6, and section 5 of its supplement.
"""

from halluscope.benchmark import Benchmark, Dataset


class ObjectEnumeration(Benchmark):
    name = "object_enumeration"
    title = "Object enumeration"
    description = """\
Training samples for vision-language models, which made LLaVA hallucinate less (THRONE, section 6). Each sample lists
the objects of an image with their places on a 3 x 3 grid, and six absent classes that often occur with those present.
It is not a benchmark: nothing is scored.
"""
    citation = """\
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
    links = ("https://arxiv.org/abs/2405.05256",)
    datasets = (
        Dataset(
            "object_enumeration",
            id=("id",),
            columns=("objects", "absent", "instruction", "response"),
        ),
    )


BENCHMARK = ObjectEnumeration()
