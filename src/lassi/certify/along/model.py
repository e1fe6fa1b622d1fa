"""The model to certify: R, then C, with their stored weights.

What is certified is C∘R in real arithmetic. It is computed with a folded network in float64; folding BatchNorm is an
identity between real numbers, and its roundings count like all others. [docs/mathematics.md#the-certified-network]
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from lassi.base.devices import HOST
from lassi.base.errors import UserError
from lassi.certify.along.polyline import Tracer
from lassi.certify.along.reduced import Reducer
from lassi.certify.along.rounding import ROOM, Paths, gamma
from lassi.certify.along.tiles import in_tiles
from lassi.consumer.classifier import Classifier
from lassi.consumer.foreign import Foreign
from lassi.representation.network import Folded, Representation


@dataclass(frozen=True, eq=False)
class Logits:
    """Logits as computed in float64, and bounds on their errors, ``(B, K)`` each."""

    values: Tensor
    error: Tensor

    def __getitem__(self, rows: list[int] | slice) -> "Logits":
        return Logits(self.values[rows], self.error[rows])

    def least_lead(self, labels: Tensor) -> Tensor:
        """A lower bound on the true lead of classes ``(B,)`` over their strongest rivals, ``(B,)``."""
        low, high = self.values - self.error, self.values + self.error
        return _of(low, labels) - high.scatter(1, labels[:, None], -torch.inf).amax(1)

    def most_lead(self, labels: Tensor) -> Tensor:
        """An upper bound on the same, ``(B,)``."""
        low, high = self.values - self.error, self.values + self.error
        return _of(high, labels) - low.scatter(1, labels[:, None], -torch.inf).amax(1)


def _of(values: Tensor, labels: Tensor) -> Tensor:
    """The value of each row's label, ``(B,)``."""
    return values.gather(1, labels[:, None])[:, 0]


@dataclass(frozen=True, eq=False)
class Model:
    """R and C together.

    Args:
        representation: R, in evaluation mode.
        classifier: C: ours, or any classifier fitted on r.
        device: where many samples are compared with many candidate centres; it computes in float64. Everything else
            about a certificate is computed on the host. [docs/gpu.md]
    """

    representation: Representation
    classifier: Classifier | Foreign
    device: torch.device = HOST

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
        """The class of each latent ``(B, q)``, computed as certificates are: folded, in float64."""
        if isinstance(self.classifier, Classifier):
            return self.networks(z.double()).argmax(1)
        return self.classifier.predict(self.folded_representation(z.double()))

    @torch.no_grad()
    def logits(self, z: Tensor, lengths: Tensor, *, roundings: int = 0) -> "Logits":
        """The logits at latents ``(B, q)``, in float64, and how far they can be from those in real arithmetic.

        [docs/mathematics.md#rounding]

        Args:
            lengths: bounds on ‖z‖, ``(B,)``; where a latent is a sum, on that of its terms' absolute values.
            roundings: the most behind a number of a latent.
        """
        first, *later = zip(self.networks.weights, self.networks.biases, strict=True)
        values = in_tiles(z, first[0].T) + first[1]
        for weight, bias in later:
            values = in_tiles(values.relu_(), weight.T) + bias
        fan_ins = self._joint_paths.fan_ins
        path_sums = self.joint_reducer.errors.path_sums(lengths)[-1]
        return Logits(values, gamma(sum(fan_ins) + ROOM * len(fan_ins) + roundings) * path_sums)

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
