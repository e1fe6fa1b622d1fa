"""The whole model, from pictures on."""

from pathlib import Path

import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from lassi import FairModel, Outcome
from lassi.base.errors import UserError
from lassi.base.streams import Stream
from lassi.flow.glow import Glow, GlowSettings
from lassi.flow.protocol import IdentityFlow
from networks import random_model, random_people, random_set


def fair_model(seed: int = 0, n: int = 1, flow=None, q: int = 20, length: float = 2.0) -> FairModel:
    model = random_model(seed, q=q)
    similar = random_set(seed, n, q=q, length=length)
    return FairModel(flow or IdentityFlow(q), similar, model.representation, model.classifier, 0.5)


@pytest.mark.parametrize("n", [1, 2])
def test_counterexamples_get_another_class_and_certified_people_none(n: int) -> None:
    model, x = fair_model(1, n), random_people(1, 40)
    own = model.predict(x)
    found, others = model.certify(x), model.counterexample(x)
    assert {c.outcome for c in found} == {Outcome.CERTIFIED, Outcome.COUNTEREXAMPLE}
    for i, (certificate, other) in enumerate(zip(found, others, strict=True)):
        assert certificate.predicted == own[i]
        assert (other is None) == certificate.is_certified
        if other is not None:
            assert model.predict(other[None])[0] != own[i]
    t = torch.linspace(-1, 1, 5)[:, None].repeat(1, n) / n**0.5
    similar = model.similar(x, t)
    assert similar.shape == (40, 5, 20)
    torch.testing.assert_close(similar[:, 2], x)
    same = (model.predict(similar.flatten(0, 1)).view(40, 5) == own[:, None]).all(1)
    assert all(same[c.person] for c in found if c.is_certified)


@pytest.mark.parametrize("method", ["smoothed-modular", "smoothed-joint"])
def test_the_smoothed_model_answers_as_its_certificates_say(method: str) -> None:
    model, x = fair_model(5, length=0.2), random_people(5, 12)
    certified = {c.person: c.predicted for c in model.certify(x, method) if c.is_certified}
    assert certified
    answers = model.predict_smoothed(x, method, seed=1)
    assert all(answers[person] in (predicted, None) for person, predicted in certified.items())
    with pytest.raises(UserError, match="no smoothed model"):
        model.predict_smoothed(x, "exact-joint")


@pytest.mark.parametrize("method", ["smoothed-modular", "smoothed-joint"])
def test_a_person_gets_the_same_certificate_wherever_they_stand(method: str) -> None:
    model, x = fair_model(5, length=0.2), random_people(5, 6)
    whole, alone = model.certify(x, method), model.certify(x[4:], method)
    assert [c.figures for c in alone] == [c.figures for c in whole[4:]]
    assert [c.person for c in alone] == [0, 1]
    answers = model.predict_smoothed(x, method)
    assert model.predict_smoothed(x.flip(0), method) == answers[::-1]


def test_it_is_saved_and_loaded_as_it_was(tmp_path: Path) -> None:
    stream = Stream(0, "g")
    glow = Glow(GlowSettings(size=8, levels=2, flows=1, hidden=4), stream=stream)
    images = torch.randint(0, 256, (6, 3, 8, 8), dtype=torch.uint8, generator=stream.torch())
    glow.initialise(images[:4].float() / 256 - 0.5)
    model = fair_model(2, flow=glow.freeze(), q=glow.latent_dim)
    model.save(tmp_path / "model")
    again = FairModel.load(tmp_path / "model")
    assert again.certify(images) == model.certify(images)
    assert again.certify(images, "smoothed-modular") == model.certify(images, "smoothed-modular")
    assert repr(again) == repr(model)


def test_classifiers_of_scikit_learn_are_taken() -> None:
    ours = fair_model(3)
    x = random_people(3, 100)
    with torch.no_grad():
        r = ours.representation(x)
    labels = (r[:, 1] > r[:, 1].median()).long().numpy()
    parts = ours.flow, ours.similarity, ours.representation
    linear = FairModel(*parts, LogisticRegression().fit(r.numpy(), labels))
    assert {c.method for c in linear.certify(x[:4])} == {"exact-joint"}
    other = FairModel(*parts, KNeighborsClassifier().fit(r.numpy(), labels))
    assert len(other.certify(x[:2], "smoothed-joint")) == 2
    assert other.predict(x[:5]).shape == (5,)
    with pytest.raises(UserError, match="can be saved"):
        other.save(Path("nowhere"))
    with pytest.raises(UserError, match="has no exact certificate"):
        other.certify(x[:2])


def test_parts_that_do_not_fit_are_refused() -> None:
    ours = fair_model(4)
    with pytest.raises(UserError, match="latents have different lengths: the flow has 21"):
        FairModel(IdentityFlow(21), ours.similarity, ours.representation, ours.classifier)
    with pytest.raises(UserError, match="takes 3 numbers, the representation gives 12"):
        wrong = LogisticRegression().fit(torch.randn(10, 3).numpy(), [0, 1] * 5)
        FairModel(ours.flow, ours.similarity, ours.representation, wrong).certify(random_people(0, 1))
