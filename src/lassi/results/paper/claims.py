"""The claims that the paper makes about its tables."""

import itertools
import re
from collections.abc import Callable, Iterable

from lassi.results.paper.claim import CheckedClaim, Claim, Side, Verdict
from lassi.results.paper.compare import ComparedFigure, ComparedTable
from lassi.results.summary import Spread

METHODS = ("Naive", "DataAug", "LASSI")
MINOR = 1.0  # points of accuracy
SAME_LEVEL = 4.0  # points
CHOSEN_LAMBDA2 = 0.05  # by the paper, from its table


def checked(found: ComparedTable) -> list[CheckedClaim]:
    """The claims about a table."""
    theirs, ours = theirs_of(found), _side(found, lambda figure: figure.ours)
    measured = [row for row in theirs.rows if set(theirs.columns(row)) <= set(ours.columns(row))]
    ours = ours.only(measured)
    in_part = f"in the {len(measured)} of {len(theirs.rows)} rows measured: "
    claims = CLAIMS.get(found.table.name, [])
    verdicts = [
        CheckedClaim(
            claim.words,
            claim.check(theirs),
            _judged(claim, ours, in_part if len(measured) < len(theirs.rows) else ""),
        )
        for claim in claims
    ]
    return verdicts + _about_certificates(found)


def theirs_of(found: ComparedTable) -> Side:
    """The paper's side of a table."""
    return _side(found, lambda figure: Spread(figure.theirs.mean, figure.theirs.sd))


def _side(found: ComparedTable, spread: Callable[[ComparedFigure], Spread | None]) -> Side:
    places = [(own.theirs.row, own.theirs.column, spread(own)) for own in found.figures]
    return Side((row, column, figure) for row, column, figure in places if figure is not None)


def _judged(claim: Claim, side: Side, in_part: str) -> Verdict | None:
    try:
        found = claim.check(side)
    except (KeyError, ValueError):  # a row, or all of them, is missing
        return None
    return Verdict(found.holds, in_part + found.seen)


