// Colours of numbers: one hue from pale to strong, or two from a middle at zero. They are mixed from the page's own
// colours, so that they follow its theme, and never so strong that text on them cannot be read.

import { formatValue } from "./format";

const STRONGEST = 62;

export interface ColourScale {
  readonly least: number;
  readonly greatest: number;
  readonly log: boolean;
  colour(value: number): string;
  /** A bar with the least and the greatest number, as an element. */
  legend(label: string): HTMLElement;
}

/** A value's place between the ends, from 0 to 1. */
export function share(value: number, least: number, greatest: number, log: boolean): number {
  if (!(greatest > least)) return 0.5;
  return log ? Math.log(value / least) / Math.log(greatest / least) : (value - least) / (greatest - least);
}

/** Over a factor of this, differences between small numbers are seen only on a logarithmic scale. */
const LOG_RATIO = 100;

export function colourScale(values: readonly number[], around: boolean): ColourScale {
  const finite = values.filter(Number.isFinite);
  let [least, greatest] = [Math.min(...finite), Math.max(...finite)];
  if (around) [least, greatest] = [-Math.max(-least, greatest, 0), Math.max(-least, greatest, 0)];
  const log = !around && least > 0 && greatest / least > LOG_RATIO;
  const mixed = (at: number) => {
    if (!around) return `color-mix(in oklab, var(--c-blue) ${(5 + at * (STRONGEST - 5)).toFixed(1)}%, var(--c-page))`;
    const strength = Math.abs(2 * at - 1) * STRONGEST;
    return `color-mix(in oklab, var(--c-${at < 0.5 ? "blue" : "orange"}) ${strength.toFixed(1)}%, var(--c-page))`;
  };
  return {
    least,
    greatest,
    log,
    colour: (value) => mixed(share(value, least, greatest, log)),
    legend(label) {
      const host = document.createElement("div");
      host.className = "colour-scale";
      if (finite.length === 0) return host;
      const bar = document.createElement("span");
      bar.className = "bar";
      bar.style.background = `linear-gradient(to right, ${[0, 0.25, 0.5, 0.75, 1].map(mixed).join(", ")})`;
      const text = (value: string) => Object.assign(document.createElement("span"), { textContent: value });
      host.append(text(label), text(formatValue(least)), bar, text(`${formatValue(greatest)}${log ? " (log scale)" : ""}`));
      return host;
    },
  };
}
