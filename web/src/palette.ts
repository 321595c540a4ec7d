// Colours and marker shapes. The colours live in the style sheet (`--c-<name>`, after M. Okabe and K. Ito, "Color
// Universal Design", 2008), once for light and once for dark; the canvas reads them from there.

import type { MarkerShape } from "./payload";

const cache = new Map<string, string>();

/** The value of a colour of the style sheet; cached, because asking the browser for it costs a style calculation. */
export function colour(name: string): string {
  let value = cache.get(name);
  if (value === undefined) {
    value = getComputedStyle(document.documentElement).getPropertyValue(`--c-${name}`).trim() || "#888888";
    cache.set(name, value);
  }
  return value;
}

/** To be called when the theme changes. */
export function forgetColours(): void {
  cache.clear();
}

/** `#rrggbb` as a pixel of an ImageData that is seen as 32-bit little-endian words. */
export function toPixel(hex: string): number {
  const rgb = Number.parseInt(hex.slice(1), 16);
  return ((0xff << 24) | ((rgb & 0xff) << 16) | (rgb & 0xff00) | (rgb >>> 16)) >>> 0;
}

/** Dashes and gaps of a threshold's line, in CSS pixels. */
export const THRESHOLD_DASH: readonly number[] = [4, 3];

/** Whether a shape is drawn as strokes; the others are filled. */
export function isOpen(shape: MarkerShape): boolean {
  return shape === "plus" || shape === "cross" || shape === "tick";
}

type Segment = readonly [number, number];

const OUTLINES: Record<Exclude<MarkerShape, "circle">, readonly (readonly Segment[])[]> = {
  square: [[[-0.85, -0.85], [0.85, -0.85], [0.85, 0.85], [-0.85, 0.85]]],
  triangle: [[[0, -1.1], [1, 0.8], [-1, 0.8]]],
  down: [[[0, 1.1], [1, -0.8], [-1, -0.8]]],
  diamond: [[[0, -1.2], [1.2, 0], [0, 1.2], [-1.2, 0]]],
  plus: [[[-1.1, 0], [1.1, 0]], [[0, -1.1], [0, 1.1]]],
  cross: [[[-0.9, -0.9], [0.9, 0.9]], [[-0.9, 0.9], [0.9, -0.9]]],
  tick: [[[0, -1.1], [0, 1.1]]],
};

/** Adds a marker of radius `r` to a path. */
export function addMarker(path: Path2D, shape: MarkerShape, x: number, y: number, r: number): void {
  if (shape === "circle") {
    path.moveTo(x + r, y);
    path.arc(x, y, r, 0, 2 * Math.PI);
    return;
  }
  for (const stroke of OUTLINES[shape]) {
    stroke.forEach(([dx, dy], i) => {
      if (i === 0) path.moveTo(x + dx * r, y + dy * r);
      else path.lineTo(x + dx * r, y + dy * r);
    });
    if (!isOpen(shape)) path.closePath();
  }
}

/** The same marker as the `d` attribute of an SVG path, for legends. */
export function markerPath(shape: MarkerShape, x: number, y: number, r: number): string {
  if (shape === "circle") {
    return `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`;
  }
  return OUTLINES[shape]
    .map((stroke) => {
      const points = stroke.map(([dx, dy]) => `${(x + dx * r).toFixed(2)} ${(y + dy * r).toFixed(2)}`);
      return `M${points.join("L")}${isOpen(shape) ? "" : "z"}`;
    })
    .join("");
}
