"""What all commands share: options, output, and how errors are reported."""

import errno
import functools
import inspect
import json
import os
import re
import shlex
import sys
import traceback
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from lassi.base.compute import MOST_THREADS
from lassi.base.errors import UserError
from lassi.base.interrupts import Terminated, ending_as_interrupt
from lassi.base.outside import shown
from lassi.base.ranges import MULTIPLE, SEED, Rule

if TYPE_CHECKING:
    from lassi.results.paper.shown import Pictures
    from lassi.results.records import Results

MOST_SHOWN = 4000  # characters in a line
WIDTH_IN_FILES = 140  # columns of a table that is not printed to a terminal
# What PyTorch, oneDNN, C++ and Python's threads say when there is no memory left.
LACK_OF_MEMORY = ("can't allocate memory", "could not create a primitive", "std::bad_alloc", "can't start new thread")
DONE, USERS_ERROR, OUR_ERROR, INTERRUPTED = 0, 1, 70, 130

MOST_PIXELS = 1024
MOST_PICTURES = 10_000  # in memory at once


def within(rule: Rule) -> Callable[[Any], Any]:
    """Refuse a value of an option that breaks a rule; NaN is within all of typer's own ranges."""

    def refuse_unfit(value: Any) -> Any:
        if value is not None and not rule.fits(value):
            raise typer.BadParameter(f"{shown(value)} is not {rule.allowed}.")
        return value

    return refuse_unfit


a_radius = within(MULTIPLE)
a_seed = within(SEED)

Json = Annotated[bool, typer.Option("--json", help="Print the result as one JSON document.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback if an error occurs.")]
Seed = Annotated[int, typer.Option("--seed", callback=a_seed, help="Seed for all random choices.")]
Threads = Annotated[
    int | None,
    typer.Option(
        "--threads", min=1, max=MOST_THREADS, help="How many threads to use.", show_default="the fastest number"
    ),
]
Root = Annotated[
    Path | None,
    typer.Option("--root", help="The folder with the dataset's files.", show_default="$LASSI_DATA/NAME or data/NAME"),
]
Device = Annotated[str, typer.Option("--device", help="The device to compute on: cpu, cuda, …")]
Size = Annotated[int, typer.Option("--size", min=1, max=MOST_PIXELS, help="The working resolution, in pixels.")]


def _certificates() -> Iterable[str]:
    from lassi.certify.methods import METHODS

    return METHODS


def _models() -> Iterable[str]:
    from lassi.representation.methods import TRAINING_METHODS

    return TRAINING_METHODS


def _kinds() -> Iterable[str]:
    from lassi.similarity.registry import KINDS

    return KINDS


def _edits() -> Iterable[str]:
    from lassi.data.edits import EDITS

    return EDITS


# The names in a registry, written in an option's help as {certificates}, {models}, {kinds}, {edits}.
REGISTRIES: dict[str, Callable[[], Iterable[str]]] = {
    "certificates": _certificates,
    "models": _models,
    "kinds": _kinds,
    "edits": _edits,
}


class HouseCommand(TyperCommand):
    """A command whose help lists the names in registries, which are imported only when help is requested."""

    def get_help(self, ctx: Any) -> str:
        for option in self.params:
            text = getattr(option, "help", None) or ""
            for name, registry in REGISTRIES.items():
                if f"{{{name}}}" in text:
                    text = text.replace(f"{{{name}}}", ", ".join(registry()))
                    option.help = text  # type: ignore[attr-defined]
        return super().get_help(ctx)


def group(about: str, **settings: Any) -> typer.Typer:
    """A group of commands that shows its help when called without a command."""
    app = typer.Typer(
        help=about, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False, **settings
    )

    @app.callback(invoke_without_command=True)
    def show_help(context: typer.Context) -> None:
        if context.invoked_subcommand is None:
            typer.echo(context.get_help())

    return app


