"""Which of COCO's 80 classes a text mentions, as CHAIR finds them: word by word, by a list of synonyms."""
