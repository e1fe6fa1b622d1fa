"""Flows saved as artefacts."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from lassi.base.artefact import META, Artefact
from lassi.base.draft import new_artefact
from lassi.base.errors import UserError
from lassi.base.identity import Identity
from lassi.base.modules import built, tensors_hash
from lassi.base.streams import Stream
from lassi.flow.glow import Glow, GlowSettings

STAGE = "flow"
VERSION = 1  # increase it whenever the same settings give different weights


def flow_identity(
    glow: GlowSettings, training: Mapping[str, Any], *, data: str | None = None, seed: int | None = None
) -> Identity:
    """What a flow is made from: its settings, how it was trained (or its weights), and the data."""
    settings = {"glow": glow.as_json(), "training": dict(training)}
    return Identity(STAGE, VERSION, settings, {"data": data} if data else {}, seed)


def save_glow(
    glow: Glow,
    folder: Path,
    identity: Identity | None = None,
    figures: Mapping[str, Any] | None = None,
    *,
    replace: bool = False,
) -> Artefact:
    """Write a flow; without an identity it is identified by its weights."""
    identity = identity or flow_identity(glow.settings, {"weights": tensors_hash(glow.state_dict())})
    with new_artefact(folder, identity, replace=replace) as draft:
        draft.write_tensors(glow.state_dict())
        draft.figures.update(figures or {})
    return Artefact(folder)


def load_glow(folder: Path, device: torch.device | None = None) -> Glow:
    """Read a flow, frozen; it never initialises itself again.

    Args:
        device: where it computes; by default on the host.
    """
    artefact = Artefact(folder)
    if artefact.identity.stage != STAGE:
        raise UserError(f"'{folder}' holds a {artefact.identity.stage}, not a flow.", hint="Give a flow's folder.")
    with artefact.understood():
        settings = GlowSettings.from_json(artefact.identity.settings["glow"])
        called = f"the flow in '{folder}'"
        glow = built(lambda: Glow(settings, stream=Stream(0, "flow/unused")), artefact.tensors(), called=called)
        glow.fingerprint = artefact.content
        return glow.to(device).freeze()


def flow_folder(run: Path) -> Path:
    """The folder of a run's flow; if the folder is a flow itself, that folder."""
    return run / "flow" if (run / "flow" / META).is_file() else run
