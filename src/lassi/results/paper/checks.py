"""What the claims of the paper check: functions of one side of a table, which say what they saw."""

import itertools
import re
from collections.abc import Callable, Iterable

from lassi.results.paper.claim import Side, Verdict

METHODS = ("Naive", "DataAug", "LASSI")
MINOR = 1.0  # points of accuracy
SAME_LEVEL = 4.0  # points
CHOSEN_LAMBDA2 = 0.05  # by the paper, from its table


def _gains(side: Side, rows: Iterable[str], metric: str = "Fair") -> dict[str, float]:
    """By how much LASSI exceeds the better baseline, in points, for each row."""
    return {
        row: side.mean(row, f"LASSI | {metric}") - max(side.mean(row, f"{name} | {metric}") for name in METHODS[:2])
        for row in rows
    }


def _rows(side: Side, beginning: str = "") -> list[str]:
    found = [row for row in side.rows if row.startswith(beginning)]
    if not found:
        raise KeyError(beginning)
    return found


def _points(values: Iterable[float]) -> str:
    found = list(values)
    return f"{min(found):+.1f} to {max(found):+.1f} points" if len(found) > 1 else f"{found[0]:+.1f} points"


def gain(beginning: str = "") -> Callable[[Side], Verdict]:
    def check(side: Side) -> Verdict:
        gains = _gains(side, _rows(side, beginning))
        return Verdict(min(gains.values()) > 0, _points(gains.values()))

    return check


def _gained_accuracy(side: Side, beginning: str = "") -> list[float]:
    """By how much LASSI is more accurate than Naive, in points, for each row."""
    return [side.mean(row, "LASSI | Acc") - side.mean(row, "Naive | Acc") for row in _rows(side, beginning)]


def accuracy_kept(side: Side) -> Verdict:
    gained = _gained_accuracy(side, "Smiling")
    return Verdict(min(gained) >= -MINOR - 1e-9, _points(gained))


def more_accurate(beginning: str = "") -> Callable[[Side], Verdict]:
    def check(side: Side) -> Verdict:
        gained = _gained_accuracy(side, beginning)
        return Verdict(min(gained) > 0, _points(gained))

    return check


def augmentation_is_not_enough(side: Side) -> Verdict:
    rows = _rows(side)
    naive, augmented, lassi = (sum(side.mean(row, f"{name} | Fair") for row in rows) / len(rows) for name in METHODS)
    return Verdict(naive < augmented < lassi, f"mean certified share {naive:.1f}%, {augmented:.1f}%, {lassi:.1f}%")


def complex_sets_are_harder(side: Side) -> Verdict:
    rows = [row for row in _rows(side, "Smiling") if re.search("Pale|Young", row)]
    single, double, triple = (
        min(side.mean(row, "LASSI | Fair") for row in rows if row.count("+") == number) for number in range(3)
    )
    return Verdict(single > double > triple, f"{single:.1f}%, {double:.1f}%, {triple:.1f}%")


def low_variance(side: Side) -> Verdict:
    rows = _rows(side)
    means = [sum(side.sd(row, f"{name} | Fair") for row in rows) / len(rows) for name in METHODS]
    words = ", ".join(f"{name} {value:.1f}" for name, value in zip(METHODS, means, strict=True))
    return Verdict(means[2] < min(means[:2]), f"mean standard deviation {words}")


def certified_at_least(share: float, is_meant: Callable[[str], bool]) -> Callable[[Side], Verdict]:
    def check(side: Side) -> Verdict:
        shares = [
            side.mean(row, column)
            for row in _rows(side)
            for column in side.columns(row)
            if column.split(" | ")[-1] == "Fair" and is_meant(column)
        ]
        reached = sum(found > share for found in shares)
        return Verdict(reached == len(shares), f"{min(shares):.1f}% to {max(shares):.1f}%, {reached} of {len(shares)}")

    return check


def supervision_helps(side: Side) -> Verdict:
    without, with_some = "Transfer λ1=0", "Transfer λ1=0.01"
    gains = {
        metric: [
            side.mean(row, f"{with_some} | {metric}") - side.mean(row, f"{without} | {metric}") for row in _rows(side)
        ]
        for metric in ("Acc", "Fair")
    }
    words = f"accuracy {_points(gains['Acc'])}, certified {_points(gains['Fair'])}"
    return Verdict(min(gains["Acc"]) > 0 and min(gains["Fair"]) >= 0, words)


