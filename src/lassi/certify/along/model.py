"""The model to certify: R, then C, as folded float64 networks, and as plain networks in their own precision.

Every counterexample is run through the plain model again before it is reported.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from lassi.base.errors import UserError
from lassi.certify.along.polyline import Tracer
from lassi.certify.along.reduced import Reducer
from lassi.certify.along.rounding import Paths
from lassi.consumer.classifier import Classifier
from lassi.consumer.foreign import Foreign
from lassi.representation.network import Folded, Representation


@dataclass(frozen=True, eq=False)
class Model:
    """R and C together.

    Args:
        representation: R, in evaluation mode.
        classifier: C: ours, or any classifier fitted on r.
    """

    representation: Representation
    classifier: Classifier | Foreign

    def __post_init__(self) -> None:
        k = self.representation.widths[-1]
        if self.classifier.dim != k:
            raise UserError(
                f"The classifier takes {self.classifier.dim} numbers, but the representation has {k}.",
                hint="Train the classifier on this representation.",
            )
        assert not self.representation.training, "a model is certified in evaluation mode"
        tensors = dict(self.representation.state_dict())
        if isinstance(self.classifier, Classifier):
            tensors |= {f"classifier.{name}": tensor for name, tensor in self.classifier.state_dict().items()}
        broken = [name for name, tensor in tensors.items() if not tensor.isfinite().all()]
        if broken:
            raise UserError(f"The model's '{broken[0]}' is not finite.", hint="Train the model again.")

    @property
    def num_classes(self) -> int:
        return self.classifier.num_classes

    @torch.no_grad()
    def predict(self, z: Tensor) -> Tensor:
        """The class of each latent ``(B, q)``, by the plain networks in their own precision."""
        like = self.representation.linears[0].weight
        return self.classifier.predict(self.representation(z.to(like)))

    @cached_property
    def folded_representation(self) -> Folded:
        return self.representation.folded(torch.float64)

    @cached_property
    def networks(self) -> Folded:
        """C∘R as one folded network, in float64."""
        if not isinstance(self.classifier, Classifier):
            raise UserError(
                f"{self.classifier!r} is not a network, so it has no exact certificate.",
                hint="Choose smoothed-modular or smoothed-joint.",
            )
        return joined(self.folded_representation, self.classifier)

    @cached_property
    def _paths(self) -> Paths:
        """What R's folded layers sum up."""
        maps = self.folded_representation
        biases = [path.double() for path in self.representation.bias_paths()]
        return Paths([weight.abs() for weight in maps.weights], biases, [weight.shape[1] for weight in maps.weights])

    @cached_property
    def _joint_paths(self) -> Paths:
        """The same for C∘R, where C's first layer is merged into R's last."""
        assert isinstance(self.classifier, Classifier)
        first, *later = self.classifier.linears
        paths = self._paths.then(first.weight.double(), first.bias.double())
        for linear in later:
            paths = paths.followed_by(linear.weight.double(), linear.bias.double())
        return paths

    @cached_property
    def reducer(self) -> Reducer:
        """For R alone."""
        return Reducer(self.folded_representation, self._paths)

    @cached_property
    def joint_reducer(self) -> Reducer:
        return Reducer(self.networks, self._joint_paths)

    @cached_property
    def tracer(self) -> Tracer:
        """For R alone."""
        return Tracer(self.folded_representation, self._paths)

    @cached_property
    def joint_tracer(self) -> Tracer:
        return Tracer(self.networks, self._joint_paths)


def joined(maps: Folded, classifier: Classifier) -> Folded:
    """A folded representation followed by a classifier, whose first layer is merged into the representation's last."""
    first, *later = classifier.linears
    whole = maps.then(first.weight.detach().double(), first.bias.detach().double())
    return Folded(
        [*whole.weights, *(linear.weight.detach().double() for linear in later)],
        [*whole.biases, *(linear.bias.detach().double() for linear in later)],
    )


def margins_of(predicted: int, num_classes: int, like: Tensor) -> Tensor:
    """Rows that turn logits into the margins of a class over every other, ``(K − 1, K)``."""
    eye = torch.eye(num_classes).to(like)
    others = [label for label in range(num_classes) if label != predicted]
    return eye[predicted] - eye[others]
