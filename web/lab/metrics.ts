// The four metrics of a test of congestion control, over the last seconds: efficiency, fairness, convergence, and
// collateral damage to others (the talk "How TCP congestion control algorithms work", SharkFest'19).

import type { Progress } from "./protocol";

/** The metrics are about this many seconds before now. */
const SPAN = 5;

/** Shares are equal from this index of Jain, Chiu and Hawe (1984) on. */
const EQUAL = 0.95;

interface Sample {
  readonly time: number;
  readonly value: number;
}

export interface Metrics {
  /** The share of each queue's capacity that was used, the least of all queues. */
  readonly utilisation: number;
  /** Of the flows that received something. */
  readonly jain: number;
  readonly flows: number;
  /** Seconds from the last start or stop of a flow until shares were equal; NaN while they are not. */
  readonly convergence: number;
  /** What all others have to wait for, in ms: the mean and the greatest of the queues' sojourn times. */
  readonly wait: number;
  readonly longest: number;
  /** Packets that queues dropped, in percent. */
  readonly dropped: number;
}

/** Samples of the last seconds. */
class Recent {
  private readonly all: Sample[] = [];

  push(time: number, value: number): void {
    if (!Number.isNaN(value)) this.all.push({ time, value });
    while (this.all.length > 0 && this.all[0]!.time <= time - SPAN) this.all.shift();
  }

  since(time: number): readonly number[] {
    return this.all.filter((sample) => sample.time > time).map((sample) => sample.value);
  }
}

function mean(values: readonly number[]): number {
  return values.length === 0 ? NaN : values.reduce((a, b) => a + b, 0) / values.length;
}

function sum(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0);
}

/** Jain's index of shares; NaN without any. */
export function jain(shares: readonly number[]): number {
  const squares = sum(shares.map((x) => x * x));
  return squares > 0 ? sum(shares) ** 2 / (shares.length * squares) : NaN;
}

export class Meter {
  private now = 0;
  private readonly rates = new Map<number, Recent>();
  private readonly used = new Map<number, Recent>();
  private readonly waits = new Recent();
  private readonly longest = new Recent();
  private readonly left = new Recent();
  private readonly drops = new Recent();
  /** The flows that receive, when their number changed last, and when their shares became equal after that. */
  private active = "";
  private changed = 0;
  private equal = NaN;

  add({ tables }: Progress): void {
    const flows = tables["flows"];
    for (let i = 0; i < (flows?.rows ?? 0); i++) {
      const column = (name: string) => flows!.columns[name]![i]!;
      const flow = column("flow");
      if (!this.rates.has(flow)) this.rates.set(flow, new Recent());
      this.now = column("time_s");
      this.rates.get(flow)!.push(this.now, column("throughput_mbps"));
      if (i + 1 === flows!.rows || flows!.columns["time_s"]![i + 1] !== this.now) this.converge();
    }
    const queues = tables["queues"];
    for (let i = 0; i < (queues?.rows ?? 0); i++) {
      const column = (name: string) => queues!.columns[name]![i]!;
      const [time, queue] = [column("time_s"), column("queue")];
      if (!this.used.has(queue)) this.used.set(queue, new Recent());
      this.used.get(queue)!.push(time, column("utilization"));
      this.waits.push(time, column("sojourn_mean_ms"));
      this.longest.push(time, column("sojourn_max_ms"));
      this.left.push(time, column("dequeued"));
      this.drops.push(time, column("drops"));
    }
  }

  private shares(): readonly number[] {
    // Over a second: a flow's rate within one interval is that of a few packets.
    const of = [...this.rates.values()].map((recent) => mean(recent.since(this.now - 1)));
    return of.filter((rate) => rate > 0);
  }

  private converge(): void {
    const receiving = [...this.rates].filter(([, recent]) => sum(recent.since(this.now - 1)) > 0);
    const active = receiving.map(([flow]) => flow).join();
    if (active !== this.active) [this.active, this.changed, this.equal] = [active, this.now, NaN];
    if (Number.isNaN(this.equal) && receiving.length > 1 && jain(this.shares()) >= EQUAL) this.equal = this.now;
  }

  get metrics(): Metrics {
    const from = this.now - SPAN;
    const shares = [...this.rates.values()].map((recent) => mean(recent.since(from))).filter((rate) => rate > 0);
    const dropped = sum(this.drops.since(from));
    const left = sum(this.left.since(from));
    return {
      utilisation: Math.min(...[...this.used.values()].map((recent) => mean(recent.since(from)))),
      jain: jain(shares),
      flows: shares.length,
      convergence: this.equal - this.changed,
      wait: mean(this.waits.since(from)),
      longest: Math.max(...this.longest.since(from)),
      dropped: left + dropped > 0 ? (100 * dropped) / (left + dropped) : NaN,
    };
  }
}
