// What the reader of a sweep's page has chosen: the metric and its number, the axes of the pictures, and a value of each
// other axis. It is kept in the page's address.

import type { AxisMeta, Places, SweepMeta } from "./cells";

export interface Choice {
  readonly metric: number;
  readonly quantity: string;
  readonly baseline: number;
  /** Places in the list of axes; -1 for none. `each` has a picture for each of its values. */
  readonly across: number;
  readonly down: number;
  readonly each: number;
  /** The place in each dimension that no picture shows. */
  readonly fixed: readonly number[];
}

/**
 * Across goes the axis of numbers with most values; down, which is also what lines are told apart by, what the baseline
 * is of, or else the next; then one picture for each value of a third.
 */
export function usual(meta: SweepMeta): Choice {
  const { axes } = meta;
  const rank = (i: number) => (axes[i]!.numbers === null ? 0 : 1000) + Math.min(999, axes[i]!.labels.length);
  const order = axes.map((_, i) => i).filter((i) => axes[i]!.labels.length > 1 && i !== meta.overlaid).sort((a, b) => rank(b) - rank(a) || a - b);
  const other = (taken: readonly number[]) => (i: number) => taken.every((t) => t < 0 || axes[t]!.dimension !== axes[i]!.dimension);
  const across = order[0] ?? axes.findIndex((_, i) => i !== meta.overlaid);
  const compared = order.find((i) => other([across])(i) && meta.baselines.some((b) => b.split(", ").some((part) => part.startsWith(`${axes[i]!.name} = `))));
  const down = compared ?? order.find(other([across])) ?? -1;
  const each = order.find(other([across, down])) ?? -1;
  const dimensions = Math.max(0, ...axes.map((a) => a.dimension + 1));
  const overlaid = axes[meta.overlaid]?.dimension;
  // Of what is laid over each other the first is what the others are compared with: the second is the one to look at.
  const fixed = Array.from({ length: dimensions }, (_, d) => (d === overlaid ? 1 : 0));
  return { metric: 0, quantity: "mean", baseline: 0, across, down, each, fixed };
}

/** The choice with another axis in a role; who has that axis, or one of its dimension, takes over the old one. */
export function withAxis(choice: Choice, role: "across" | "down" | "each", axis: number, axes: readonly AxisMeta[]): Choice {
  const next = { ...choice, [role]: axis };
  for (const other of ["across", "down", "each"] as const) {
    if (other !== role && axis >= 0 && next[other] >= 0 && axes[next[other]]!.dimension === axes[axis]!.dimension) {
      next[other] = choice[role];
    }
  }
  return next;
}

/** Where a cell is that has these places on the chosen axes. */
export function placesOf(choice: Choice, axes: readonly AxisMeta[], across: number, down: number): Places {
  const out = [...choice.fixed];
  for (const [axis, index] of [[choice.across, across], [choice.down, down]] as const) {
    if (axis >= 0) out[axes[axis]!.dimension] = index;
  }
  return out;
}

/** A picture: its caption, and the choice that it shows. */
export interface Picture {
  readonly caption: string;
  readonly choice: Choice;
}

/** A picture for each combination of the values of some axes (-1 for none), which the choice then has fixed. */
export function pictures(choice: Choice, { axes, overlaid }: SweepMeta, along: readonly number[]): Picture[] {
  let out: Picture[] = [{ caption: "", choice }];
  for (const i of along) {
    const axis = axes[i];
    if (axis === undefined) continue;
    out = out.flatMap((picture) =>
      axis.labels.map((label, index) => {
        const caption = [picture.caption, i === overlaid ? label : `${axis.name} = ${label}`].filter((part) => part !== "").join(", ");
        const fixed = picture.choice.fixed.map((v, d) => (d === axis.dimension ? index : v));
        return { caption, choice: { ...picture.choice, fixed } };
      }),
    );
  }
  return out;
}

const KEYS = ["metric", "baseline", "across", "down", "each"] as const;

export function writeChoice(choice: Choice): string {
  const out = new URLSearchParams({ quantity: choice.quantity, fixed: choice.fixed.join(".") });
  for (const key of KEYS) out.set(key, String(choice[key]));
  return out.toString();
}

/** A choice from an address; what cannot be read, or is not there, is as usual. */
export function readChoice(hash: string, meta: SweepMeta): Choice {
  const query = new URLSearchParams(hash.replace(/^#/, ""));
  const first = usual(meta);
  const index = (key: string, count: number, least: number, other: number) => {
    const text = query.get(key);
    const value = Number(text);
    return text !== null && Number.isInteger(value) && value >= least && value < count ? value : other;
  };
  const n = meta.axes.length;
  const roles = {
    across: index("across", n, -1, first.across),
    down: index("down", n, -1, first.down),
    each: index("each", n, -1, first.each),
  };
  // What is laid over each other is in every picture.
  const used = [...Object.values(roles), meta.overlaid].filter((i) => i >= 0).map((i) => meta.axes[i]!.dimension);
  const fixed = (query.get("fixed") ?? "").split(".").map(Number);
  const sizes = first.fixed.map((_, d) => meta.axes.find((a) => a.dimension === d)!.labels.length);
  return {
    metric: index("metric", meta.metrics.length, 0, 0),
    quantity: query.get("quantity") ?? first.quantity,
    baseline: index("baseline", Math.max(1, meta.baselines.length), 0, 0),
    ...(new Set(used).size === used.length ? roles : { across: first.across, down: first.down, each: first.each }),
    fixed: sizes.map((size, d) => (Number.isInteger(fixed[d]) && fixed[d]! >= first.fixed[d]! && fixed[d]! < size ? fixed[d]! : first.fixed[d]!)),
  };
}
