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
