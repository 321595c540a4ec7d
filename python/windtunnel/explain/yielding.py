"""Whether a sender yields. A sign of misbehaviour is congestion that goes on as no honest sender would let it.

That takes four things. None of them accuses anyone by itself.

1. *The window stays.* Most losses leave it as it was for three round trips; so do marks, where an answer would show. An
   answer to a few marks may be too small for that: DCTCP (RFC 8257) lowers its window by half of the moving average of
   the marked share. Marks count where that is a fall that shows, as it is for a sender that lets them go on.
2. *Congestion goes on.* Illinois falls by an eighth where there is no queue, and is back within the three round trips;
   BBR, Copa and PCC answer rates and delays, not single losses. No more than a tolerated part is lost for long.
3. *No law explains it.* A shadow (``shadows.py``) starts from the sender's window, hears the same losses and marks, and
   keeps its own window while they go on. A published law explains the sender if both windows keep their ratio, the
   sender's is not the larger one, and what it has given up is what the law has, but for a half. IIAD gives up two
   thirds of a segment for each loss, and Illinois gains ten segments in the round trip after an answer: over a short
   queue both lose a tenth for minutes. One answer of IIAD's or SQRT's is too small to be told from none; all of them
   together are not. Other laws explain the sender, too, if after nearly each answer it has the window that they would
   have left. A deaf sender keeps its window, or grows, while those of all shadows fall.
4. *No model explains it.* BBR, Copa, C4 and PCC Vivace send at a rate, or keep a delay, that they measure. By design
   they do not answer single losses, and most of them no marks. They are known by the shape of their probes, which a
   deaf sender does not have. Where one of them is likelier than not, the evidence says so. It is a fact about the
   controller (RFC 3168 asks for an answer to marks), not a sign that this sender cheats.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from windtunnel.explain.limits import Codes
from windtunnel.explain.rounds import Array, Rounds, echoes
from windtunnel.explain.shadows import Shadows, near, own_windows
from windtunnel.explain.trace import FAST, TIMEOUT, UNSEEN, Flow
from windtunnel.kinds import kept, title

#: Controllers that answer what they measure of the path: rates (BBR's drafts, PCC Vivace), or delays (Copa, C4).
MODELS = ("bbr", "bbr2", "bbr3", "c4", "copa", "vivace")
#: Likelier than not.
_LIKELIER = 0.5
#: Fewer losses or marks are accidents.
_LEAST = 3
#: The weight of the newest round trip in the moving average of the marked share (RFC 8257 section 3.3, g), and the
#: average from which on an answer must show: it is a fall by a quarter. Linux computes in 1024ths: once its average has
#: fallen below a 64th, shares below a quarter no longer raise it, and the window stays as it is.
_G, _MARKS_THAT_SHOW = 1 / 16, 0.5
#: Round trips within which a loss lowers the window; the part of the window that counts as the same; the segments below
#: which a window cannot fall by much.
_ANSWER, _SAME, _SMALL = 3, 0.95, 6
#: The part of marks, and that of losses, that a sender leaves without an answer by accident.
_MARKS_LEFT, _LOSSES_LEFT = 0.8, 0.5
#: The lost part of what is sent up to which a sender may keep its rate (BBR's LossThresh, draft-ietf-ccwg-bbr), over a
#: few round trips; the part of the round trips in which a sender that yields does not lose more; and the fewest round
#: trips that show it.
_TOLERATED, _OVER, _GOING_ON, _LEAST_ROUNDS = 0.02, 4, 0.5, 12
#: A law's window and the sender's keep their ratio to this in the middle half of the round trips, and the sender's is
#: not larger by more. It has given up what the law has, but for this part.
_RATIO, _BUT_FOR = 0.15, 0.5
#: The share of answers after which a law's window must be the sender's, if one answer can be told from none.
_NEARLY_ALL = 0.9
#: Smaller windows say nothing of a law; pairs of round trips that are compared are at most these.
_LEAST_WINDOW, _MOST_COMPARED = 4, 400


def yielding(
    flow: Flow, rounds: Rounds, codes: Codes | None, heard: Shadows | None, controller: Mapping[str, Any]
) -> dict[str, Any]:
    """The sign ``sender ignores losses``; ``like``: the honest controller that would have done the same, or None.
    ``controller``: what the classifier says about it.
    """
    losses, marks = _kept(rounds)
    left = sum(part > _SAME for part in losses), sum(part > _SAME for part in marks)
    count, without = len(losses) + len(marks), sum(left)
    going_on = _going_on(rounds)
    unanswered = len(losses) >= _LEAST and left[0] >= _LOSSES_LEFT * len(losses)
    deaf = len(marks) >= _LEAST and left[1] > _MARKS_LEFT * len(marks)
    deaf |= unanswered and going_on >= _GOING_ON
    evidence = f"{without} of {count} losses or marks did not lower the window"
    if losses:
        evidence += f"; in {100 * going_on:.0f} % of the round trips more than {100 * _TOLERATED:.0f} % was lost"
    like = None
    if deaf and (law := _law(flow, rounds, codes, heard)) is not None:
        like, evidence = law, f"{evidence}; {title(law)} would have had this window, too"
    elif deaf and (model := _model(controller)) is not None:
        like, evidence = model, f"{evidence}; {title(model)} does not answer single ones by design"
    # Too few events, or losses that BBR would not answer either.
    unknown = count < _LEAST or (unanswered and left[0] > _MARKS_LEFT * len(losses))
    verdict = (like is None) if deaf else (None if unknown else False)
    return {"sign": "sender ignores losses", "found": verdict, "count": without, "evidence": evidence, "like": like}


def _model(controller: Mapping[str, Any]) -> str | None:
    """The likeliest model, if it is likelier than not that the sender follows one."""
    fits = [fit for fit in controller["fits"] if fit["controller"] in MODELS]
    return str(fits[0]["controller"]) if sum(fit["probability"] for fit in fits) > _LIKELIER else None


def _law(flow: Flow, rounds: Rounds, codes: Codes | None, heard: Shadows | None) -> str | None:
    """The law that explains the window while congestion goes on: that which had it after nearly each answer, or that
    with the steadiest ratio.
    """
    if heard is None:
        return None
    each = max((_answered(heard, law), law) for law in heard.after if kept(law) < 1)
    if each[0] >= _NEARLY_ALL:
        return each[1]
    flight = heard.flight
    there = (flight >= _LEAST_WINDOW) & (np.arange(len(flight)) >= _first_signal(flow))
    for first, last in heard.stretches:
        there[first : last + 1] = False
    laws = [
        (spread, law)
        for law, window in own_windows(flow, rounds, codes).items()
        for over in (1, _OVER)
        if (spread := _explains(flight, window, there, over)) is not None
    ]
    return min(laws)[1] if laws else None


def _first_signal(flow: Flow) -> int:
    """The round trip of the first loss or mark: from there on windows are compared."""
    if flow.sends is None or flow.acks is None:
        return 0
    lost = flow.sends["round"][np.isin(flow.sends["kind"], (FAST, TIMEOUT, UNSEEN))]
    marked = flow.acks["round"][echoes(flow, flow.acks)]
    return min((int(rounds[0]) for rounds in (lost, marked) if len(rounds)), default=0)


def _answered(heard: Shadows, law: str) -> float:
    """The share of answers that leave the window that the law's would have left; 0 where there are few."""
    left = [
        near(then, mine)
        for (_, before, then, _), mine in zip(heard.episodes, heard.after[law], strict=True)
        if before >= _LEAST_WINDOW and then > 0 and np.isfinite(mine)
    ]
    return float(np.mean(left)) if len(left) >= _LEAST_ROUNDS else 0.0


