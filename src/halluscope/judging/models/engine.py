"""How language models are run: by which library, in which precision, on which and how many devices."""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from halluscope.errors import JudgeUnavailable
from halluscope.judging.judge import RECHECKED, Judge
from halluscope.judging.models import weights
from halluscope.judging.models.causal import CausalJudge
from halluscope.judging.models.ray_pool import RayPool
from halluscope.judging.models.seq2seq import CHECKER, ConvertedJudge, Seq2SeqJudge, is_checker, model_of
from halluscope.judging.models.weights import Weights
from halluscope.paths import is_there


@dataclass(frozen=True)
class Engine:
    """How language models are run. All that can change a vote is in the judge's key."""

    # "torch" (bfloat16 on CUDA, float32 elsewhere), "torch-float32" or "torch-bfloat16"; for encoder-decoders also
    # "ctranslate2" (float32) and "ctranslate2-int8" (both need the extra `fast`)
    name: str = "torch"
    # with "ctranslate2-int8", a vote whose lead is smaller than this, in logits, is asked again in float32
    recheck: float = 0.0
    device: str | None = None  # "cuda", "cuda:1", "cpu", ...; None takes a GPU if there is one
    # how many processes hold a copy of each judge, through Ray (the extra `ray`), each on a GPU of its own if there are
    # GPUs; 0 runs judges in this process
    workers: int = 0

    def __post_init__(self) -> None:
        if self.recheck and self.name != RECHECKED:
            raise ValueError(
                f"recheck needs engine={RECHECKED!r} or a judge 'scoring:MODEL@URL'; engine is {self.name!r}."
            )
        if self.workers and ":" in (self.device or ""):
            raise ValueError(
                f"device is {self.device!r} and workers is {self.workers}; each worker takes a GPU of its own. Leave "
                "device out."
            )

    def judge(self, model: str, found: Weights | None = None) -> Judge:
        """Return a model's judge, without loading it yet; a model is a Hub id, a folder or a GGUF file.

        With "checker:" before it, the judge is a checker.
        """
        checks, name = is_checker(model), model_of(model)
        found = found or weights.find(name)
        library, _, precision = self.name.partition("-")
        if library == "ctranslate2" and not found.is_encoder_decoder:
            raise JudgeUnavailable(
                f"engine={self.name!r} runs encoder-decoders, but {found.name!r} is not one. Use engine='torch'."
            )
        if self.workers:
            # a worker has another working directory
            there = str(Path(name).expanduser().resolve()) if is_there(name) else name
            make = partial(replace(self, workers=0).judge, f"{CHECKER * checks}{there}")
            return RayPool(make, found.name, self.workers, not (self.device or "").startswith("cpu"))
        if library == "ctranslate2":
            return ConvertedJudge(found, precision or "float32", self.recheck, self.device, checks)
        if found.is_encoder_decoder or checks:
            return Seq2SeqJudge(found, self.device, precision, checks)
        return CausalJudge(found, self.device, precision)