def command(group: typer.Typer, name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a function as a command that takes ``--debug`` and reports errors in our format."""

    def register(function: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(function)
        def run(*, debug: bool, **arguments: Any) -> None:
            code = reporting_errors(lambda: function(**arguments), debug=debug)
            if code != DONE:
                raise typer.Exit(code)

        signature = inspect.signature(function)
        parameter = inspect.Parameter("debug", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Debug)
        run.__signature__ = signature.replace(parameters=[*signature.parameters.values(), parameter])  # type: ignore[attr-defined]
        run.__annotations__ = {**function.__annotations__, "debug": Debug}
        group.command(name, cls=HouseCommand, help=_with_examples(inspect.getdoc(function) or ""))(run)
        return function

    return register


def _with_examples(explained: str) -> str:
    """The same text with its examples, which end a docstring, on separate lines."""
    about, *examples = re.split(r"\s*\bExamples?:\s+", explained)
    if not examples:
        return about
    lines = [f"  {' '.join(example.split())}" for example in examples[0].split(" · ")]
    return "\n".join([about, "", "\b", "Examples:", *lines])


def reporting_errors(work: Callable[[], None], *, debug: bool = False) -> int:
    """Do the work and return the exit code; an error becomes a sentence on standard error."""
    try:
        with ending_as_interrupt():
            work()
        return DONE
    except (typer.Exit, typer.Abort):
        raise
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output has closed it
        return DONE
    except (Exception, KeyboardInterrupt) as error:
        if debug:
            traceback.print_exception(error)
        return reported(error)


def reported(error: BaseException) -> int:
    """Report an error, and return its exit code."""
    if isinstance(error, UserError):
        warn(error.sentence, error.hint)
        return USERS_ERROR
    if isinstance(error, KeyboardInterrupt):
        what = "Terminated." if isinstance(error, Terminated) else "Interrupted."
        warn(what, f"To resume, run the same command again: {shlex.join(['lassi', *sys.argv[1:]])}")
        return 128 + error.number if isinstance(error, Terminated) else INTERRUPTED
    if _is_lack_of_memory(error):
        warn("There is not enough memory.", "Close other programs, or choose smaller pictures, batches or chunks.")
        return USERS_ERROR
    if isinstance(error, OSError):
        where = f" at '{error.filename}'" if error.filename else ""
        warn(f"The operating system reports{where}: {error.strerror or error}.", _remedy(error))
        return USERS_ERROR
    warn(
        f"Internal error in lassi: {type(error).__name__}: {error}.",
        "Please report it, with the output of --debug.",
    )
    return OUR_ERROR


def _is_lack_of_memory(error: BaseException) -> bool:
    """Python, the operating system and PyTorch's libraries each have their own way of saying so."""
    is_errno = isinstance(error, OSError) and error.errno == errno.ENOMEM
    words = str(error) if isinstance(error, RuntimeError) else ""
    return isinstance(error, MemoryError) or is_errno or any(phrase in words for phrase in LACK_OF_MEMORY)


def _remedy(error: OSError) -> str:
    match error.errno:
        case errno.EMFILE | errno.ENFILE:
            return "Allow more open files, with `ulimit -n 1024`."
        case errno.ENOSPC | errno.EDQUOT:
            return "Free some space, or choose another disk with LASSI_CACHE or --out."
        case _:
            return "Check the path and its permissions."


def prepare_streams() -> None:
    """Let output that was closed go nowhere, and replace characters that a terminal cannot show."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115, open as long as the program runs
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def warn(sentence: str, hint: str) -> None:
    """Print what is wrong and the next step, on standard error."""
    echo(f"lassi: {on_one_line(sentence)}\n       {on_one_line(hint)}", err=True)


def on_one_line(text: str) -> str:
    """The text without line breaks."""
    return shown(text, most=MOST_SHOWN)


def echo(text: str, *, err: bool = False) -> None:
    """Print lines without anything that a terminal would obey: names of files may hold escape sequences."""
    typer.echo("\n".join(map(on_one_line, text.split("\n"))), err=err)


def say(sentence: str) -> None:
    """Print what is going on, on standard error."""
    echo(sentence, err=True)


def print_json(document: object) -> None:
    """One JSON document on standard output; typed records are written as their fields."""
    from pydantic_core import to_jsonable_python

    text = json.dumps(to_jsonable_python(document), indent=1, ensure_ascii=False)
    typer.echo(re.sub("[\x7f-\x9f]", lambda found: f"\\u{ord(found[0]):04x}", text))


def print_summary(results: "Results", pictures: "Pictures") -> None:
    """A table for each question of a run, what invisible changes do, and warnings."""
    from lassi.results.tables import edits_table, tables, warnings_in

    for table in tables(results, pictures):
        echo(f"\n{table.title}")
        print_table(table.columns, table.rows, right=table.columns[1:-1])
    if edits := edits_table(results):
        echo(f"\n{edits.title}")
        print_table(edits.columns, edits.rows, right=edits.columns[2:])
    for warning in warnings_in(results):
        echo(f"Warning: {warning}")


def print_table(columns: list[str], rows: list[list[str]], *, right: Collection[str] = ()) -> None:
    """A table on standard output; the columns named in ``right`` are aligned to the right, only the last may wrap."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for column in columns:
        justify: Any = "right" if column in right else "left"
        table.add_column(column, justify=justify, overflow="fold", no_wrap=column != columns[-1])
    for row in rows:
        table.add_row(*map(on_one_line, row))
    width = None if sys.stdout.isatty() else WIDTH_IN_FILES
    Console(highlight=False, markup=False, width=width).print(table)
