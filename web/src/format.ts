// Numbers for people. Locale-free on purpose: the page must read the same everywhere, and values are copied
// from it into papers.

const MINUS = "\u2212";

function signed(text: string): string {
  return text.startsWith("-") ? MINUS + text.slice(1) : text;
}

/** Four significant digits (integers in full below 10^6), a power of ten outside 10^-4 to 10^6. */
export function formatValue(y: number): string {
  if (!Number.isFinite(y)) return "\u2013";
  if (y === 0) return "0";
  const a = Math.abs(y);
  if (a >= 1e6 || a < 1e-4) {
    const [mantissa, exponent] = y.toExponential(3).split("e") as [string, string];
    return `${signed(mantissa)}e${Number(exponent)}`;
  }
  const digits = Math.max(0, Math.min(7, 3 - Math.floor(Math.log10(a))));
  return signed(y.toFixed(digits));
}

/** Digits after the point that tell times apart which are `step` seconds apart. */
export function timeDigits(step: number): number {
  return step > 0 ? Math.max(0, Math.min(9, Math.ceil(-Math.log10(step) - 1e-9))) : 9;
}

/** A time in seconds with the digits that a view of `span` seconds over `pixels` can tell apart. */
export function formatTime(t: number, span: number, pixels: number): string {
  return signed(t.toFixed(timeDigits(span / Math.max(1, pixels))));
}

/** Labels of axis ticks that are `step` apart, with the digits that the step itself needs: 2.5 is not 3. */
export function formatTicks(ticks: readonly number[], step: number): string[] {
  let digits = timeDigits(step);
  while (digits < 9 && Math.abs(Number(step.toFixed(digits)) - step) > 1e-6 * step) digits++;
  return ticks.map((v) => signed(v.toFixed(digits)));
}
