"""The documentation: what is built is up to date, what is measured reaches its bars, links and code work."""

import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import pytest

from lassi.results.paper.claims import checked

REPOSITORY = Path(__file__).parent.parent
DOCS = REPOSITORY / "docs"
RESULTS = DOCS / "results"


def builder() -> Any:
    spec = importlib.util.spec_from_file_location("build", DOCS / "build.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


BUILD = builder()


@pytest.mark.parametrize("path", list(BUILD.pages()), ids=lambda path: path.name)
def test_what_is_built_is_up_to_date(path: Path) -> None:
    assert path.read_text() == BUILD.pages()[path], "run: make results"


def test_every_claim_of_the_paper_that_does_not_hold_has_a_reason_and_no_other() -> None:
    tables, reasons = BUILD.paper_tables(), BUILD.paper_reasons()
    failing = {
        (name, claim.words)
        for name, found in tables.items()
        for claim in checked(found)
        if claim.ours is not None and not claim.ours.holds
    }
    assert {(name, words) for name, own in reasons.items() for words in own} == failing


def slugs(page: Path) -> set[str]:
    """The anchors of a page's headings, as they are made on GitHub."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_of_the_code_to_proofs_resolve() -> None:
    found = []
    for path in (REPOSITORY / "src").rglob("*.py"):
        for page, anchor in re.findall(r"(docs/[\w/]+\.md)(?:#([\w-]+))?", path.read_text()):
            assert (REPOSITORY / page).is_file(), f"{path.name}: {page}"
            assert not anchor or anchor in slugs(REPOSITORY / page), f"{path.name}: {page}#{anchor}"
            found.append(anchor)
    assert len(set(found)) > 12, "the code links to its proofs"


def test_every_local_link_leads_somewhere() -> None:
    for page in [*REPOSITORY.glob("*.md"), *DOCS.glob("**/*.md")]:
        if page.parent.name == "templates":
            continue
        for link, anchor in re.findall(r"\]\(([^)#:]*)(?:#([\w-]+))?\)", page.read_text()):
            target = page.parent / link if link else page
            assert target.exists(), f"{page.name}: {link}"
            assert not anchor or anchor in slugs(target), f"{page.name}: {link}#{anchor}"


def test_files_named_in_the_architecture_exist() -> None:
    text = (DOCS / "architecture.md").read_text()
    names = re.findall(
        r"`((?:base|data|flow|similarity|representation|consumer|certify|recipe|run|results|report|pipeline|bench|cli)/[\w/.]*)`",
        text,
    )
    assert len(names) > 40
    for name in names:
        assert (REPOSITORY / "src/lassi" / name).exists(), name


def measured(name: str) -> Any:
    return json.loads((RESULTS / f"{name}.json").read_text())


def test_the_flow_reaches_its_bars() -> None:
    assert measured("flow-training")["figures"]["bits_per_dim"] <= 1.30
    check = measured("flow-check")
    assert check["is_good"]
    assert check["displacements"] == 49
    bars = {"train_step": 1.4, "normflows_train_step": 1.4, "decode": 2.0}
    for row in measured("flow-bench")["rows"]:
        assert row["ratio"] >= bars.get(row["name"], 0.0)
        assert row["name"] != "memory_32_over_4_flows" or row["ratio"] <= 1.5


def test_training_is_as_fast_as_its_bars() -> None:
    rows = {row["name"]: row for row in measured("train-bench")["rows"]}
    assert rows["lassi_over_naive_epoch"]["ratio"] <= 2
    assert rows["lassi_epoch"]["ratio"] >= 3


def test_certificates_are_as_fast_as_their_bars() -> None:
    bars = {
        "smoothed-modular-n1": 500,
        "smoothed-modular-quadrature-n1": 500,
        "smoothed-modular-n3": 40,
        "smoothed-joint-n3": 30,
        "exact-joint-n1": 1000,
        "exact-joint-n3": 500,
    }
    rows = {row["name"]: row for row in measured("certify-bench")["rows"]}
    assert set(rows) == {*bars, *(f"{name}-naive" for name in bars)}
    for name, row in rows.items():
        assert row["ratio"] >= bars.get(name, 0)


def test_shapes_reach_their_bars() -> None:
    models = {(m.question.kind, m.model.method): m for m in BUILD.models("shapes")}
    naive, lassi = models["pairs", "naive"], models["pairs", "lassi"]
    assert naive.certificates["smoothed-modular"].share.mean <= 0.05
    assert lassi.certificates["smoothed-modular"].share.mean >= 0.80
    truth = lassi.certificates["smoothed-modular"].first.truth
    assert truth.unfair / truth.scenes <= 0.05
    assert naive.first.truth.unfair_scenes >= 5 * lassi.first.truth.unfair_scenes
    assert naive.distance.mean >= 50 * lassi.distance.mean
    assert [m.certificates["exact-joint"].first.outcomes.undecided for m in (naive, lassi)] == [0, 0]


def test_faces_reach_their_bars() -> None:
    by_attribute: dict[str, dict[str, Any]] = {}
    for model in BUILD.models("faces"):
        assert len(model.cells) == 3
        assert model.first.units < model.first.test.people, "several pictures of a person are one unit"
        by_attribute.setdefault(model.question.sensitive[0], {})[model.model.method] = model
    assert set(by_attribute) == {"Young", "Blond_Hair", "Heavy_Makeup", "Pale_Skin"}
    for attribute, models in by_attribute.items():
        lassi = models["lassi"].certificates
        assert lassi["smoothed-modular"].share.mean >= 0.97
        assert lassi["exact-joint"].share.mean >= 0.97
        assert all(result.end_points.certified_but_another_class == 0 for result in lassi["smoothed-modular"].results)
        if attribute != "Heavy_Makeup":  # which loses more; the page shows it
            assert models["lassi"].accuracy.mean >= models["naive"].accuracy.mean - 0.015


def test_invisible_changes_hardly_change_what_models_of_faces_predict() -> None:
    before, after = BUILD.means("meaning/faces-before"), BUILD.means("faces")
    assert after.edits["noise"] <= 0.005
    assert after.edits["jpeg-90"] <= 0.03
    assert after.any <= 0.022, "2% was aimed for"
    assert after.accuracy >= before.accuracy + 0.009, "a point was aimed for"
    for model in BUILD.models("faces"):
        if model.model.method == "lassi":
            under = {own.first.edit: own.summary.share.mean for own in model.under}
            assert under["noise"] >= 0.95
            assert under["jpeg-95"] >= 0.90


def test_the_median_certifies_at_least_as_many_as_the_ball() -> None:
    found: dict[str, dict[str, int]] = {}
    for row in measured("certificates-choices")["rows"]:
        key = json.dumps([row[name] for name in ("data", "directions", "sensitive", "model", "lambda2") if name in row])
        found.setdefault(key, {})[row["centre"]] = row["certified"]
    assert len(found) == 14
    assert all(by_centre["median"] >= by_centre["ball"] for by_centre in found.values())
