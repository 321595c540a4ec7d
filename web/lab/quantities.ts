// Quantities as scenarios write them, read and written: "20 Mbit/s", "40 ms", "1 %".

const TIMES: Readonly<Record<string, number>> = { ns: 1e-9, us: 1e-6, "µs": 1e-6, ms: 1e-3, s: 1, min: 60 };
const RATES: Readonly<Record<string, number>> = { "bit/s": 1, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9 };

function read(text: string, units: Readonly<Record<string, number>>): number {
  const match = /^\s*([-+0-9.eE_]+)\s*(\S+)\s*$/.exec(text);
  const factor = match === null ? undefined : units[match[2]!];
  return factor === undefined ? NaN : Number(match![1]!.replaceAll("_", "")) * factor;
}

/** Seconds; NaN for what is no time. */
export function seconds(text: string | undefined): number {
  return text === undefined ? NaN : read(text, TIMES);
}

/** Bits per second; NaN for what is no rate. */
export function bitsPerSecond(text: string | undefined): number {
  return text === undefined ? NaN : read(text, RATES);
}

/** A probability in percent; NaN for what is none. */
export function percent(text: string | undefined): number {
  return text === undefined ? NaN : read(text, { "%": 1 });
}

/** Packets, of a limit that is stated in packets; NaN for another. */
export function packets(text: string | undefined): number {
  return text === undefined ? NaN : read(text, { packets: 1, packet: 1 });
}

function short(value: number): string {
  return String(Number(value.toPrecision(3)));
}

export function writeRate(bits: number): string {
  const unit = bits >= 1e9 ? "Gbit/s" : bits >= 1e6 ? "Mbit/s" : bits >= 1e3 ? "kbit/s" : "bit/s";
  return `${short(bits / RATES[unit]!)} ${unit}`;
}

export function writeTime(time: number): string {
  const unit = time >= 1 ? "s" : time >= 1e-3 ? "ms" : "us";
  return `${short(time / TIMES[unit]!)} ${unit}`;
}

export function writePackets(count: number): string {
  return `${short(count)} packets`;
}

export function writePercent(value: number): string {
  return `${short(value)} %`;
}

/** A whole number of milliseconds, not before a time in nanoseconds: what a reader of the text can live with. */
export function toMillisecond(ns: number): number {
  return Math.ceil(ns / 1e6) * 1e6;
}
