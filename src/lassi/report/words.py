"""What the words of a page mean, for somebody who knows nothing of the method."""

from collections.abc import Mapping, Sequence
from typing import Any

NAMES = {
    "smoothed-modular": "smoothed, modular",
    "smoothed-joint": "smoothed, joint",
    "exact-joint": "exact, joint",
    "exact-modular": "exact, modular",
}
OUTCOMES = {
    "certified": "certified",
    "not_certified": "not certified",
    "counterexample": "counterexample",
    "abstained": "abstained",
    "undecided": "undecided",
}

MODELS = {
    "naive": "learns to give the right answer, and nothing else",
    "dataaug": "is also shown people similar to those it learns from, drawn at random; trained anew for each question",
    "lassi": "is trained to take similar people for nearly the same person: it is shown the similar person whom "
    "it would tell apart the most; trained anew for each question",
}
CERTIFICATES = {
    "smoothed-modular": "the paper’s. The model is averaged over noise. Whoever prepares the data guarantees that "
    "similar people look nearly the same to any later model, and whoever answers that those get the same answer",
    "smoothed-joint": "the whole model is averaged over noise, and its answer is shown not to change",
    "exact-joint": "the model as it is, without noise: a proof, somebody similar with another answer, or undecided",
    "exact-modular": "as exact, but in two parts, as the paper’s",
}
SAID = {
    "certified": "proven: everybody similar gets the same answer",
    "counterexample": "refuted: here is somebody similar who gets another answer",
    "not certified": "there is an answer, but the proof did not succeed, which says nothing either way",
    "abstains": "the averaged model gives no answer that is certain enough; counts as not certified",
    "undecided": "neither proven nor refuted within the effort allowed; counts as not certified",
}
DIRECTIONS = {
    "mean-difference": "from the average of those without an attribute to the average of those with it",
    "pairs": "from the average of each low value of an attribute to the average of each high one",
    "first-to-last": "from the average of the first value of an attribute to the average of the last",
    "perpendicular": "across the plane that best parts those with an attribute from those without",
    "decorrelated": "as perpendicular, without what it has of the direction of the right answer",
    "discovered": "along which the answers of a classifier change the most",
}


def glossary(document: Mapping[str, Any]) -> list[tuple[str, list[tuple[str, str]]]]:
    """The words that a page uses, by what they are."""
    questions: Sequence[Mapping[str, Any]] = document["questions"]
    models = dict.fromkeys(model["method"] for question in questions for model in question["models"])
    certificates = dict.fromkeys(name for question in questions for name in question["certificates"])
    directions = dict.fromkeys(question["directions"] for question in questions)
    return [
        ("Models", [(name, MODELS[name]) for name in models]),
        ("Certificates", [(NAMES[name], CERTIFICATES[name]) for name in certificates]),
        ("Outcomes", list(SAID.items())),
        ("Directions", [(name, DIRECTIONS[name]) for name in directions]),
        (
            "Size",
            [
                (
                    "ε",
                    "how far along the directions people may differ and still count as similar; 1 is a whole direction",
                )
            ],
        ),
    ]
