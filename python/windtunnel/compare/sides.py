"""What is compared: result folders and scenarios, or data sets of campaigns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from windtunnel.campaign.dataset import is_dataset
from windtunnel.campaign.results import CampaignResult
from windtunnel.campaign.results import load as load_campaign
from windtunnel.errors import InputError
from windtunnel.folder import load
from windtunnel.result import RunResult
from windtunnel.scenario import Scenario


@dataclass(frozen=True)
class RunSide:
    """A run; ``scenario`` runs it again."""

    name: str
    result: RunResult
    scenario: Scenario


@dataclass(frozen=True)
class CampaignSide:
    """The data set of a campaign."""

    name: str
    data: CampaignResult


def open_sides(
    paths: Sequence[Path], *, settings: Sequence[str] = (), allow_read: Sequence[Path] = ()
) -> list[RunSide] | list[CampaignSide]:
    """The sides, of one kind. Scenario files are run. Raises InputError, ScenarioError."""
    if len(paths) < 2:
        raise InputError("compare: two or more are needed: the baseline first, then what is compared with it")
    names = _names(paths)
    sweeps = [is_dataset(path) for path in paths]
    if all(sweeps):
        return [CampaignSide(name, load_campaign(path)) for name, path in zip(names, paths, strict=True)]
    if any(sweeps):
        other, data = paths[sweeps.index(False)], paths[sweeps.index(True)]
        raise InputError(f"{other}: is no campaign, but {data} is: runs are compared with runs")
    scenarios = {
        path: Scenario.from_file(path, overrides=settings, allow_read=allow_read) for path in paths if not path.is_dir()
    }
    for scenario in scenarios.values():
        scenario.check()
    sides = []
    for name, path in zip(names, paths, strict=True):
        if path in scenarios:
            sides.append(RunSide(name, scenarios[path].run(), scenarios[path]))
            continue
        result = load(path)
        text = str(result.meta["scenario_toml"])
        again = Scenario.from_toml(text, file=str(path / "scenario.toml"), allow_read=allow_read)
        sides.append(RunSide(name, result, again))
    return sides


def _names(paths: Sequence[Path]) -> list[str]:
    """What sides are called: the last part of their paths, or the whole ones where these are the same."""
    short = [path.resolve().name if path.is_dir() else path.stem for path in paths]
    counts = Counter(short)
    names = [name if counts[name] == 1 else str(path) for name, path in zip(short, paths, strict=True)]
    return [name if names.count(name) == 1 else f"{name} ({index + 1})" for index, name in enumerate(names)]
