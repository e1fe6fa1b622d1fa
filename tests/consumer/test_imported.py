"""Published classifiers."""

from pathlib import Path

import pytest
import torch
from torch import nn

from lassi.base.errors import UserError
from lassi.base.streams import Stream
from lassi.consumer.classifier import load_classifier, save_classifier
from lassi.consumer.imported import read_classifier


def test_a_classifier_is_the_function_it_was(tmp_path: Path) -> None:
    with Stream(0, "published").global_torch():
        c = nn.Linear(5, 3)
    torch.save({f"proj.{name}": tensor for name, tensor in c.state_dict().items()}, tmp_path / "c.pth")
    save_classifier(read_classifier(tmp_path / "c.pth"), tmp_path / "c")
    r = torch.randn(10, 5, generator=Stream(0, "r").torch())
    with torch.no_grad():
        assert torch.allclose(load_classifier(tmp_path / "c")(r), c(r), atol=1e-6)


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"proj.weight": torch.zeros(2, 3)}, "has the keys proj.weight"),
        ({"proj.weight": torch.zeros(2, 3), "proj.bias": torch.zeros(3)}, r"have shapes \(2, 3\) and \(3,\)"),
        ({"proj.weight": torch.full((2, 3), torch.inf), "proj.bias": torch.zeros(2)}, "not finite"),
        ({"proj.weight": torch.full((2, 3), 1e300, dtype=torch.float64), "proj.bias": torch.zeros(2)}, "not finite"),
        ({"proj.weight": torch.zeros(2, 0), "proj.bias": torch.zeros(2)}, r"have shapes \(2, 0\) and \(2,\)"),
        ({"proj.weight": torch.zeros(1).expand(2, 10**9), "proj.bias": torch.zeros(2)}, "numbers more than once"),
        ({f"x{n}": torch.zeros(1) for n in range(99)}, "has the keys x0, x1, x10, .* and 87 more"),
    ],
)
def test_a_wrong_classifier_is_refused(tmp_path: Path, state: dict, message: str) -> None:
    torch.save(state, tmp_path / "c.pth")
    with pytest.raises(UserError, match=message):
        read_classifier(tmp_path / "c.pth")
