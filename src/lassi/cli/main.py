"""The program ``lassi``."""

import sys
from importlib.metadata import version as installed_version
from typing import Annotated

import typer

from lassi.base.draft import DISTRIBUTION
from lassi.cli import (
    attack,
    bench,
    certify,
    data,
    demo,
    directions,
    flow,
    imports,
    recheck,
    report,
    reproduce,
    run,
    runs,
    sweep,
)
from lassi.cli.command import INTERRUPTED, USERS_ERROR, group, prepare_streams, reported, warn

ABOUT = """Proves, person by person, that an image classifier gives the same answer to everybody who differs
from that person only in chosen attributes, such as skin tone, age, hair colour or orientation.

Start with `lassi demo`. Add --help to any command for details."""

app = group(ABOUT, context_settings={"help_option_names": ["-h", "--help"]})
demo.add_to(app)
run.add_to(app)
app.add_typer(data.app, name="data")
app.add_typer(flow.app, name="flow")
directions.add_to(app)
certify.add_to(app)
attack.add_to(app)
recheck.add_to(app)
reproduce.add_to(app)
sweep.add_to(app)
report.add_to(app)
runs.add_to(app)
app.add_typer(imports.app, name="import")
app.add_typer(bench.app, name="bench")

Version = Annotated[bool, typer.Option("--version", help="Print the version.")]


@app.callback(invoke_without_command=True)
def lassi(context: typer.Context, version: Version = False) -> None:
    if version:
        typer.echo(f"lassi {installed_version(DISTRIBUTION)}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """Run the command line; a usage error also counts as the user's, with that exit code."""
    prepare_streams()
    try:
        sys.exit(app(standalone_mode=False))
    except (KeyboardInterrupt, typer.Abort):
        sys.exit(INTERRUPTED)
    except Exception as error:
        if not hasattr(error, "format_message"):  # not a usage error, whose class typer does not export
            sys.exit(reported(error))
        context = getattr(error, "ctx", None)
        path = context.command_path if context else "lassi"
        warn(str(error.format_message()), f"Run `{path} --help` for its options.")
        sys.exit(USERS_ERROR)


if __name__ == "__main__":
    main()
