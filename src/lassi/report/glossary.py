"""What the words on the page mean, for a reader who does not know the method.

Entries for certification methods, kinds of directions and training methods are written where those are defined;
``docs/glossary.md`` is made from the same entries.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from lassi.certify.methods import METHODS
from lassi.report.records import Document
from lassi.representation.methods import TRAINING_METHODS
from lassi.similarity.registry import KINDS


@dataclass(frozen=True)
class Entry:
    """A word and what it means."""

    word: str
    meaning: str


@dataclass(frozen=True)
class Section:
    """Words of one kind."""

    title: str
    entries: list[Entry]


OUTCOMES = [
    Entry("certified", "It is proven that everybody similar to this person gets the same answer."),
    Entry("refuted", "A counterexample was found: somebody similar to this person gets a different answer."),
    Entry("not certified", "The model answers, but nothing was proven. Similar people may get a different answer."),
    Entry("abstained", "The smoothed model is not sure enough to answer. This counts as not certified, and as wrong."),
    Entry("undecided", "Neither proven nor refuted within the budget. This counts as not certified."),
]
TERMS = [
    Entry("person", "One picture, even if it shows a rendered object."),
    Entry("unit", "One independent sample: a scene or a real person, who may appear in several pictures."),
    Entry("similar", "Two people are similar if they differ only in the sensitive attributes, by at most ε."),
    Entry("sensitive attribute", "What must not affect the answer, such as skin tone, age or orientation."),
    Entry("direction", "A step in the generative model's latent space that changes an attribute."),
    Entry("ε", "How far people may differ along the directions and still count as similar; 1 is one whole step."),
    Entry("counterexample", "A similar person who provably gets a different answer."),
    Entry(
        "truly similar",
        "People known to differ only in the sensitive attribute, independently of any generative model.",
    ),
    Entry("coverage", "How much of the difference between truly similar people lies within “similar”."),
    Entry("judge", "A classifier of pictures that sees an attribute, and shares nothing with the certified models."),
    Entry("invisible change", "A change of a picture that nobody can see, such as one grey level of noise, or JPEG."),
    Entry("budget", "How many boxes (sets of similar people) the exact search may examine for one person."),
    Entry("margin", "The lead of the original answer. Below 0 the answer has changed."),
    Entry("accuracy", "The share of people who get the right answer; an abstention counts as wrong."),
]


def training_entries(names: Iterable[str]) -> list[Entry]:
    return [Entry(name, TRAINING_METHODS[name].meaning) for name in names]


def certificate_entries(names: Iterable[str]) -> list[Entry]:
    return [Entry(METHODS[name].title, METHODS[name].meaning) for name in names]


def kind_entries(names: Iterable[str]) -> list[Entry]:
    return [Entry(name, KINDS[name].meaning) for name in names]


def glossary(document: Document) -> list[Section]:
    """The words that a page uses."""
    questions = document.questions
    models = dict.fromkeys(model.method for question in questions for model in question.models)
    certificates = dict.fromkeys(name for question in questions for name in question.certificates)
    return _sections(models, certificates, dict.fromkeys(question.question.kind for question in questions))


def whole_glossary() -> list[Section]:
    """All words that any page may use."""
    return _sections(TRAINING_METHODS, METHODS, KINDS)


def _sections(models: Iterable[str], certificates: Iterable[str], kinds: Iterable[str]) -> list[Section]:
    return [
        Section("Terms", TERMS),
        Section("Models", training_entries(models)),
        Section("Certificates", certificate_entries(certificates)),
        Section("Outcomes", OUTCOMES),
        Section("Kinds of directions", kind_entries(kinds)),
    ]
