"""The judges of a text or a response: voters say yes or no, graders give a verdict. They know nothing of benchmarks."""
