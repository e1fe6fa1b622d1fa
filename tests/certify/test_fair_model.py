"""The whole model, from pictures on."""

from dataclasses import replace
from pathlib import Path

import pandas
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from lassi import FairModel, Outcome
from lassi.base.errors import UserError
from lassi.base.streams import Stream
from lassi.certify.along.model import Model
from lassi.certify.exact.attack import attack_people
from lassi.certify.fair_model import _numbers
from lassi.certify.methods import METHODS
from lassi.certify.settings import Certification
from lassi.flow.copies import Copier
from lassi.flow.glow import Glow, GlowSettings
from lassi.flow.protocol import IdentityFlow
from lassi.similarity.sets import SimilaritySet
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
    given = {person: answers[person] for person in certified if answers[person] is not None}
    assert len(given) > len(certified) / 2, "most get an answer; the others abstain, which is always allowed"
    assert given.items() <= certified.items()
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
    with pytest.raises(UserError, match="takes 3 numbers, but the representation has 12"):
        wrong = LogisticRegression().fit(random_people(0, 10, 3).numpy(), [0, 1] * 5)
        FairModel(ours.flow, ours.similarity, ours.representation, wrong).certify(random_people(0, 1))


def deficient(seed: int = 5, length: float = 3.0) -> FairModel:
    """Five directions of rank two: what is searched along the basis is reported along the directions."""
    model = fair_model(seed, 2, length=length)
    mix = torch.tensor([[1.0, 0.0, 0.5, 0.7, -0.2], [0.0, 1.0, 0.5, -0.7, 0.3]])
    similar = SimilaritySet(model.similarity.directions @ mix, 1.0)
    assert (similar.rank, similar.num_directions) == (2, 5)
    return FairModel(model.flow, similar, model.representation, model.classifier, 0.5)


def test_t_means_the_same_wherever_it_is_seen() -> None:
    """A counterexample's t leads, through similar(), to the picture that gets the other class."""
    model, x = deficient(), random_people(5, 30)
    found = [c for c in model.certify(x, "exact-joint") if c.counterexample is not None]
    assert found
    for certificate in found:
        t = torch.tensor([certificate.counterexample.t])
        assert t.shape == (1, 5)
        assert t.norm() <= 1 + 1e-6
        there = model.similar(x[certificate.person : certificate.person + 1], t)[0]
        assert model.predict(there).item() == certificate.counterexample.predicted != certificate.predicted
    attacks = attack_people(model.model, x, range(30), model.similarity, seed=0)
    hits = [attack for attack in attacks if attack.nearest is not None]
    assert hits
    for attack in hits:
        t = torch.tensor([attack.nearest.t])
        assert attack.distance == pytest.approx(t.norm().item(), rel=1e-5)
        there = model.similar(x[attack.person : attack.person + 1], t * (1 + 1e-4))[0]
        assert model.predict(there).item() == attack.nearest.predicted != attack.predicted


def test_coefficients_of_the_basis_and_of_the_directions_lead_to_the_same_place() -> None:
    similar = deficient().similarity
    v = similar.uniform(40, stream=Stream(0, "v")).double()
    t = similar.along_directions(v)
    assert torch.allclose(t.norm(dim=1), v.norm(dim=1), rtol=1e-9)
    assert torch.allclose(t @ similar.directions.double().T, v @ similar.basis64.T, atol=1e-9)


def test_a_counterexample_that_rounding_could_undo_is_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    model, x = fair_model(1), random_people(1, 40)
    refuted = [c.person for c in model.certify(x) if c.outcome is Outcome.COUNTEREXAMPLE]
    assert refuted
    logits = Model.logits

    def unsure(self, *latents, **options):
        found = logits(self, *latents, **options)
        return replace(found, error=found.error + 100.0)

    monkeypatch.setattr(Model, "logits", unsure)
    for again in model.certify(x[refuted]):
        assert again.outcome is Outcome.UNDECIDED
        assert again.counterexample is None


