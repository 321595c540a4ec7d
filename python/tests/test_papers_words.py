"""One word, one bar: the table of words serves all suites, and no check spells a word's bar out or bends it."""

import math
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from windtunnel import papers
from windtunnel.experiment.expectation import Expected, Limits
from windtunnel.experiment.words import word, words

DATA = Path(papers.__file__).parent


def checks() -> Iterator[tuple[str, dict[str, Any], str]]:
    """Every expectation of every suite's data: where it is, what it expects, and why."""
    for path in sorted(DATA.glob("*/data/**/*.toml")):
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        for experiment in data.get("experiment", ()):
            for check in (c for c in experiment["check"] if "expect" in c):
                yield f"{path.name}: {experiment['id']}/{check['id']}", check["expect"], check.get("why", "")
        for claim in (c for c in data.get("claim", ()) if "expected" in c):
            expected = {key: value for key, value in claim["expected"].items() if key != "why"}
            yield f"{path.name}: {claim['id']}", expected, claim["expected"].get("why", "")


def test_the_bars_of_ratios_shares_and_parts() -> None:
    """0.9 to 1.1 of a ratio is 9/19 to 11/21 of the share; a part is what it is; percent are hundredths."""
    assert word("equal").limits("ratio") == Limits(0.9, 1.1)
    share = word("equal").limits("share")
    assert (share.low, share.high) == (pytest.approx(9 / 19), pytest.approx(11 / 21))
    assert word("starved").limits("share", percent=True) == Limits(90.0, math.inf, strict=True)
    assert word("fair").limits("jain").low == 0.95
    assert word("equal").around_one == 0.1
    with pytest.raises(ValueError, match="'equal' says nothing about a jain; it does about: ratio"):
        word("equal").limits("jain")
    with pytest.raises(ValueError, match="'alike' is no word of words"):
        word("alike")


def test_the_fair_share_has_the_fair_index() -> None:
    """Both bars of "fair" say the same of two flows: Jain's index of the shares at the border is the index's bar."""
    for share in (word("fair").limits("share").low, word("fair").limits("share").high):
        index = 1.0 / (2.0 * (share**2 + (1.0 - share) ** 2))
        assert index == pytest.approx(word("fair").limits("jain").low, abs=1e-3)


def test_complements_leave_no_gap_and_do_not_overlap() -> None:
    """What is equal or better is not significantly less; what is more than slight is significant."""
    assert word("no-worse").limits("ratio").low == word("significantly-less").limits("ratio").high
    assert word("slightly").limits("ratio").high == word("significantly-more").limits("ratio").low
    assert word("fair").limits("share").low == word("less-than-fair").limits("share").high


def test_every_word_is_used_and_says_where_its_bar_comes_from() -> None:
    """A bar has a reason and a source; every word of the table is used, and no phrase has two bars."""
    used = {expect["word"] for _, expect, _ in checks() if "word" in expect}
    assert used == set(words())
    phrases = [phrase for each in words().values() for phrase in each.says]
    assert len(phrases) == len(set(phrases))
    assert all(each.reason and each.source for each in words().values())


@pytest.mark.parametrize(("where", "expect", "why"), list(checks()))
def test_a_reason_that_uses_a_word_has_its_bar(where: str, expect: dict[str, Any], why: str) -> None:
    """A check whose reason is one of the table's phrases names the word, and does not spell out a bar of its own."""
    assert Expected.of(expect).limits is not None
    if "word" in expect:
        return
    for each in words().values():
        for phrase in each.says:
            said = re.search(rf"\b{re.escape(phrase)}\b", why)
            assert not said, f"{where} says {phrase!r} and expects {expect}: name the word {each.name!r}"
    bounds = expect.get("within")
    spelled = [each.name for each in words().values() if bounds and Limits(*bounds) in each.bars.values()]
    assert not spelled, f"{where} spells out the bar of {spelled}"
