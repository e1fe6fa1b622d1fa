"""Settings in which our models differ from the paper's stand below the table, with the rows they are about."""

from types import SimpleNamespace
from typing import Any

from lassi.recipe.cells import ModelSpec
from lassi.results.paper.differences import settings_that_differ
from lassi.results.paper.figures import Figure
from lassi.results.paper.tables import table_named


def ours(figure: Figure, **changes: Any) -> Any:
    """A model as the paper has it, but for some settings."""
    about = figure.about
    weights = {"lambda1": 1.0, "lambda2": about.lambda2, "lambda3": about.lambda3, "samples": 10}
    sigma_rs = about.sigma_rs if "sigma_rs" not in changes else changes.pop("sigma_rs")
    question = SimpleNamespace(radius=about.radius)
    return SimpleNamespace(question=question, model=ModelSpec(about.method or "", weights | changes, sigma_rs or 0.0))


def test_a_model_with_the_papers_settings_needs_no_words() -> None:
    for name in ("results", "transfer", "fairface", "lassi-grid", "shapes"):
        table = table_named(name)
        data = table.figures[0].about.dataset
        found = settings_that_differ(table, data, lambda figure: ours(figure) if figure.about.sigma_rs else None)
        assert found == [], name


def test_what_differs_is_said_for_the_rows_it_is_about() -> None:
    def model(figure: Figure) -> Any:
        if figure.about.method != "lassi":
            return ours(figure)
        return ours(figure, lambda2=3.0, sigma_rs=1.0) if figure.row.startswith("Smiling") else None

    assert settings_that_differ(table_named("results"), "celeba", model) == [
        "LASSI (Smiling · Pale_Skin, Smiling · Young, Smiling · Blond_Hair, Smiling · Heavy_Makeup, "
        "Smiling · Pale+Young, Smiling · Pale+Young+Blond): λ2 = 3, σ_rs = 1; in the paper λ2 = 0.05, σ_rs = 2.5."
    ]


def test_each_value_of_the_papers_is_named() -> None:
    """Earrings with Heavy_Makeup has λ2 = 0.25 in the paper, all other rows 0.05."""
    found = settings_that_differ(table_named("results"), "celeba", lambda figure: ours(figure, sigma_rs=1.0))
    assert any("LASSI" in own and own.endswith("σ_rs = 1; in the paper σ_rs = 2.5.") for own in found)
    found = settings_that_differ(
        table_named("results"), "celeba", lambda figure: ours(figure, lambda2=0.05) if figure.about.lambda2 else None
    )
    assert found == ["LASSI (Earrings · Heavy_Makeup): λ2 = 0.05; in the paper λ2 = 0.25."]
