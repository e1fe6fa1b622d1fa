"""The figures in docs/results are those that the commands printed, kept beside them as JSON."""

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent.parent / "docs/results"
PAGE = (RESULTS / "flow.md").read_text()


def printed(name: str) -> Any:
    return json.loads((RESULTS / name).read_text())


def test_the_training_is_as_its_artefact_says() -> None:
    figures = printed("flow-training.json")["figures"]
    assert f"| validation | {figures['bits_per_dim']:.3f} bits/dim |" in PAGE
    assert figures["bits_per_dim"] <= 1.30
    assert f"{figures['curve'][-1]['step']:,} steps" in PAGE


def test_the_round_trips_are_as_the_check_printed() -> None:
    found = printed("flow-check.json")
    assert found["is_good"]
    assert found["displacements"] == 49
    for trip in found["round_trips"]:
        errors = [f"{trip[name]:.1e}" for name in ("pixels", "latents", "pixels64", "latents64")]
        assert f"| {trip['length']:g} | {' | '.join(errors)} | {trip['outside']:.2%} |" in PAGE


def test_the_ratios_are_as_the_bench_printed_and_reach_their_bars() -> None:
    bars = {"train_step": 1.4, "normflows_train_step": 1.4, "decode": 2.0}
    for row in printed("flow-bench.json")["rows"]:
        form = "{:.0f} MB" if row["unit"].startswith("MB") else "{:.3f} s"
        cells = [form.format(row["ours_s"]), form.format(row["plain_s"]), f"{row['ratio']:.2f}"]
        assert f"| {row['name']} | {' | '.join(cells)} |" in PAGE
        assert row["ratio"] >= bars.get(row["name"], 0.0)
        assert row["name"] != "memory_32_over_4_flows" or row["ratio"] <= 1.5


REPRESENTATIONS = (RESULTS / "representations.md").read_text()


def test_shapes_are_as_the_run_wrote_and_reach_their_bars() -> None:
    found = printed("representations-shapes.json")
    figures = {cell["method"]: cell["figures"] for cell in found["cells"]}
    for method, of in figures.items():
        truth = of["truth"]
        cells = [
            f"{of['test']['accuracy']:.1%}",
            f"{truth['accuracy']:.1%}",
            f"{truth['unfair_scenes']} of {truth['scenes']}",
            f"{of['distance']:.4f}",
            f"{of['end_points_equal']:.1%}",
        ]
        assert f"| {method} | {' | '.join(cells)} |" in REPRESENTATIONS
    naive, lassi = figures["naive"], figures["lassi"]
    assert naive["truth"]["unfair_scenes"] >= 5 * lassi["truth"]["unfair_scenes"]
    assert naive["distance"] >= 50 * lassi["distance"]
    (truth,) = found["truth"]
    for name, estimate in (("coverage of the set", truth["coverage"]["of_set"]), ("reach", truth["coverage"]["reach"])):
        interval = f"{estimate['low']:.3f} to {estimate['high']:.3f}"
        assert f"| {name} | {estimate['mean']:.3f} | {interval} |" in REPRESENTATIONS


def test_faces_are_as_the_run_wrote_and_reach_their_bars() -> None:
    found = printed("representations-faces.json")
    by_attribute: dict[str, dict[str, Any]] = {}
    for row in found["summary"]:
        assert row["seeds"] == 3
        by_attribute.setdefault(row["sensitive"][0], {})[row["method"]] = row["figures"]
    assert set(by_attribute) == {"Young", "Blond_Hair", "Heavy_Makeup", "Pale_Skin"}
    for attribute, methods in by_attribute.items():
        accuracies = {method: figures["test.accuracy"] for method, figures in methods.items()}
        points = 100 * (accuracies["lassi"]["mean"] - accuracies["naive"]["mean"])
        assert points >= -1.5
        assert methods["lassi"]["test.people"]["mean"] == 2000
        cells = [f"{accuracies[m]['mean']:.1%} ± {accuracies[m]['sd']:.1%}" for m in ("naive", "lassi")]
        assert f"| {attribute} | {' | '.join(cells)} | {points:+.2f} |" in REPRESENTATIONS
    assert {(b["baseline"], b["seed"]) for b in found["baselines"]} == {
        (kind, seed) for kind in ("resnet", "mlp") for seed in (42, 0, 10)
    }


def test_training_is_as_fast_as_its_bench_printed() -> None:
    rows = {row["name"]: row for row in printed("train-bench.json")["rows"]}
    assert rows["lassi_over_naive_epoch"]["ratio"] <= 2
    assert rows["lassi_epoch"]["ratio"] >= 3
    for name, row in rows.items():
        cells = f"{row['ours_s']:.3f} s | {row['plain_s']:.3f} s | {row['ratio']:.2f}"
        assert f"| {name} | {cells} |" in REPRESENTATIONS
