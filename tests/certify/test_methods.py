"""One method, one place: a fifth certificate takes one class and one registration."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from lassi.base.compute import Compute
from lassi.certify.certificate import Certificate, Outcome
from lassi.certify.method import Method, People, SmoothedMethod, Subject
from lassi.certify.methods import METHODS, register
from lassi.certify.people import Certifier
from lassi.certify.settings import Certification
from lassi.pipeline.stages import run_recipe
from lassi.recipe.recipe import load_recipe
from lassi.results.paper.shown import Pictures
from lassi.results.store import read_results
from lassi.results.tables import tables
from networks import random_model, random_people, random_set

NANO = Path(__file__).parents[1] / "nano.toml"


@dataclass(frozen=True)
class Coin:
    """What a coin depends on."""

    boxes: int


class Hopeful(Method[Coin]):
    """Certifies everybody with an even number; for this test alone."""

    name = "hopeful"
    title = "hopeful"
    meaning = "Certifies every other person, for no reason."

    def plan(self, settings: Certification, radius: float, sigma_rs: float) -> Coin:  # noqa: ARG002
        return Coin(settings.max_boxes)

    def certify(self, subject: Subject, people: People, plan: Coin) -> list[Certificate]:  # noqa: ARG002
        found = (Outcome.NOT_CERTIFIED if number % 2 else Outcome.CERTIFIED for number in people.numbers)
        radius = subject.similar.radius
        return [Certificate(n, self.name, o, 0, radius) for n, o in zip(people.numbers, found, strict=True)]

    def _surplus(self, certificate: Certificate) -> float:  # noqa: ARG002
        return 1.0


@pytest.fixture
def hopeful(monkeypatch: pytest.MonkeyPatch) -> Hopeful:
    monkeypatch.setitem(METHODS, "hopeful", METHODS["exact-joint"])  # undone after the test
    method = Hopeful()
    register(method)
    return method


def test_a_fifth_certificate_appears_in_recipes_results_page_and_tables(hopeful: Hopeful, tmp_path: Path) -> None:
    recipe = load_recipe(str(NANO), ["certify.methods=['hopeful', 'exact-joint']"])
    run = run_recipe(recipe, tmp_path / "run", compute=Compute(threads=1))
    results = read_results(run.folder)
    people = run.people("test")
    for cell in results.cells:
        assert cell.certificates["hopeful"].outcomes.certified == sum(people % 2 == 0)
        assert cell.certificates["hopeful"].truth is not None, "the first is compared with the truth"
    (table,) = tables(results, Pictures("shapes", 16))
    assert "hopeful" in table.columns
    page = (run.folder / "report.html").read_text()
    assert hopeful.meaning in page
    assert '<th scope="col" class="n">hopeful</th>' in page
    changed = load_recipe(str(NANO), ["certify.methods=['hopeful']", "certify.n=2000"])
    again = run_recipe(changed, run.folder, compute=Compute(threads=1, replace=True))
    files = list((again.folder / "certificates").glob("*hopeful*.jsonl"))
    assert len(files) == len(run.cells), "a setting that it never looks at keeps its certificates"


def test_a_fifth_certificate_appears_in_help() -> None:
    program = f"""
import sys
sys.path[:0] = {[str(NANO.parent), str(Path(__file__).parent)]!r}
from lassi.certify.methods import register
from test_methods import Hopeful
register(Hopeful())
sys.argv = ["lassi", "certify", "--help"]
from lassi.cli.main import main
main()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "exact-modular, hopeful" in " ".join(done.stdout.split())


def test_every_method_says_what_it_is_and_what_it_depends_on() -> None:
    assert list(METHODS) == ["smoothed-modular", "smoothed-joint", "exact-joint", "exact-modular"]
    for name, method in METHODS.items():
        assert method.name == name
        assert method.meaning.endswith(".")
        plan = method.plan(Certification(), 1.0, 0.5)
        assert plan == method.plan(Certification(methods=(name,)), 1.0, 0.5)
        certifier = Certifier(method, Subject(random_model(0), random_set(0)), plan)
        json.dumps(certifier.settings_hash)


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("name", ["smoothed-modular", "smoothed-joint", "exact-joint", "exact-modular"])
def test_the_surplus_is_positive_for_the_certified_and_grows_as_the_radius_shrinks(name: str, n: int) -> None:
    settings = Certification(n=2000, n0=2000, n_rs=5000, n_rs0=500)
    model, z, method = random_model(20 + n), random_people(20 + n, 24), METHODS[name]
    length = 0.15 if name == "smoothed-modular" else 0.8  # so that not everybody is certified
    surpluses = []
    for radius in (1.0, 0.5):
        similar = random_set(20 + n, n, radius=radius, length=length)
        found = Certifier.of(name, Subject(model, similar), settings, sigma_rs=0.3)(People(z, range(24)))
        surpluses.append([method.surplus(certificate) for certificate in found])
        assert {certificate.is_certified for certificate in found} == {True, False}, "both happen"
        for certificate, surplus in zip(found, surpluses[-1], strict=True):
            if certificate.is_certified:
                assert 0 < surplus < float("inf")
            else:
                assert surplus == -float("inf")
    if not isinstance(method, SmoothedMethod):
        assert all(small >= large for large, small in zip(*surpluses, strict=True))