def test_every_prediction_is_that_of_the_certified_network() -> None:
    """Folded, in float64: float32 alone has lost every digit of these margins, and decides otherwise."""
    ours = fair_model(1)
    ours.representation.linears[0].bias.data += 2e6
    ours.representation.norms[0].running_mean += 2e6
    model, x = replace(ours), random_people(1, 40)
    found = [certificate.predicted for certificate in model.certify(x)]
    assert model.predict(x).tolist() == model.model.predict(x).tolist() == found
    plain = model.classifier(model.representation(x)).argmax(1).tolist()
    assert plain != found


def test_memory_is_bounded_by_a_chunk_of_people(monkeypatch: pytest.MonkeyPatch) -> None:
    model, x = fair_model(1, 3), random_people(1, 70)
    seen = []
    certify = METHODS["exact-joint"].certify
    monkeypatch.setattr(
        METHODS["exact-joint"], "certify", lambda s, people, plan: seen.append(len(people)) or certify(s, people, plan)
    )
    encoded = []
    monkeypatch.setattr(IdentityFlow, "encode", lambda self, z: encoded.extend(z[:, 0].tolist()) or z)  # noqa: ARG005
    assert len(model.certify(x)) == 70
    assert max(seen) == 16
    assert sum(seen) == 70
    encoded.clear()
    model.counterexample(x)
    assert sorted(encoded) == sorted(x[:, 0].tolist()), "pictures are encoded once"


def test_a_sequence_of_certificates_shows_itself() -> None:
    model, x = fair_model(1), random_people(1, 40)
    found = model.certify(x)
    assert len(found) == len(list(found)) == 40
    assert found[3] == list(found)[3]
    assert len(found[:5]) == 5
    records = found.to_records()
    frame = pandas.DataFrame(records)
    assert frame["certified"].sum() == sum(c.is_certified for c in found)
    assert {"person", "outcome", "predicted", "margin", "slack"} <= set(frame.columns)
    text, html = repr(found), found._repr_html_()
    assert text.startswith("40 certificates (exact-joint): ")
    assert "… and 20 more" in text
    assert html.count("<tr>") == 21
    assert "counterexample" in html
    assert sum(found.counts().values()) == 40


def test_a_shared_budget_is_that_of_the_smoothed_model_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """With family = "all" the model that predicts is the one that is certified."""
    ours = fair_model(5, length=0.2)
    model = replace(ours, settings=Certification(n=3000, n0=3000, n_rs=2000, n_rs0=200, family="all"))
    plans, method = [], METHODS["smoothed-modular"]
    for name in ("certify", "predict"):
        plain = getattr(method, name)
        monkeypatch.setattr(
            method, name, lambda s, p, plan, plain=plain, **more: plans.append(plan) or plain(s, p, plan, **more)
        )
    model.certify(random_people(5, 6), "smoothed-modular", people=24)
    model.predict_smoothed(random_people(5, 6), people=24)
    assert len(plans) == 2
    assert plans[0] == plans[1]


def test_a_shared_budget_needs_the_number_of_all_people() -> None:
    """Calls that each spend a whole budget would together spend a multiple of it."""
    model = replace(fair_model(5, length=0.2), settings=Certification(n=3000, n0=3000, n_rs=2000, family="all"))
    x = random_people(5, 6)
    for work in (
        lambda **how: model.certify(x, "smoothed-modular", **how),
        lambda **how: model.predict_smoothed(x, **how),
    ):
        with pytest.raises(UserError, match=r"6 are given, but their total number is not given.* Give people=N"):
            work()
        with pytest.raises(UserError, match="6 are given, but people is 5"):
            work(people=5)
    parts = [model.certify(x[row : row + 1], "smoothed-modular", people=6)[0] for row in range(6)]
    assert sum(certificate.alpha for certificate in parts) <= 0.006 * (1 + 1e-12)
    assert list(model.certify(x, "smoothed-modular", people=6)) == [replace(c, person=n) for n, c in enumerate(parts)]


