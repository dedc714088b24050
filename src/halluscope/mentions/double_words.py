"""The pairs of words that CHAIR reads as one word, as the metric defines them. All are in their dictionary form."""

# Read as one word, which the synonym list may have
NAMES = (
    "motor bike",
    "motor cycle",
    "air plane",
    "traffic light",
    "street light",
    "traffic signal",
    "stop light",
    "fire hydrant",
    "stop sign",
    "parking meter",
    "suit case",
    "sports ball",
    "baseball bat",
    "baseball glove",
    "tennis racket",
    "wine glass",
    "hot dog",
    "cell phone",
    "mobile phone",
    "teddy bear",
    "hair drier",
    "potted plant",
    "laptop computer",
    "home plate",
    "train track",
)

# Before an animal these words name no person
AGES = ("baby", "adult")
ANIMALS = (
    "bird",
    "cat",
    "dog",
    "horse",
    "sheep",
    "cow",
    "elephant",
    "bear",
    "zebra",
    "giraffe",
    "animal",
    "cub",
)

# Nor does "passenger" before these vehicles
PASSENGER = "passenger"
VEHICLES = ("jet", "train")

READ_AS = {
    "bow tie": "tie",
    "toilet seat": "toilet",
    "wine glas": "wine glass",  # what TextBlob's singular makes of "wine glass"
}


def _double_words() -> dict[tuple[str, str], str]:
    word_of = {name: name for name in NAMES}
    for animal in ANIMALS:
        for age in AGES:
            word_of[f"{age} {animal}"] = animal
    for vehicle in VEHICLES:
        word_of[f"{PASSENGER} {vehicle}"] = vehicle
    word_of.update(READ_AS)
    pairs = {}
    for double_word, word in word_of.items():
        first, second = double_word.split()
        pairs[first, second] = word
    return pairs


DOUBLE_WORDS = _double_words()  # two words -> the word that is read in their place
