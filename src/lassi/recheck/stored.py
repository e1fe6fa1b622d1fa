"""A model's stored weights as arrays, for the checker."""

from torch import Tensor

from lassi.consumer.classifier import Classifier
from lassi.recheck.exact.arithmetic import Array
from lassi.recheck.exact.network import BallModel, Layer, Norm
from lassi.representation.network import Representation


def ball_model(representation: Representation, classifier: Classifier) -> BallModel:
    """R and C as balls."""
    layers = []
    for linear, norm in zip(representation.linears, representation.norms, strict=True):
        assert norm.running_mean is not None
        assert norm.running_var is not None
        scale, shift = (_array(norm.weight), _array(norm.bias)) if norm.affine else (None, None)
        stored = Norm(_array(norm.running_mean), _array(norm.running_var), norm.eps, scale, shift)
        layers.append(Layer(_array(linear.weight), _array(linear.bias), stored))
    return BallModel(layers, [Layer(_array(linear.weight), _array(linear.bias)) for linear in classifier.linears])


def _array(tensor: Tensor) -> Array:
    values: Array = tensor.detach().double().cpu().numpy()  # float32 is exact in float64
    return values
