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

/** Labels of axis ticks that lie `step` apart, with the digits that the step itself needs: 2.5 is not 3. */
export function formatTicks(ticks: readonly number[], step: number): string[] {
  let digits = timeDigits(step);
  while (digits < 9 && Math.abs(Number(step.toFixed(digits)) - step) > 1e-6 * step) digits++;
  return ticks.map((v) => signed(v.toFixed(digits)));
}

const SUPERSCRIPT = "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079";

/** A tick of a log axis: plain from 0.001 to 9999, else a power of ten with its factor, which is a digit. */
function formatLogTick(v: number): string {
  const e = Math.floor(Math.log10(v) + 1e-9);
  if (e >= -3 && e <= 3) return v.toFixed(Math.max(0, -e));
  const factor = Math.round(v / 10 ** e);
  const digits = [...String(Math.abs(e))].map((d) => SUPERSCRIPT[Number(d)]!).join("");
  return `${factor === 1 ? "" : `${factor}\u00b7`}10${e < 0 ? "\u207b" : ""}${digits}`;
}

/** Labels of the ticks of a log axis (null: one without): powers of ten, and 2 and 5 times those where these are few. */
export function formatLogTicks(ticks: readonly (number | null)[]): string[] {
  const factor = (v: number) => Math.round(v / 10 ** Math.floor(Math.log10(v) + 1e-9));
  const powers = ticks.filter((v) => v !== null && factor(v) === 1).length;
  const labelled = powers < 3 ? [1, 2, 5] : [1];
  return ticks.map((v) => (v !== null && labelled.includes(factor(v)) ? formatLogTick(v) : ""));
}
