"""Who reads a text or a response: voters say yes or no, graders give a verdict. Nothing here knows a benchmark."""
