"""Published classifiers: ``proj.weight`` and ``proj.bias``."""

from pathlib import Path

from lassi.base.errors import UserError
from lassi.base.outside import listed, shown
from lassi.base.torch_file import read_tensors
from lassi.consumer.classifier import Classifier, from_linear


def read_classifier(path: Path) -> Classifier:
    """Convert a published linear classifier; nothing in the file is run."""
    tensors, called = read_tensors(path), shown(path.name)
    hint = "Give a linear classifier with the keys proj.weight and proj.bias."
    if tensors.keys() != {"proj.weight", "proj.bias"}:
        raise UserError(f"{called} has the keys {listed(sorted(tensors))}.", hint=hint)
    weight, bias = tensors["proj.weight"].float(), tensors["proj.bias"].float()
    if weight.ndim != 2 or bias.shape != weight.shape[:1] or not weight.numel():
        shapes = f"{tuple(weight.shape)} and {tuple(bias.shape)}"
        raise UserError(f"{called}: 'proj.weight' and 'proj.bias' have shapes {shapes}.", hint=hint)
    if not (weight.isfinite().all() and bias.isfinite().all()):
        raise UserError(f"{called}: 'proj' holds values that are not finite.", hint="Fetch the file again.")
    return from_linear(weight, bias)