@pytest.mark.parametrize("shape", [(0, 20), (0, 3, 8, 8)])
def test_nobody_is_refused_in_one_sentence(shape: tuple[int, ...]) -> None:
    with pytest.raises(UserError, match="The pictures have shape"):
        fair_model(1).certify(torch.zeros(shape))


class Nosy(IdentityFlow):
    """A flow that depends on its batch and its threads: in the last bits, as convolutions do, but on any processor."""

    def encode(self, x: torch.Tensor) -> torch.Tensor:
        return super().encode(x) * (1 + 1e-6 * len(x) + 1e-5 * torch.get_num_threads())


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_a_picture_has_the_same_certificate_alone_in_a_batch_and_on_any_number_of_threads(threads: int) -> None:
    model, x = fair_model(3, flow=Nosy(20)), random_people(3, 24)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(threads)
        together, alone = model.latents(x), torch.cat([model.latents(one[None]) for one in x])
        certified, single = model.certify(x), [model.certify(one[None])[0] for one in x]
    finally:
        torch.set_num_threads(before)
    assert torch.equal(together, alone)
    assert torch.equal(together, x * (1 + 1e-6 + 1e-5)), "one picture, one thread"
    assert [c.figures for c in certified] == [c.figures for c in single]


def glow_model(seed: int = 2, length: float = 2.0) -> tuple[FairModel, torch.Tensor]:
    """A model of pictures, and 8-bit pictures."""
    stream = Stream(seed, "g")
    glow = Glow(GlowSettings(size=8, levels=2, flows=1, hidden=4), stream=stream)
    images = torch.randint(0, 256, (12, 3, 8, 8), dtype=torch.uint8, generator=stream.torch())
    glow.initialise(images[:4].float() / 256 - 0.5)
    return fair_model(seed, flow=glow.freeze(), q=glow.latent_dim, length=length), images


def test_certificates_of_pictures_include_their_copies() -> None:
    """By hand: copies drawn, encoded and certified as pictures of their own, with the class of the original."""
    model, images = glow_model(length=4.0)
    alone, found = model.certify(images, "exact-joint"), model.certify(images, under="noise")
    certified = [own for own in found if own.figures.get("held") is not None]
    assert 0 < len(certified) < len(images)
    for certificate in certified:
        image, original = images[certificate.person], alone[certificate.person]
        number = _numbers(image[None])[0]
        copies = Copier.under(model.flow, "noise", 59, seed=0).pictures(image.numpy(), number)
        held = sum(c.is_certified and c.predicted == original.predicted for c in model.certify(copies, "exact-joint"))
        assert certificate.figures["held"] == held
        assert certificate.is_certified == (held == 59)
        assert certificate.predicted == original.predicted
    for other in set(range(len(images))) - {own.person for own in certified}:
        assert found[other].outcome == alone[other].outcome


def test_a_picture_has_the_same_certificate_with_its_copies_wherever_it_stands() -> None:
    model, images = glow_model(length=0.5)
    whole = model.certify(images, under="noise")
    assert [c.figures for c in model.certify(images[7:], under="noise")] == [c.figures for c in whole[7:]]


def test_copies_of_what_is_no_8_bit_picture_are_refused() -> None:
    model, images = glow_model()
    with pytest.raises(UserError, match=r"8-bit pictures that a Glow encodes, not of torch\.float32"):
        model.certify(model.flow.pixels.quantise(images), under="noise")
    with pytest.raises(UserError, match=r"not of torch\.float32 for IdentityFlow"):
        fair_model(3).certify(random_people(3, 4), under="noise")
    with pytest.raises(UserError, match="averages over its own noise"):
        model.certify(images, "smoothed-joint", under="noise")
