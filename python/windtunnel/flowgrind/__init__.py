"""flowgrind's command lines, read as they stand: what they would measure on a testbed becomes a scenario here.

``command`` reads the arguments of flowgrind's controller, ``shell`` the loops around them, and ``scenario`` makes the
scenario. The report is written by ``windtunnel.export.flowgrind``.
"""

from windtunnel.flowgrind.command import Command, Stream, read_command
from windtunnel.flowgrind.scenario import default_path, scenario_of
from windtunnel.flowgrind.shell import Line, read_script

__all__ = ["Command", "Line", "Stream", "default_path", "read_command", "read_script", "scenario_of"]
