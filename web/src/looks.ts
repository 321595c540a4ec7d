// The looks of lines that the page itself makes: those of flows in windtunnel/panels/looks.py.

import type { MarkerShape } from "./payload";

const COLOURS = ["blue", "orange", "green", "purple", "sky", "navy", "olive", "wine"];
const MARKERS: readonly MarkerShape[] = ["circle", "square", "triangle", "diamond", "down", "plus"];
const DASHES: readonly (readonly number[])[] = [[], [7, 3], [2, 3], [9, 3, 2, 3]];

const STYLES = MARKERS.length * DASHES.length;

export function flowLook(index: number): { colour: string; marker: MarkerShape; dash: readonly number[] } {
  return {
    colour: COLOURS[(index + Math.floor(index / STYLES)) % COLOURS.length]!,
    marker: MARKERS[index % MARKERS.length]!,
    dash: DASHES[Math.floor(index / MARKERS.length) % DASHES.length]!,
  };
}
