"""A campaign file to a campaign. A message names file, line and key, what is allowed, and the nearest name."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from windtunnel._core import ScenarioError
from windtunnel.campaign.errors import CampaignError
from windtunnel.campaign.model import Campaign
from windtunnel.campaign.places import Lines, line_of_error
from windtunnel.errors import InputError, did_you_mean
from windtunnel.experiment.axes import Axis, Block
from windtunnel.scenario import Scenario, checked
from windtunnel.scenario_file import STDIN, folder_of, named_file, read_text

KEYS = (
    "title", "scenario", "scenarios", "axes", "seeds", "offsets", "metrics", "baseline", "until", "max", "statistics",
    "claim", "twin", "quick",
)  # fmt: skip
STATISTICS = ("confidence", "interval", "correction")
BLOCKS = ("grid", "zip")
#: The most bytes that the scenario files of a campaign have together, each as often as it is named.
MOST_BYTES = 100_000_000


def read(path: Path, *, allow_read: Sequence[str | Path] = ()) -> Campaign:
    """The campaign of a file, or of the standard input (``-``). Raises InputError."""
    name = "standard input" if path == STDIN else str(path)
    return parse(read_text(path), file=name, folder=folder_of(path), allow_read=allow_read)


def parse(text: str, *, file: str, folder: Path = Path(), allow_read: Sequence[str | Path] = ()) -> Campaign:
    """The campaign of a text. Scenario files are in ``folder``; ``file`` is the name that messages give."""
    table = toml_table(text, file)
    source = Source(file, Lines(text.replace("\r\n", "\n")))
    try:
        campaign = _campaign(table, source, folder, allow_read)
    except CampaignError as error:
        raise source.located(error) from None
    return campaign._with(source=source)


def toml_table(text: str, file: str) -> dict[str, Any]:
    """The table of a TOML text. Raises InputError with file and line."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = line_of_error(error)
        where = f"{file}:{line}" if line else file
        raise InputError(f"{where}: is no TOML: {str(error).partition(' (at ')[0]}") from None
    except RecursionError:
        raise InputError(f"{file}: is nested too deeply") from None


class Source:
    """The file of a campaign: says where in it an error is."""

    def __init__(self, file: str, lines: Lines) -> None:
        self.file, self._lines = file, lines

    def located(self, error: CampaignError) -> InputError:
        """The same error with file and line."""
        # An error that names only the axis does not name its block.
        named = len(error.path) == 2 and error.path[0] == "axes" and isinstance(error.path[1], str)
        line = self._lines.line_of_axis(str(error.path[1])) if named else self._lines.line(error.path)
        where = f"{self.file}:{line}" if line else self.file
        return InputError(f"{where}: {error}")


def _campaign(table: Mapping[str, Any], source: Source, folder: Path, allow_read: Sequence[str | Path]) -> Campaign:
    check_keys([], table, KEYS)
    statistics = _table(table, "statistics")
    check_keys(["statistics"], statistics, STATISTICS)
    title = table.get("title", "")
    if not isinstance(title, str):
        raise CampaignError(["title"], f"{title!r} is not allowed: a text", title)
    return Campaign(
        scenarios_of(table, source, folder, allow_read),
        axes=blocks_of(table.get("axes", {})),
        seeds=table.get("seeds"),
        offsets=table.get("offsets", False),
        metrics=table.get("metrics", {}),
        baseline=table.get("baseline", ()),
        until=table.get("until"),
        max_runs=table.get("max"),
        title=title,
        claims=table.get("claim", ()),
        twin=table.get("twin"),
        quick=table.get("quick"),
        **statistics,
    )


def check_keys(path: Sequence[str | int], table: Mapping[str, Any], allowed: Sequence[str]) -> None:
    """Refuse keys that a table does not have. Raises CampaignError."""
    for key in table:
        if key not in allowed:
            problem = f"is not a key here; the keys are {', '.join(allowed)}{did_you_mean(key, allowed)}"
            raise CampaignError([*path, key], problem, key)


