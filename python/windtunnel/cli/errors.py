"""Turns exceptions into one message and an exit code, for all commands."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import click
from click.exceptions import Exit

from windtunnel._core import MemoryLimitError, ScenarioError
from windtunnel.cli.signals import received
from windtunnel.cli.streams import prepare_streams
from windtunnel.errors import InputError, RunFailedError, StoppedError, reason
from windtunnel.printable import printable, printable_lines

RUN_FAILED = 1
WRONG_INPUT = 2
INTERRUPTED = 130


class Commands(click.Group):
    """The group of commands, which turns what they raise into a message on stderr and an exit code."""

    def make_context(self, *args: Any, **options: Any) -> Any:
        """Read the command line; ``--help`` and ``--version`` print here."""
        with _one_message():
            prepare_streams()
            return super().make_context(*args, **options)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was typed."""
        with _one_message():
            return super().invoke(ctx)


@contextmanager
def _one_message() -> Iterator[None]:
    try:
        with _flushed():
            yield
    except BrokenPipeError:
        _forget_output()  # `windtunnel list | head`: the reader has read all it wanted
        raise Exit from None
    except InputError as error:
        _stop(printable(str(error)), WRONG_INPUT)
    except ScenarioError as error:
        _stop(printable_lines(str(error)), WRONG_INPUT)
    except RunFailedError as error:
        _stop(printable_lines(str(error)), RUN_FAILED)
    except MemoryLimitError as error:
        _stop(printable(str(error)), WRONG_INPUT)
    except MemoryError:
        _stop("there is not enough memory for this run; record less, or at longer intervals", RUN_FAILED)
    except ImportError as error:
        _stop(f"a library cannot be loaded: {printable(str(error))}", RUN_FAILED)
    except StoppedError as stop:
        _stop(printable(str(stop)), INTERRUPTED)
    except KeyboardInterrupt:
        _stop("stopped; nothing was written", INTERRUPTED)
    except OSError as error:
        if error.filename is not None:
            _stop(f"{printable(str(error.filename))}: {reason(error)}", RUN_FAILED)
        _forget_output()
        _stop(f"standard output cannot be written: {reason(error)}", WRONG_INPUT)


@contextmanager
def _flushed() -> Iterator[None]:
    """Flush stdout here, not at the interpreter's exit, so that a full disk or a closed pipe is noticed here."""
    try:
        yield
    except Exit:
        sys.stdout.flush()
        raise
    sys.stdout.flush()


def _stop(message: str, code: int) -> NoReturn:
    # What fails on the way out after a signal is its consequence.
    if received() is not None and code != INTERRUPTED:
        raise Exit(code)
    click.echo(message if message.startswith("error") else f"error: {message}", err=True)
    raise Exit(code)


def _forget_output() -> None:
    """Discard what is still buffered for stdout: it cannot be written, and Python would complain at exit."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)
