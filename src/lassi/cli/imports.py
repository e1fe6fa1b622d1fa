"""``lassi import``: convert published weights."""

from pathlib import Path
from typing import Annotated

import typer

from lassi.cli.command import MOST_PIXELS, Json, Threads, command, echo, group, print_json
from lassi.cli.flow import print_check

app = group("Published weights: convert them for lassi. Code in a file is never run.")


@command(app, "glow")
def glow(
    checkpoint: Annotated[Path, typer.Argument(metavar="CHECKPOINT", help="A PyTorch state dict.")],
    size: Annotated[
        int,
        typer.Option(
            "--size", min=1, max=MOST_PIXELS, help="Height and width of the pictures (not stored in the file)."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", help="The folder of the run to write to.")] = Path("runs/imported"),
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Convert a Glow in the widely used PyTorch layout.

    Keys: blocks.I.flows.J.{actnorm.{loc,scale}, invconv.{w_p,w_l,w_s,w_u,s_sign} or invconv.weight,
    coupling.net.{0,2}.{weight,bias}, coupling.net.4.{conv.weight,conv.bias,scale}} and
    blocks.I.prior.{conv.weight,conv.bias,scale}, with or without a leading "module.". A flow that is not
    invertible up to rounding error is refused. It is taken to see 5-bit pictures, as in the paper.

    Example: lassi import glow glow_celeba_64.pt --size 64 --out runs/celeba
    """
    from lassi.base.errors import UserError
    from lassi.base.progress import for_stream
    from lassi.base.threads import use_threads
    from lassi.flow.check import check_flow, checked, samples_to_check
    from lassi.flow.imported import read_glow
    from lassi.flow.store import save_glow

    use_threads(threads)
    flow = read_glow(checkpoint, size)
    pictures = samples_to_check(flow)
    if not check_flow(flow, pictures, progress=for_stream()).is_good:
        raise UserError(
            f"{checkpoint.name}: the flow is not invertible up to rounding error, so certificates would not be valid.",
            hint="Use a different checkpoint.",
        )
    artefact = save_glow(flow, out / "flow")
    found, report = checked(artefact, flow, pictures, None, out / "flow-check")
    if as_json:
        print_json({"flow": str(artefact.folder), "settings": flow.settings.as_json(), "check": found.as_json()})
    else:
        print_check(found)
        echo(f"wrote {artefact.folder}\nwrote {report.folder}")


Out = Annotated[Path, typer.Option("--out", help="The folder to write.")]


@command(app, "vectors")
def vectors(
    files: Annotated[list[Path], typer.Argument(metavar="FILE.npz…", help="Files with one vector each.")],
    flow: Annotated[Path, typer.Option("--flow", help="The folder of the run or flow they belong to.")],
    attribute: Annotated[str, typer.Option("--attribute", help="The attribute they change.")],
    out: Out,
    as_json: Json = False,
) -> None:
    """Convert attribute vectors to directions.

    Each file holds arrays arr_0, arr_1, …, one per level of the flow. Several files give a single set of directions.

    Example: lassi import vectors young.npz --flow runs/celeba --attribute Young --out runs/celeba/young
    """
    from lassi.base.artefact import Artefact
    from lassi.flow.store import flow_folder, load_glow
    from lassi.similarity.imported import read_vectors, save_vectors

    folder = flow_folder(flow)
    found = read_vectors(files, load_glow(folder).latent_shapes)
    kept = save_vectors(found, attribute, out, flow=Artefact(folder).content)
    _wrote(
        out, {"attribute": attribute, "vectors": found.shape[1], "norms": kept.vectors.norm(dim=0).tolist()}, as_json
    )


@command(app, "representation")
def representation(
    file: Annotated[Path, typer.Argument(metavar="FILE.pth", help="A PyTorch state dict.")],
    out: Out,
    as_json: Json = False,
) -> None:
    """Convert a representation.

    Keys: encoder.mlp.N.* (alternating Linear and BatchNorm) and output_layer.running_{mean,var}.

    Example: lassi import representation encoder.pth --out runs/celeba/r
    """
    from lassi.representation.imported import read_representation
    from lassi.representation.train import save_representation

    found = read_representation(file)
    save_representation(found, out)
    _wrote(out, {"latent_dim": found.latent_dim, "widths": list(found.widths)}, as_json)


@command(app, "classifier")
def classifier(
    file: Annotated[Path, typer.Argument(metavar="FILE.pth", help="A PyTorch state dict.")],
    out: Out,
    as_json: Json = False,
) -> None:
    """Convert a linear classifier.

    Keys: proj.weight and proj.bias.

    Example: lassi import classifier classifier.pth --out runs/celeba/c
    """
    from lassi.consumer.classifier import save_classifier
    from lassi.consumer.imported import read_classifier

    found = read_classifier(file)
    save_classifier(found, out)
    _wrote(out, {"dim": found.dim, "num_classes": found.num_classes}, as_json)


def _wrote(out: Path, figures: dict[str, object], as_json: bool) -> None:
    if as_json:
        print_json({"out": str(out), **figures})
    else:
        echo("; ".join(f"{name} {value}" for name, value in figures.items()) + f"\nwrote {out}")
