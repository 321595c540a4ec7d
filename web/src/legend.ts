// The legend of a panel: one button per series that switches it and shows its value at the cursor.

import { isOpen, markerPath, THRESHOLD_DASH } from "./palette";
import type { MarkerShape, PanelMeta, Series } from "./payload";

/** What a panel shows besides its series: samples with its flag, thresholds, ticks of either kind. */
export type Part = "flag" | "thresholds" | "retransmits" | "rtos";

const SVG = "http://www.w3.org/2000/svg";

/** Up to this many series have places for their values in a legend. */
const VALUED = 12;

/** The actions of a legend on its panel. */
export interface Switchable {
  readonly shown: Set<string>;
  readonly parts: Set<Part>;
  solo(key: string): void;
  redraw(): void;
}

export interface Legend {
  update(): void;
  setValues(time: string, values: readonly (readonly [Series, string])[]): void;
  clear(): void;
}

export interface Swatch {
  readonly colour: string;
  readonly marker: MarkerShape | null;
  readonly dash: readonly number[] | null;
}

/** A small picture of a line (unless `dash` is null) with its marker (unless that is). */
export function buildSwatch({ colour, marker, dash }: Swatch): SVGElement {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "swatch");
  svg.setAttribute("viewBox", "0 0 22 12");
  svg.setAttribute("aria-hidden", "true");
  svg.style.setProperty("color", `var(--c-${colour})`);
  if (dash !== null) {
    const line = document.createElementNS(SVG, "path");
    line.setAttribute("d", "M0 6H22");
    line.setAttribute("stroke", "currentColor");
    line.setAttribute("stroke-width", "1.6");
    line.setAttribute("stroke-dasharray", dash.join(" "));
    svg.append(line);
  }
  if (marker === null) return svg;
  const mark = document.createElementNS(SVG, "path");
  mark.setAttribute("d", markerPath(marker, 11, 6, 3.6));
  mark.setAttribute("fill", isOpen(marker) ? "none" : "currentColor");
  mark.setAttribute("stroke", "currentColor");
  mark.setAttribute("stroke-width", isOpen(marker) ? "1.6" : "0");
  svg.append(mark);
  return svg;
}

/** A button that is on or off. */
export function buildToggle(label: string, swatch: Swatch | null): { button: HTMLButtonElement; value: HTMLElement } {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "toggle";
  if (swatch !== null) button.append(buildSwatch(swatch));
  const name = document.createElement("span");
  name.className = "name";
  name.textContent = label;
  const value = document.createElement("span");
  value.className = "value";
  button.append(name, value);
  return { button, value };
}

/** A panel's parts, as its legend shows them; parts of all flows have no flow's colour. */
function partsOf(panel: PanelMeta): [Part, string, Swatch][] {
  const out: [Part, string, Swatch][] = [];
  if (panel.empty !== "") return out;
  if (panel.flag !== null) out.push(["flag", panel.flag.label, { colour: panel.flag.colour ?? "ink", marker: panel.flag.marker, dash: null }]);
  if (panel.thresholds.length > 0) out.push(["thresholds", panel.threshold, { colour: "ink", marker: null, dash: THRESHOLD_DASH }]);
  if (panel.ticks.length > 0) out.push(["retransmits", "retransmissions", { colour: "ink", marker: "tick", dash: null }]);
  if (panel.ticks.some((x) => x.timeouts)) out.push(["rtos", "timeouts (RTO)", { colour: "ink", marker: "down", dash: null }]);
  return out;
}

/**
 * Fills a panel's legend. Nothing in it moves when values appear: they have places of fixed width, and the time is in
 * the panel's head. Of very many series the values are not shown.
 */
export function buildLegend(host: HTMLElement, time: HTMLElement, panel: PanelMeta, target: Switchable): Legend {
  const values = new Map<string, HTMLElement>();
  const buttons: [HTMLButtonElement, () => boolean][] = [];
  const valued = panel.series.length <= VALUED;

  for (const s of panel.series) {
    const dash = panel.kind === "points" ? null : s.dash;
    const { button, value } = buildToggle(s.label, { colour: s.colour, marker: s.marker, dash });
    button.title = "Click: show or hide. Shift and click: only this one.";
    button.addEventListener("click", (event) => {
      if (event.shiftKey) {
        target.solo(s.key);
        return;
      }
      if (!target.shown.delete(s.key)) target.shown.add(s.key);
      target.redraw();
    });
    if (valued) values.set(s.key, value);
    else value.remove();
    buttons.push([button, () => target.shown.has(s.key)]);
    host.append(button);
  }
  for (const [part, label, swatch] of partsOf(panel)) {
    const { button, value } = buildToggle(label, swatch);
    value.remove();
    button.addEventListener("click", () => {
      if (!target.parts.delete(part)) target.parts.add(part);
      target.redraw();
    });
    buttons.push([button, () => target.parts.has(part)]);
    host.append(button);
  }
  const legend: Legend = {
    update() {
      for (const [button, on] of buttons) button.setAttribute("aria-pressed", String(on()));
    },
    setValues(at, list) {
      time.textContent = `at ${at}`;
      for (const element of values.values()) element.textContent = "";
      for (const [s, text] of list) {
        const element = values.get(s.meta.key);
        if (element !== undefined) element.textContent = text;
      }
    },
    clear() {
      time.textContent = "";
      for (const element of values.values()) element.textContent = "";
    },
  };
  legend.update();
  return legend;
}