def _about_certificates(found: ComparedTable) -> list[CheckedClaim]:
    """What the paper says about its certificates as such; its figures are in its text."""
    claims = []
    if found.table.name == "end-points" and (ends := found.end_points) is not None:
        seen = (
            f"{ends.contradicted} of {ends.models} models, at most {ends.most} people each; "
            f"{ends.another_class} people in all get a different class there, the others an abstention"
        )
        claims.append(
            CheckedClaim(
                "Hardly anybody is certified although an end of S(x) gets a different answer (at most 1% of people).",
                Verdict(True, "8 of 150 models, 1 person of 312 each"),
                Verdict(ends.most <= max(1, found.sources[0].people // 100), seen),
            )
        )
    if found.table.name == "shapes" and found.certified_but_unfair is not None:
        claims.append(
            CheckedClaim(
                "Nobody is certified in a scene whose people are truly treated differently.",
                Verdict(True, "none"),
                Verdict(
                    found.certified_but_unfair == 0, f"{found.certified_but_unfair} scenes over all models and seeds"
                ),
            )
        )
    return claims


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


def _gain(beginning: str = "") -> Callable[[Side], Verdict]:
    def check(side: Side) -> Verdict:
        gains = _gains(side, _rows(side, beginning))
        return Verdict(min(gains.values()) > 0, _points(gains.values()))

    return check


def _gained_accuracy(side: Side, beginning: str = "") -> list[float]:
    """By how much LASSI is more accurate than Naive, in points, for each row."""
    return [side.mean(row, "LASSI | Acc") - side.mean(row, "Naive | Acc") for row in _rows(side, beginning)]


def _accuracy_kept(side: Side) -> Verdict:
    gained = _gained_accuracy(side, "Smiling")
    return Verdict(min(gained) >= -MINOR - 1e-9, _points(gained))


def _more_accurate(beginning: str = "") -> Callable[[Side], Verdict]:
    def check(side: Side) -> Verdict:
        gained = _gained_accuracy(side, beginning)
        return Verdict(min(gained) > 0, _points(gained))

    return check


def _augmentation_is_not_enough(side: Side) -> Verdict:
    rows = _rows(side)
    naive, augmented, lassi = (sum(side.mean(row, f"{name} | Fair") for row in rows) / len(rows) for name in METHODS)
    return Verdict(naive < augmented < lassi, f"mean certified share {naive:.1f}%, {augmented:.1f}%, {lassi:.1f}%")


def _complex_sets_are_harder(side: Side) -> Verdict:
    rows = [row for row in _rows(side, "Smiling") if re.search("Pale|Young", row)]
    single, double, triple = (
        min(side.mean(row, "LASSI | Fair") for row in rows if row.count("+") == number) for number in range(3)
    )
    return Verdict(single > double > triple, f"{single:.1f}%, {double:.1f}%, {triple:.1f}%")


def _low_variance(side: Side) -> Verdict:
    rows = _rows(side)
    means = [sum(side.sd(row, f"{name} | Fair") for row in rows) / len(rows) for name in METHODS]
    words = ", ".join(f"{name} {value:.1f}" for name, value in zip(METHODS, means, strict=True))
    return Verdict(means[2] < min(means[:2]), f"mean standard deviation {words}")


def _certified_at_least(share: float, is_meant: Callable[[str], bool]) -> Callable[[Side], Verdict]:
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


def _supervision_helps(side: Side) -> Verdict:
    without, with_some = "Transfer λ1=0", "Transfer λ1=0.01"
    gains = {
        metric: [
            side.mean(row, f"{with_some} | {metric}") - side.mean(row, f"{without} | {metric}") for row in _rows(side)
        ]
        for metric in ("Acc", "Fair")
    }
    words = f"accuracy {_points(gains['Acc'])}, certified {_points(gains['Fair'])}"
    return Verdict(min(gains["Acc"]) > 0 and min(gains["Fair"]) >= 0, words)


def _known_task_is_best(side: Side) -> Verdict:
    rows = _rows(side)
    best = [max(side.columns(row), key=lambda c: side.mean(row, c) if c.endswith("Fair") else -1.0) for row in rows]
    wins = sum(column.startswith("LASSI") for column in best)
    return Verdict(2 * wins > len(rows), f"in {wins} of {len(rows)} tasks")


def _ends_favour_lassi(side: Side) -> Verdict:
    rows = _rows(side)
    best = sum(side.mean(row, "LASSI") > max(side.mean(row, name) for name in METHODS[:2]) for row in rows)
    return Verdict(2 * best > len(rows), f"in {best} of {len(rows)} rows")


def _coefficient_noise_matters_little(side: Side) -> Verdict:
    """By how much accuracy varies over σ_cs, for each σ_rs."""
    rows = [row for row in _rows(side, "Pale_Skin") if row.endswith("Acc")]
    spans = [
        max(side.mean(row, column) for row in rows) - min(side.mean(row, column) for row in rows)
        for column in side.columns(rows[0])
    ]
    return Verdict(max(spans) <= MINOR, f"at most {max(spans):.1f} points")


def _radius_is_least_in_the_middle(side: Side) -> Verdict:
    radii = {row.split("σ_cs ")[1]: side.mean(row, "Mean r_cs") for row in side.rows if row.startswith("Pale_Skin")
             and "Mean r_cs" in side.columns(row)}  # fmt: skip
    least = min(radii, key=lambda sigma: radii[sigma])
    return Verdict(least in ("0.6", "0.65"), f"at σ_cs = {least}")


def _by_lambda2(side: Side, metric: str, column: str = "σ_rs 2.5") -> dict[float, float]:
    rows = [row for row in _rows(side, "Pale_Skin") if row.endswith(metric)]
    return {float(row.split("λ2 ")[1].split(" |")[0]): side.mean(row, column) for row in rows}


def _lambda2_raises_fairness(side: Side) -> Verdict:
    fair = _by_lambda2(side, "Fair")
    rising = [fair[value] for value in sorted(fair) if value <= CHOSEN_LAMBDA2]
    holds = all(after > before for before, after in itertools.pairwise(rising))
    return Verdict(holds, f"{rising[0]:.1f}% at λ2 = {min(fair):g}, {rising[-1]:.1f}% at λ2 = {CHOSEN_LAMBDA2:g}")


def _fairness_levels_off(side: Side) -> Verdict:
    fair = _by_lambda2(side, "Fair")
    beyond = [fair[value] - fair[CHOSEN_LAMBDA2] for value in sorted(fair) if value > CHOSEN_LAMBDA2]
    return Verdict(max(map(abs, beyond)) <= SAME_LEVEL, _points(beyond))


def _lambda2_keeps_accuracy(side: Side) -> Verdict:
    accuracy = _by_lambda2(side, "Acc")
    span = max(accuracy.values()) - min(accuracy.values())
    return Verdict(span <= SAME_LEVEL, f"{min(accuracy.values()):.1f}% to {max(accuracy.values()):.1f}%")


def _young_is_fairest(side: Side) -> Verdict:
    shares = {row.split(" | ")[1]: side.mean(row, "z_G | Test") for row in _rows(side, "Smiling")}
    fairest = max(shares, key=lambda name: shares[name])
    return Verdict(fairest == "Young", f"{fairest}, {shares[fairest]:.1f}%")


def _shapes_gain(side: Side) -> Verdict:
    gains = [
        side.mean("orientation", f"LASSI | {m}") - side.mean("orientation", f"Naive | {m}") for m in ("Acc", "CertFair")
    ]
    return Verdict(min(gains) > 0, f"accuracy {gains[0]:+.1f} points, certified {gains[1]:+.1f} points")


def _shapes_are_treated_alike(side: Side) -> Verdict:
    unfair = side.mean("orientation", "LASSI | EmpUnfair")
    return Verdict(unfair <= 1.0, f"{unfair:.1f}% of the scenes treated differently")


_MORE = "LASSI certifies more people than both baselines"
_BETTER = Claim(f"{_MORE}, for every sensitive set.", _gain())
_NOT_ENOUGH = Claim("Data augmentation helps, but is not enough.", _augmentation_is_not_enough)
_TABLE_1 = [
    _BETTER,
    _NOT_ENOUGH,
    Claim("On Smiling, LASSI loses little accuracy compared with Naive (at most 1 point).", _accuracy_kept),
    Claim("On Earrings, which is imbalanced, LASSI is more accurate than Naive.", _more_accurate("Earrings")),
    Claim(
        "The more attributes of Pale_Skin, Young and Blond_Hair a set has, the fewer people are certified.",
        _complex_sets_are_harder,
    ),
]
_PERPENDICULAR = [
    Claim(f"{_MORE}, for every sensitive set (in the paper by up to 16%).", _gain()),
]

CLAIMS: dict[str, list[Claim]] = {
    "results": _TABLE_1,
    "results-sd": [
        *_TABLE_1,
        Claim("LASSI's certified share varies less between seeds than the baselines'.", _low_variance),
    ],
    "results-128": [
        Claim(f"{_MORE} on Smiling (in the paper by up to 77%).", _gain("Smiling")),
        Claim("At 128×128, LASSI is more accurate than Naive, for every sensitive set.", _more_accurate()),
    ],
    "perpendicular": _PERPENDICULAR,
    "perpendicular-sd": _PERPENDICULAR,
    "other-directions": [
        Claim(f"{_MORE}, along decorrelated directions (in the paper by up to 9.7%).", _gain("decorrelated")),
        Claim(f"{_MORE}, along discovered directions (in the paper by up to 6.1%).", _gain("discovered")),
    ],
    "transfer": [
        Claim(
            "More than 80% are certified for Pale_Skin, Young and Blond_Hair together, on every task.",
            _certified_at_least(80.0, lambda column: column.count("+") == 2),
        ),
        Claim(
            "More than 90% are certified for the simpler sets, on every task.",
            _certified_at_least(90.0, lambda column: column.count("+") < 2),
        ),
    ],
    "transfer-sd": [
        Claim(
            "More than 80% are certified on Smiling, for every sensitive set.",
            _certified_at_least(80.0, lambda _: True),
        )
    ],
    "fairface": [
        Claim(f"{_MORE}, on every task (in the paper by up to 90%).", _gain()),
        Claim(
            "A little supervision of R (λ1 = 0.01) helps transfer: more accurate, and as many certified.",
            _supervision_helps,
        ),
        Claim("Most people are certified when the task is known: in most tasks.", _known_task_is_best),
    ],
    "end-points": [
        Claim(
            "LASSI answers alike at the ends of S(x) more often than the baselines, in most rows.", _ends_favour_lassi
        )
    ],
    "empirical-fairness": [
        Claim("Young is the attribute for which a classifier on latents is fairest.", _young_is_fairest)
    ],
    "naive-grid": [
        Claim("σ_cs hardly changes the accuracy (by at most 1 point).", _coefficient_noise_matters_little),
        Claim("The mean d_cs is smallest at σ_cs = 0.6 or 0.65.", _radius_is_least_in_the_middle),
    ],
    "lassi-grid": [
        Claim("A larger λ2 certifies more people, up to λ2 = 0.05.", _lambda2_raises_fairness),
        Claim("Beyond λ2 = 0.05, as many are certified (within 4 points).", _fairness_levels_off),
        Claim("The accuracy is mostly unaffected by λ2 (within 4 points, at σ_rs = 2.5).", _lambda2_keeps_accuracy),
    ],
    "shapes": [
        Claim("LASSI is more accurate than Naive and certifies more people.", _shapes_gain),
        Claim("LASSI treats nearly all scenes alike (at most 1% differently).", _shapes_are_treated_alike),
    ],
}
