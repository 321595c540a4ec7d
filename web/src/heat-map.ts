// A heat map: a cell for each pair of values of two axes, with its number where there is room.

import type { AxisMeta } from "./cells";
import type { ColourScale } from "./colour-scale";
import { formatValue } from "./format";

const SVG = "http://www.w3.org/2000/svg";
const LETTER = 6.6;
const LABEL = 18;
const MOST_LABEL = 130;

export interface MapCell {
  readonly value: number;
  /** Some, or all, of its runs failed. */
  readonly failed: boolean;
  readonly locked: boolean;
  readonly significant: boolean;
  /** Why there is no such cell to show; empty where there is one. */
  readonly lacks: string;
  /** What it is, in words. */
  readonly title: string;
  readonly open: () => void;
}

function element(name: string, attributes: Record<string, string | number>, text = ""): SVGElement {
  const out = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) out.setAttribute(key, String(value));
  out.textContent = text;
  return out;
}

function short(text: string, width: number): string {
  const most = Math.max(2, Math.floor(width / LETTER));
  return text.length <= most ? text : `${text.slice(0, most - 1)}\u2026`;
}

/** `at(x, y)` is the cell at a place, undefined where there is none; `width` in CSS pixels. */
export function heatMap(
  across: AxisMeta | null,
  down: AxisMeta | null,
  at: (x: number, y: number) => MapCell | undefined,
  scale: ColourScale,
  width: number,
): SVGElement {
  const [columns, rows] = [across?.labels ?? [""], down?.labels ?? [""]];
  const left = Math.min(MOST_LABEL, width / 3, 10 + LETTER * Math.max(...rows.map((r) => r.length)));
  const [w, h] = [(width - left - 2) / columns.length, Math.max(7, Math.min(36, 420 / rows.length))];
  const height = LABEL + h * rows.length + 2 * LABEL;
  const svg = element("svg", { viewBox: `0 0 ${width} ${height}`, width, height, class: "heat", role: "group" });
  svg.setAttribute("aria-label", `Heat map: ${across?.name ?? ""} across, ${down?.name ?? ""} down; the table has the same numbers`);
  if (down !== null) svg.append(element("text", { x: 0, y: 12, class: "soft" }, down.name));
  const everyRow = Math.ceil(14 / h);
  rows.forEach((label, y) => {
    const middle = LABEL + h * (y + 0.5);
    if (y % everyRow === 0) svg.append(element("text", { x: left - 6, y: middle + 4, "text-anchor": "end" }, short(label, left - 8)));
    columns.forEach((_, x) => {
      const cell = at(x, y);
      if (cell !== undefined) svg.append(drawn(cell, left + x * w, LABEL + y * h, w, h, scale));
    });
  });
  const longest = LETTER * Math.min(14, Math.max(...columns.map((c) => c.length))) + 8;
  const every = Math.ceil(longest / w);
  columns.forEach((label, x) => {
    if (x % every !== 0) return;
    const attributes = { x: left + w * (x + 0.5), y: LABEL + h * rows.length + 15, "text-anchor": "middle" };
    svg.append(element("text", attributes, short(label, Math.max(longest, w * every - 4))));
  });
  if (across !== null) {
    svg.append(element("text", { x: left + (w * columns.length) / 2, y: height - 4, "text-anchor": "middle", class: "soft" }, across.name));
  }
  return svg;
}

function drawn(cell: MapCell, x: number, y: number, w: number, h: number, scale: ColourScale): SVGElement {
  const hasValue = Number.isFinite(cell.value);
  const group = element("g", { class: "heat-cell", "data-value": hasValue ? cell.value : "" });
  const gap = Math.min(1, w / 8);
  const box = element("rect", { x: x + gap / 2, y: y + 0.5, width: Math.max(0.5, w - gap), height: h - 1 });
  box.style.setProperty("fill", hasValue ? scale.colour(cell.value) : "var(--c-card)");
  group.append(element("title", {}, cell.title), box);
  if (cell.lacks !== "") box.classList.add("lacking");
  const text = cell.lacks !== "" ? short(cell.lacks, w - 6) : hasValue ? formatValue(cell.value) : cell.failed ? "failed" : "\u2013";
  if (w > LETTER * text.length + 6 && h >= 15) {
    const weight = cell.significant ? "bold" : "normal";
    group.append(element("text", { x: x + w / 2, y: y + h / 2 + 4, "text-anchor": "middle", "font-weight": weight }, text));
  }
  const corner = Math.min(8, w / 3, h / 3);
  if (cell.locked) group.append(element("path", { d: `M${x + w - 1} ${y + 1}v${corner}l${-corner} ${-corner}z`, class: "locked" }));
  if (cell.failed) group.append(element("path", { d: `M${x + 1} ${y + 1}v${corner}l${corner} ${-corner}z`, class: "failed" }));
  group.addEventListener("click", cell.open);
  return group;
}