def _explains(flight: Array, window: Array, there: npt.NDArray[np.bool_], over: int) -> float | None:
    """How steady the ratio of the windows is, if the law explains the sender's. Where much is lost at once, the flight
    is less than the window for some round trips: the greatest ``over`` a few of them is compared.
    """
    there = there & np.isfinite(window)
    if there.sum() < _LEAST_ROUNDS:
        return None
    law, sender = (_greatest(np.where(there, column, 0.0), over)[there][over - 1 :] for column in (window, flight))
    low, middle, high = np.percentile(np.log(sender / np.maximum(law, 1.0)), (25, 50, 75))
    if high - low > _RATIO or middle > _RATIO:
        return None
    # At most some hundred round trips, evenly spread.
    some = np.unique(np.linspace(0, len(law) - 1, _MOST_COMPARED).astype(int))
    first, second = np.triu_indices(len(some), 1)
    of_law, of_sender = (column[some][second] - column[some][first] for column in (law, sender))
    moved = np.abs(of_law) >= 1
    if not moved.any():
        return None
    unlike = abs(float(np.median(of_sender[moved] / of_law[moved])) - 1)
    return float(high - low) if unlike <= _BUT_FOR else None


def _greatest(values: Array, over: int) -> Array:
    """The greatest of the last ``over`` values."""
    before = np.concatenate([np.zeros(over - 1), values])
    return np.asarray(np.lib.stride_tricks.sliding_window_view(before, over).max(axis=1))


def share_of_marks(rounds: Rounds) -> npt.NDArray[np.float64]:
    """DCTCP's alpha after each round trip, from 1 (RFC 8257 section 4.2); 0 for those without a mark."""
    alpha, out = 1.0, np.zeros(len(rounds))
    for n, share in enumerate(rounds.marked):
        alpha += _G * (float(share) - alpha)
        out[n] = alpha if share > 0 else 0.0
    return out


def _kept(rounds: Rounds) -> tuple[list[float], list[float]]:
    """The part of the window that is there within some round trips after each loss, and after each mark alone."""
    lost, marked = rounds.lost > 0, share_of_marks(rounds) >= _MARKS_THAT_SHOW
    losses, marks, n = [], [], 1
    while n + _ANSWER < len(rounds):
        before, after = float(rounds.window[n - 1]), rounds.window[n + 1 : n + 1 + _ANSWER]
        alone = marked[n] and not lost[n - 1 : n + 1 + _ANSWER].any()
        if (lost[n] or alone) and before > _SMALL:
            # Nothing but an answer takes from what is in flight where nothing is lost: its least tells, because a fast
            # sender soon grows to where it was. What is lost is missing from the flight, too: the greatest tells.
            if lost[n]:
                losses.append(float(after.max()) / before)
            else:
                marks.append(float(after.min()) / max(before, float(rounds.window[n])))
            n += _ANSWER
        n += 1
    return losses, marks


def _going_on(rounds: Rounds) -> float:
    """The part of the round trips since the first loss in which more is lost than a sender may leave unanswered."""
    if not np.any(rounds.lost):
        return 0.0
    around = np.ones(_OVER)
    lost, sent = (np.convolve(column, around, "full")[: len(rounds)] for column in (rounds.lost, rounds.sent))
    since = np.arange(len(rounds)) >= np.flatnonzero(rounds.lost)[0]
    counted = since & (rounds.window > _SMALL)
    if counted.sum() < _LEAST_ROUNDS:
        return 0.0
    return float(np.mean(((rounds.lost > 0) & (lost >= _TOLERATED * sent))[counted]))
