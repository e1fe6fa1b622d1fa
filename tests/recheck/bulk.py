"""Many certificates for the second check, honest and forged: ``python tests/recheck/bulk.py confirm 2000``."""

import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from itertools import count as counting
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parent.parent))  # for running it as a script

from lassi.recheck.exact.verdict import Status
from recheck.exhibits import DIRECTIONS, Exhibit, exhibits
from recheck.forgers import FORGERS


def confirm(count: int, seed: int = 0) -> dict[str, Any]:
    """Check honest certificates: how many of each kind got which verdict, and what the others were."""
    verdicts: Counter[str] = Counter()
    strange, seconds, checked = list[str](), 0.0, 0
    for own_seed in counting(1000 * seed):
        for exhibit in exhibits(own_seed, flip=2.0 if own_seed % 3 == 0 else 1.0):
            if checked == count:
                return {"checked": checked, "seconds": round(seconds, 1), **_sorted(verdicts), "strange": strange}
            began = time.perf_counter()
            verdict = exhibit.verdict()
            seconds += time.perf_counter() - began
            checked += 1
            own = exhibit.certificate
            n = DIRECTIONS[own_seed % 4]
            verdicts[f"{own.method}, n = {n}, {own.outcome.label}: {verdict.status.name.lower()}"] += 1
            verdicts[f"all: {verdict.status.name.lower()}"] += 1
            if verdict.status is not Status.CONFIRMED:
                strange.append(f"seed {own_seed}, {own}: {verdict.why}")
    raise AssertionError("unreachable")


def _sorted(counted: Counter[str]) -> dict[str, int]:
    return dict(sorted(counted.items()))


def forgeries(seed: int) -> Iterator[tuple[str, Exhibit]]:
    """Forgeries of every kind that the certificates of one model allow."""
    honest = exhibits(seed)
    for number, own in enumerate(honest):
        other = honest[(number + 1) % len(honest)]
        for kind, forger in FORGERS.items():
            forged = forger(own, other)
            if forged is not None:
                yield kind, forged


def forge(count: int, seed: int = 0) -> dict[str, Any]:
    """Check forgeries, as many of each kind as far as possible: how many are contradicted."""
    made: Counter[str] = Counter()
    caught: Counter[str] = Counter()
    missed = list[str]()
    most = -(-count // len(FORGERS))
    for own_seed in counting(1000 * seed):
        for kind, forged in forgeries(own_seed):
            if made[kind] == most:
                continue
            verdict = forged.verdict()
            made[kind] += 1
            caught[kind] += verdict.status is Status.CONTRADICTED
            if verdict.status is not Status.CONTRADICTED:
                missed.append(f"seed {own_seed}, {kind}, {forged.certificate}: {verdict.status.name}: {verdict.why}")
            if made.total() == count:
                kinds = {kind: f"{caught[kind]} of {made[kind]}" for kind in FORGERS}
                return {"made": made.total(), "caught": caught.total(), "kinds": kinds, "missed": missed}
    raise AssertionError("unreachable")


if __name__ == "__main__":
    torch.set_num_threads(1)
    _, what, number, *rest = sys.argv
    print(json.dumps({"confirm": confirm, "forge": forge}[what](int(number), *map(int, rest)), indent=1))  # noqa: T201
