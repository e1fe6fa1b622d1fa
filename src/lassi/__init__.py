"""lassi proves, person by person, that an image classifier treats similar people alike.

The public names below are imported when they are first used, so that ``import lassi`` is instant.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lassi.base.errors import UserError
    from lassi.certify.certificate import Certificate, Outcome
    from lassi.certify.fair_model import FairModel
    from lassi.consumer.classifier import Classifier
    from lassi.data.registry import open_dataset
    from lassi.flow.glow import Glow
    from lassi.pipeline.stages import run_recipe
    from lassi.recipe.recipe import Recipe
    from lassi.report.report import write_report
    from lassi.representation.network import Representation
    from lassi.similarity.attributes import attribute_directions
    from lassi.similarity.sets import SimilaritySet

__all__ = [
    "Certificate",
    "Classifier",
    "FairModel",
    "Glow",
    "Outcome",
    "Recipe",
    "Representation",
    "SimilaritySet",
    "UserError",
    "attribute_directions",
    "open_dataset",
    "run_recipe",
    "write_report",
]

_HOMES = {
    "Certificate": "lassi.certify.certificate",
    "FairModel": "lassi.certify.fair_model",
    "Outcome": "lassi.certify.certificate",
    "Classifier": "lassi.consumer.classifier",
    "Representation": "lassi.representation.network",
    "SimilaritySet": "lassi.similarity.sets",
    "attribute_directions": "lassi.similarity.attributes",
    "Glow": "lassi.flow.glow",
    "Recipe": "lassi.recipe.recipe",
    "UserError": "lassi.base.errors",
    "open_dataset": "lassi.data.registry",
    "run_recipe": "lassi.pipeline.stages",
    "write_report": "lassi.report.report",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'lassi' has no attribute '{name}'")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
