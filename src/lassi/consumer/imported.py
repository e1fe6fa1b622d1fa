"""Published classifiers: ``proj.weight`` and ``proj.bias``."""

from pathlib import Path

from lassi.base.errors import UserError
from lassi.base.torch_file import read_tensors
from lassi.consumer.classifier import Classifier, from_linear


def read_classifier(path: Path) -> Classifier:
    """Convert a published linear classifier; nothing in the file is run."""
    tensors = read_tensors(path)
    hint = "Give a linear classifier with the keys proj.weight and proj.bias."
    if tensors.keys() != {"proj.weight", "proj.bias"}:
        raise UserError(f"{path.name} has the keys {', '.join(sorted(tensors)[:4])}.", hint=hint)
    weight, bias = tensors["proj.weight"], tensors["proj.bias"]
    if weight.ndim != 2 or bias.shape != weight.shape[:1]:
        shapes = f"{tuple(weight.shape)} and {tuple(bias.shape)}"
        raise UserError(f"{path.name}: 'proj.weight' and 'proj.bias' have shapes {shapes}.", hint=hint)
    if not (weight.isfinite().all() and bias.isfinite().all()):
        raise UserError(f"{path.name}: 'proj' holds values that are not finite.", hint="Fetch the file again.")
    return from_linear(weight, bias)
