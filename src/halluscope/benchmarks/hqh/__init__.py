"""HQH: wrong main answers and extra claims in free-form responses (Yan et al., Measuring the Measurers)."""

from halluscope.graded import record

BENCHMARK = record.record(__file__)
