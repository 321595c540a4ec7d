// The one visible time range that all panels share.

/** Nothing is recorded finer than a nanosecond; below a microsecond there is nothing to see. */
const SMALLEST = 1e-6;

export class TimeRange {
  min: number;
  max: number;
  private readonly listeners: (() => void)[] = [];

  constructor(
    readonly from: number,
    readonly to: number,
  ) {
    this.min = from;
    this.max = to;
  }

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  /** Shows `[min, max]`, moved and cut so that it is within the run. */
  set(min: number, max: number): void {
    const full = this.to - this.from;
    const span = Math.min(full, Math.max(Math.min(SMALLEST, full), max - min));
    const centre = (min + max) / 2;
    let low = max - min < span ? centre - span / 2 : min;
    low = Math.max(this.from, Math.min(this.to - span, low));
    if (low === this.min && low + span === this.max) return;
    this.min = low;
    this.max = low + span;
    for (const listener of this.listeners) listener();
  }

  /** Multiplies the visible span by `factor`; `centre` stays where it is. */
  zoom(factor: number, centre = (this.min + this.max) / 2): void {
    const low = centre - (centre - this.min) * factor;
    this.set(low, low + (this.max - this.min) * factor);
  }

  /** Moves by a share of the visible span. */
  pan(share: number): void {
    const step = share * (this.max - this.min);
    this.set(this.min + step, this.max + step);
  }

  reset(): void {
    this.set(this.from, this.to);
  }
}
