"""halluscope: hallucination benchmarks for large vision-language models (LVLMs).

Nothing heavy is imported here: `halluscope.metrics.throne` scores with numpy alone, and the language model
judges import torch and transformers when they are first asked.
"""

__version__ = "0.1.0"
