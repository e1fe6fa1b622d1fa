"""The claims that the paper makes about its tables."""

from collections.abc import Callable

from lassi.results.paper import checks
from lassi.results.paper.claim import CheckedClaim, Claim, Side, Verdict
from lassi.results.paper.compare import ComparedFigure, ComparedTable
from lassi.results.summary import Spread


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


_MORE = "LASSI certifies more people than both baselines"
_BETTER = Claim(f"{_MORE}, for every sensitive set.", checks.gain())
_NOT_ENOUGH = Claim("Data augmentation helps, but is not enough.", checks.augmentation_is_not_enough)
_TABLE_1 = [
    _BETTER,
    _NOT_ENOUGH,
    Claim("On Smiling, LASSI loses little accuracy compared with Naive (at most 1 point).", checks.accuracy_kept),
    Claim("On Earrings, which is imbalanced, LASSI is more accurate than Naive.", checks.more_accurate("Earrings")),
    Claim(
        "The more attributes of Pale_Skin, Young and Blond_Hair a set has, the fewer people are certified.",
        checks.complex_sets_are_harder,
    ),
]
_PERPENDICULAR = [
    Claim(f"{_MORE}, for every sensitive set (in the paper by up to 16%).", checks.gain()),
]

CLAIMS: dict[str, list[Claim]] = {
    "results": _TABLE_1,
    "results-sd": [
        *_TABLE_1,
        Claim("LASSI's certified share varies less between seeds than the baselines'.", checks.low_variance),
    ],
    "results-128": [
        Claim(f"{_MORE} on Smiling (in the paper by up to 77%).", checks.gain("Smiling")),
        Claim("At 128×128, LASSI is more accurate than Naive, for every sensitive set.", checks.more_accurate()),
    ],
    "perpendicular": _PERPENDICULAR,
    "perpendicular-sd": _PERPENDICULAR,
    "other-directions": [
        Claim(f"{_MORE}, along decorrelated directions (in the paper by up to 9.7%).", checks.gain("decorrelated")),
        Claim(f"{_MORE}, along discovered directions (in the paper by up to 6.1%).", checks.gain("discovered")),
    ],
    "transfer": [
        Claim(
            "More than 80% are certified for Pale_Skin, Young and Blond_Hair together, on every task.",
            checks.certified_at_least(80.0, lambda column: column.count("+") == 2),
        ),
        Claim(
            "More than 90% are certified for the simpler sets, on every task.",
            checks.certified_at_least(90.0, lambda column: column.count("+") < 2),
        ),
    ],
    "transfer-sd": [
        Claim(
            "More than 80% are certified on Smiling, for every sensitive set.",
            checks.certified_at_least(80.0, lambda _: True),
        )
    ],
    "fairface": [
        Claim(f"{_MORE}, on every task (in the paper by up to 90%).", checks.gain()),
        Claim(
            "A little supervision of R (λ1 = 0.01) helps transfer: more accurate, and as many certified.",
            checks.supervision_helps,
        ),
        Claim("Most people are certified when the task is known: in most tasks.", checks.known_task_is_best),
    ],
    "end-points": [
        Claim(
            "LASSI answers alike at the ends of S(x) more often than the baselines, in most rows.",
            checks.ends_favour_lassi,
        )
    ],
    "empirical-fairness": [
        Claim("Young is the attribute for which a classifier on latents is fairest.", checks.young_is_fairest)
    ],
    "naive-grid": [
        Claim("σ_cs hardly changes the accuracy (by at most 1 point).", checks.coefficient_noise_matters_little),
        Claim("The mean d_cs is smallest at σ_cs = 0.6 or 0.65.", checks.radius_is_least_in_the_middle),
    ],
    "lassi-grid": [
        Claim("A larger λ2 certifies more people, up to λ2 = 0.05.", checks.lambda2_raises_fairness),
        Claim("Beyond λ2 = 0.05, as many are certified (within 4 points).", checks.fairness_levels_off),
        Claim(
            "The accuracy is mostly unaffected by λ2 (within 4 points, at σ_rs = 2.5).", checks.lambda2_keeps_accuracy
        ),
    ],
    "shapes": [
        Claim("LASSI is more accurate than Naive and certifies more people.", checks.shapes_gain),
        Claim("LASSI treats nearly all scenes alike (at most 1% differently).", checks.shapes_are_treated_alike),
    ],
}