def _table(table: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = table.get(key, {})
    if not isinstance(value, Mapping):
        raise CampaignError([key], f"{value!r} is not allowed: a table", value)
    return value


def scenarios_of(
    table: Mapping[str, Any], source: Source, folder: Path, allow_read: Sequence[str | Path]
) -> Scenario | dict[str, Scenario]:
    """The scenario of a campaign, or several by name. Raises InputError."""
    if ("scenario" in table) == ("scenarios" in table):
        both = "scenario" in table
        problem = "and `scenario` are the same: give one of them" if both else "is missing: a scenario file, or a table"
        raise CampaignError(["scenarios" if both else "scenario"], problem)
    value = table.get("scenario", table.get("scenarios"))
    if "scenario" in table and isinstance(value, Mapping):
        return Scenario.from_table(value, file=source.file, allow_read=allow_read)
    if isinstance(value, str):
        return _file(["scenario"], value, folder, allow_read)
    if isinstance(value, list) and value:
        names = [Path(each).stem if isinstance(each, str) else "" for each in value]
        if len(set(names)) < len(names):
            problem = f'two are called {max(names, key=names.count)}: give them names: [scenarios] NAME = "FILE"'
            raise CampaignError(["scenario"], problem)
        return _files(
            (((name, ["scenario"], each) for name, each in zip(names, value, strict=True))), folder, allow_read
        )
    if isinstance(value, Mapping) and value:
        return _files(((name, ["scenarios", name], each) for name, each in value.items()), folder, allow_read)
    raise CampaignError(
        ["scenario"], f"{value!r} is not allowed: the name of a file, a list of such, or a table", value
    )


def _files(
    named: Iterable[tuple[str, list[str | int], object]], folder: Path, allow_read: Sequence[str | Path]
) -> dict[str, Scenario]:
    scenarios: dict[str, Scenario] = {}
    left = MOST_BYTES
    for name, path, file in named:
        scenarios[name] = _file(path, file, folder, allow_read)
        left -= len(scenarios[name].to_toml())
        if left < 0:
            raise CampaignError(path, f"the scenario files have more than {MOST_BYTES / 1e6:.0f} MB together", file)
    return scenarios


def _file(path: Sequence[str | int], name: object, folder: Path, allow_read: Sequence[str | Path]) -> Scenario:
    if not isinstance(name, str) or not name:
        raise CampaignError(path, f"{name!r} is not allowed: the name of a scenario file", name)
    try:
        checked(allow_read)
        return Scenario.from_file(named_file(name, folder, allow_read), allow_read=allow_read)
    except ScenarioError:
        raise
    except InputError as error:
        raise CampaignError(path, str(error), name) from None


def blocks_of(value: object, key: str = "axes") -> list[Block]:
    """The axes of the table ``key``. Raises CampaignError."""
    several = isinstance(value, list)
    blocks = []
    for index, table in enumerate(value if isinstance(value, list) else [value]):
        path: list[str | int] = [key, index] if several else [key]
        if not isinstance(table, Mapping):
            raise CampaignError(path, f"{table!r} is not allowed: a table with `grid` or `zip`", table)
        for kind, axes in table.items():
            if kind not in BLOCKS:
                problem = f"is not a key here: axes are in `grid` or `zip`{did_you_mean(kind, BLOCKS)}"
                raise CampaignError([*path, kind], problem, kind)
            blocks.append(_block([*path, kind], kind, axes))
    return blocks


def _block(path: list[str | int], kind: Any, table: object) -> Block:
    if not isinstance(table, Mapping):
        raise CampaignError(path, f"{table!r} is not allowed: a table of axes", table)
    axes = []
    for name, spec in dotted(table):
        try:
            axes.append(Axis.of(name, spec))
        except InputError as error:
            raise CampaignError([*path, *name.split(".")], str(error), spec) from None
    try:
        return Block(kind, tuple(axes))
    except InputError as error:
        raise CampaignError(path, str(error).removeprefix(f"{kind}: ")) from None


#: Keys of an axis that is a table, by which it is told from a part of a dotted key.
_AXIS = {"values", "range", "from", "to", "key", "keys"}


def dotted(table: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """Axes by their names. ``flow.0.rtt = [...]`` without quotes is a table in a table, and means the same."""
    pairs: list[tuple[str, Any]] = []
    for key, value in table.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping) and value and not _AXIS & set(value):
            pairs += dotted(value, f"{name}.")
        else:
            pairs.append((name, value))
    return pairs