def known_task_is_best(side: Side) -> Verdict:
    rows = _rows(side)
    best = [max(side.columns(row), key=lambda c: side.mean(row, c) if c.endswith("Fair") else -1.0) for row in rows]
    wins = sum(column.startswith("LASSI") for column in best)
    return Verdict(2 * wins > len(rows), f"in {wins} of {len(rows)} tasks")


def ends_favour_lassi(side: Side) -> Verdict:
    rows = _rows(side)
    best = sum(side.mean(row, "LASSI") > max(side.mean(row, name) for name in METHODS[:2]) for row in rows)
    return Verdict(2 * best > len(rows), f"in {best} of {len(rows)} rows")


def coefficient_noise_matters_little(side: Side) -> Verdict:
    """By how much accuracy varies over σ_cs, for each σ_rs."""
    rows = [row for row in _rows(side, "Pale_Skin") if row.endswith("Acc")]
    spans = [
        max(side.mean(row, column) for row in rows) - min(side.mean(row, column) for row in rows)
        for column in side.columns(rows[0])
    ]
    return Verdict(max(spans) <= MINOR, f"at most {max(spans):.1f} points")


def radius_is_least_in_the_middle(side: Side) -> Verdict:
    radii = {row.split("σ_cs ")[1]: side.mean(row, "Mean r_cs") for row in side.rows if row.startswith("Pale_Skin")
             and "Mean r_cs" in side.columns(row)}  # fmt: skip
    least = min(radii, key=lambda sigma: radii[sigma])
    return Verdict(least in ("0.6", "0.65"), f"at σ_cs = {least}")


def _by_lambda2(side: Side, metric: str, column: str = "σ_rs 2.5") -> dict[float, float]:
    rows = [row for row in _rows(side, "Pale_Skin") if row.endswith(metric)]
    return {float(row.split("λ2 ")[1].split(" |")[0]): side.mean(row, column) for row in rows}


def lambda2_raises_fairness(side: Side) -> Verdict:
    fair = _by_lambda2(side, "Fair")
    rising = [fair[value] for value in sorted(fair) if value <= CHOSEN_LAMBDA2]
    holds = all(after > before for before, after in itertools.pairwise(rising))
    return Verdict(holds, f"{rising[0]:.1f}% at λ2 = {min(fair):g}, {rising[-1]:.1f}% at λ2 = {CHOSEN_LAMBDA2:g}")


def fairness_levels_off(side: Side) -> Verdict:
    fair = _by_lambda2(side, "Fair")
    beyond = [fair[value] - fair[CHOSEN_LAMBDA2] for value in sorted(fair) if value > CHOSEN_LAMBDA2]
    return Verdict(max(map(abs, beyond)) <= SAME_LEVEL, _points(beyond))


def lambda2_keeps_accuracy(side: Side) -> Verdict:
    accuracy = _by_lambda2(side, "Acc")
    span = max(accuracy.values()) - min(accuracy.values())
    return Verdict(span <= SAME_LEVEL, f"{min(accuracy.values()):.1f}% to {max(accuracy.values()):.1f}%")


def young_is_fairest(side: Side) -> Verdict:
    shares = {row.split(" | ")[1]: side.mean(row, "z_G | Test") for row in _rows(side, "Smiling")}
    fairest = max(shares, key=lambda name: shares[name])
    return Verdict(fairest == "Young", f"{fairest}, {shares[fairest]:.1f}%")


def shapes_gain(side: Side) -> Verdict:
    gains = [
        side.mean("orientation", f"LASSI | {m}") - side.mean("orientation", f"Naive | {m}") for m in ("Acc", "CertFair")
    ]
    return Verdict(min(gains) > 0, f"accuracy {gains[0]:+.1f} points, certified {gains[1]:+.1f} points")


def shapes_are_treated_alike(side: Side) -> Verdict:
    unfair = side.mean("orientation", "LASSI | EmpUnfair")
    return Verdict(unfair <= 1.0, f"{unfair:.1f}% of the scenes treated differently")
