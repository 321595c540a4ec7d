// Series of means, each since the sample before, averaged over equal times. Sums remain: what a line encloses before and
// after is the same. The first sample counts from 0 s, or from the time of a NaN that precedes it
// (windtunnel/panels/means.py has the same rule).

import type { Series } from "./payload";

/** A series is averaged into at most the first number of steps, plus the second one for each of its samples. */
const MOST_STEPS = 100_000;
const STEPS_PER_SAMPLE = 20;

/**
 * The series averaged over `step` seconds; as it is if that is 0, or so much shorter than the time between samples that
 * there is no mean of any, or if its samples are no means.
 */
export function averaged(s: Series, step: number): Series {
  if (step <= 0 || s.meta.step !== "mean" || s.t.length < 2) return s;
  const fromZero = !Number.isNaN(s.v[0]!);
  const start = fromZero ? 0 : s.t[0]!;
  const end = s.t[s.t.length - 1]!;
  if ((end - start) / step > MOST_STEPS + STEPS_PER_SAMPLE * s.t.length) return s;
  const edges = [start];
  for (let k = Math.floor(start / step + 1e-9) + 1; k * step < end - 1e-9 * step; k++) edges.push(k * step);
  edges.push(end);
  const t = Float64Array.from(fromZero ? edges.slice(1) : edges);
  const over = (v: Float32Array | null) => (v === null ? null : means(s.t, v, start, edges, fromZero));
  return { ...s, t, v: over(s.v)!, low: over(s.low), high: over(s.high), flag: null, who: null };
}

/** The mean between each two edges; after a NaN for the start if the series has one. */
function means(t: Float64Array, v: Float32Array, start: number, edges: readonly number[], fromZero: boolean): Float32Array {
  const out = new Float32Array(edges.length - (fromZero ? 1 : 0));
  let o = 0;
  if (!fromZero) out[o++] = NaN;
  let i = fromZero ? 0 : 1;
  let at = start;
  for (let e = 1; e < edges.length; e++) {
    const edge = edges[e]!;
    let sum = 0;
    while (i < t.length && at < edge) {
      const until = Math.min(t[i]!, edge);
      const y = v[i]!;
      if (!Number.isNaN(y)) sum += y * (until - at);
      at = Math.max(at, until);
      if (t[i]! <= edge) i++;
      else break;
    }
    out[o++] = sum / (edge - edges[e - 1]!);
    at = edge;
  }
  return out;
}
