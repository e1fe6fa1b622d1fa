"""``lassi selftest``: passes here, and fails where something is wrong."""

import json
from dataclasses import replace
from typing import Any

import pytest
import torch

from lassi.certify.certificate import Outcome
from lassi.recheck import selftest
from lassi.recheck.selftest import SelfCheck, run_selftest


@pytest.mark.slow
def test_it_passes(lassi) -> None:
    code, out, err = lassi("selftest", "--json")
    assert code == 0, out + err
    checks = json.loads(out)
    assert len(checks) == 12
    assert all(check["passed"] for check in checks)


def only(monkeypatch: pytest.MonkeyPatch, name: str) -> SelfCheck:
    """One of the checks; the others are left out."""
    checks = selftest.all_checks()
    monkeypatch.setattr(selftest, "all_checks", lambda: {name: checks[name]})
    (found,) = run_selftest()
    return found


def certify_everybody(*arguments: Any) -> list[Any]:
    found = CERTIFY(*arguments)
    return [replace(own, outcome=Outcome.CERTIFIED, counterexample=None) for own in found]


CERTIFY = selftest._certify


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("exact-joint against known truth", "17 of 240 certificates are wrong"),
        ("exact certificates along 3 directions withstand an attack", "is certified, but was attacked"),
        ("exact certificates pass the second check, in ball arithmetic", "person "),
    ],
)
def test_wrong_certificates_are_noticed(monkeypatch: pytest.MonkeyPatch, name: str, sentence: str) -> None:
    monkeypatch.setattr(selftest, "_certify", certify_everybody)
    found = only(monkeypatch, name)
    assert not found.passed
    assert sentence in found.found


def test_encoding_that_depends_on_the_batch_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selftest, "encode_each", lambda glow, x: x.flatten(1) - x.mean())  # noqa: ARG005
    found = only(monkeypatch, "encoding does not depend on batch or threads")
    assert (found.passed, found.found) == (False, "a picture encoded alone has other bits than among others")


def test_a_flow_that_is_not_inverted_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    glow = selftest._glow()
    with torch.no_grad():
        next(p for name, p in glow.named_parameters() if name.endswith("bias")).fill_(1e30)
    monkeypatch.setattr(selftest, "_glow", lambda: glow)
    found = only(monkeypatch, "a flow is inverted")
    assert (found.passed, found.found.startswith("its round trip is off by ")) == (False, True)


def test_damage_that_goes_unnoticed_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selftest.Artefact, "tensors", lambda _: {})
    found = only(monkeypatch, "files are whole, damage is detected, locks hold")
    assert (found.passed, found.found) == (False, "a flipped bit was not noticed")


def test_an_exception_is_a_failure_and_the_exit_code_says_so(lassi, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> str:
        raise RuntimeError("no such instruction")

    monkeypatch.setattr(selftest, "all_checks", lambda: {"arithmetic": broken})
    code, out, _ = lassi("selftest")
    assert code == 1
    assert "FAILED" in out
    assert "RuntimeError: no such instruction (test_selftest.py:" in out
