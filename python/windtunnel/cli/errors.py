"""Turns exceptions into one message and an exit code, for all commands."""

import os
import sys
from typing import Any

import typer
from typer.core import TyperGroup

from windtunnel._core import MemoryLimitError, ScenarioError
from windtunnel.errors import InputError, reason

RUN_FAILED = 1
WRONG_INPUT = 2
INTERRUPTED = 130


class RunFailedError(RuntimeError):
    """A run that failed although its input was valid."""


class Commands(TyperGroup):
    """The group of commands, which turns what they raise into a message on stderr and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was typed."""
        try:
            result = super().invoke(ctx)
            # Flush here, not at the interpreter's exit: only now does a full disk or a closed pipe behind stdout show.
            sys.stdout.flush()
        except BrokenPipeError:
            _forget_output()  # `windtunnel list | head`: the reader has read all it wanted
        except (InputError, ScenarioError) as error:
            _stop(str(error), WRONG_INPUT)
        except RunFailedError as error:
            _stop(str(error), RUN_FAILED)
        except MemoryLimitError as error:
            _stop(str(error), WRONG_INPUT)
        except MemoryError:
            _stop("there is not enough memory for this run; record less, or at longer intervals", RUN_FAILED)
        except KeyboardInterrupt:
            _stop("stopped; nothing was written", INTERRUPTED)
        except OSError as error:
            if error.filename is not None:
                raise  # an unforeseen error of a file: a defect, which deserves its traceback
            _forget_output()
            _stop(f"standard output cannot be written: {reason(error)}", WRONG_INPUT)
        else:
            return result


def _stop(message: str, code: int) -> None:
    typer.echo(message if message.startswith("error") else f"error: {message}", err=True)
    raise typer.Exit(code)


def _forget_output() -> None:
    """Discard what is still buffered for stdout: it cannot be written, and Python would complain at exit."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)
