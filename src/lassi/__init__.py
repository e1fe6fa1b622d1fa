"""lassi proves, person by person, that an image classifier treats similar people alike.

The public names below are imported when they are first used, so that ``import lassi`` is instant.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lassi.base.errors import UserError
    from lassi.certify.certificate import Certificate, Outcome
    from lassi.certify.certificates import Certificates
    from lassi.certify.fair_model import FairModel
    from lassi.certify.settings import Certification
    from lassi.consumer.classifier import Classifier, ClassifierTraining
    from lassi.consumer.fit import fit_classifier
    from lassi.data.registry import open_dataset
    from lassi.flow.glow import Glow
    from lassi.flow.protocol import IdentityFlow
    from lassi.pipeline.stages import run_recipe
    from lassi.recipe.recipe import Recipe
    from lassi.report.write import write_report
    from lassi.representation.fit import fit_representation
    from lassi.representation.network import Representation
    from lassi.representation.objective import Objective
    from lassi.representation.train import RepresentationTraining
    from lassi.results.store import read_results
    from lassi.run.run import Run, open_run
    from lassi.similarity.directions import directions_from
    from lassi.similarity.sets import SimilaritySet

_HOMES = {
    "Certificate": "lassi.certify.certificate",
    "Certificates": "lassi.certify.certificates",
    "Certification": "lassi.certify.settings",
    "Classifier": "lassi.consumer.classifier",
    "ClassifierTraining": "lassi.consumer.classifier",
    "FairModel": "lassi.certify.fair_model",
    "Glow": "lassi.flow.glow",
    "IdentityFlow": "lassi.flow.protocol",
    "Objective": "lassi.representation.objective",
    "Outcome": "lassi.certify.certificate",
    "Recipe": "lassi.recipe.recipe",
    "Representation": "lassi.representation.network",
    "RepresentationTraining": "lassi.representation.train",
    "Run": "lassi.run.run",
    "SimilaritySet": "lassi.similarity.sets",
    "UserError": "lassi.base.errors",
    "directions_from": "lassi.similarity.directions",
    "fit_classifier": "lassi.consumer.fit",
    "fit_representation": "lassi.representation.fit",
    "open_dataset": "lassi.data.registry",
    "open_run": "lassi.run.run",
    "read_results": "lassi.results.store",
    "run_recipe": "lassi.pipeline.stages",
    "write_report": "lassi.report.write",
}

__all__ = [
    "Certificate",
    "Certificates",
    "Certification",
    "Classifier",
    "ClassifierTraining",
    "FairModel",
    "Glow",
    "IdentityFlow",
    "Objective",
    "Outcome",
    "Recipe",
    "Representation",
    "RepresentationTraining",
    "Run",
    "SimilaritySet",
    "UserError",
    "directions_from",
    "fit_classifier",
    "fit_representation",
    "open_dataset",
    "open_run",
    "read_results",
    "run_recipe",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'lassi' has no attribute '{name}'")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
