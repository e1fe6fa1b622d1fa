"""``lassi import``: published weights."""

from pathlib import Path
from typing import Annotated

import typer

from lassi.cli.command import Json, Threads, command, group, print_json
from lassi.cli.flow import print_check

app = group("Published weights: convert them to ours. Nothing in a file is ever run.")


@command(app, "glow")
def glow(
    checkpoint: Annotated[Path, typer.Argument(metavar="CHECKPOINT", help="A PyTorch state dict.")],
    size: Annotated[int, typer.Option("--size", help="Side of the pictures, which is not in the file.")],
    out: Annotated[Path, typer.Option("--out", help="The run's folder to write into.")] = Path("runs/imported"),
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Convert a Glow in the widely used PyTorch layout.

    Keys: blocks.I.flows.J.{actnorm.{loc,scale}, invconv.{w_p,w_l,w_s,w_u,s_sign} or invconv.weight,
    coupling.net.{0,2}.{weight,bias}, coupling.net.4.{conv.weight,conv.bias,scale}} and
    blocks.I.prior.{conv.weight,conv.bias,scale}, with or without a leading "module.".

    Example: lassi import glow glow_celeba_64.pt --size 64 --out runs/celeba
    """
    from lassi.base.errors import UserError
    from lassi.base.threads import use_threads
    from lassi.flow.check import check_flow, checked, drawn_to_check
    from lassi.flow.published import read_glow
    from lassi.flow.store import save_glow

    use_threads(threads)
    flow = read_glow(checkpoint, size)
    pictures = drawn_to_check(flow)
    if not check_flow(flow, pictures).is_good:
        raise UserError(
            f"{checkpoint.name}: the flow is not invertible to rounding error.",
            hint="No certificate would hold with it.",
        )
    artefact = save_glow(flow, out / "flow")
    found, report = checked(artefact, flow, pictures, None, out / "flow-check")
    if as_json:
        print_json({"flow": str(artefact.folder), "settings": flow.settings.as_json(), "check": found.as_json()})
    else:
        print_check(found)
        typer.echo(f"wrote {artefact.folder}\nwrote {report.folder}")
