// The report of one run: panels with one time range, the toolbar, keys, theme and printing.

import { buildToggle } from "./legend";
import { forgetColours } from "./palette";
import { Panel } from "./panel";
import { decodeBase64, readPanel, type PageMeta, type PanelMeta } from "./payload";
import { TimeRange } from "./range";
import { timeDigits } from "./format";

function text(id: string): string {
  return document.getElementById(id)?.textContent ?? "";
}

export function startRunPage(): void {
  const meta = JSON.parse(text("report-meta")) as PageMeta;
  const buffer = decodeBase64(text("report-data").trim());
  const range = new TimeRange(meta.from, meta.to);
  const panels: Panel[] = [];

  for (const p of meta.panels) {
    const host = document.querySelector<HTMLElement>(`[data-panel="${p.id}"] .chart`);
    if (host === null) throw new Error(`no place for panel ${p.id}`);
    const panel = new Panel(host, p, readPanel(buffer, p), range, meta.flows);
    panels.push(panel);
    bindKeys(host, panel, panels, range);
    const log = document.querySelector<HTMLInputElement>(`[data-panel="${p.id}"] input[data-log]`);
    log?.addEventListener("change", () => panel.setLog(log.checked));
    bindChoice(p, panel, buffer);
  }

  bindToolbar(range, panels);
  buildFlows(meta, panels);
  bindCopy();
  bindTheme(panels);
}

/** The list from which the reader chooses what a panel shows. */
function bindChoice(meta: PanelMeta, panel: Panel, buffer: ArrayBuffer): void {
  const section = document.querySelector(`[data-panel="${meta.id}"]`);
  const list = section?.querySelector<HTMLSelectElement>("select[data-choice]");
  list?.addEventListener("change", () => {
    const choice = meta.choices[Number(list.value)];
    if (choice === undefined) return;
    const { unit, series } = choice;
    const chosen: PanelMeta = { ...meta, unit, series };
    panel.show(chosen, readPanel(buffer, chosen));
    const place = section?.querySelector(".unit");
    if (place) place.textContent = unit === "" ? "" : `(${unit})`;
  });
}

function bindKeys(host: HTMLElement, panel: Panel, all: readonly Panel[], range: TimeRange): void {
  const live = document.getElementById("live");
  host.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const centre = panel.cursorTime() ?? undefined;
    switch (event.key) {
      case "ArrowLeft":
      case "ArrowRight": {
        const sign = event.key === "ArrowLeft" ? -1 : 1;
        if (event.shiftKey) {
          range.pan(0.2 * sign);
          break;
        }
        const time = panel.stepCursor(8 * sign);
        for (const p of all) p.placeCursor(time);
        if (live !== null) live.textContent = panel.describe(time);
        break;
      }
      case "+":
      case "=":
        range.zoom(0.5, centre);
        break;
      case "-":
        range.zoom(2, centre);
        break;
      case "0":
      case "Escape":
        range.reset();
        break;
      default:
        return;
    }
    event.preventDefault();
  });
}

function bindToolbar(range: TimeRange, panels: readonly Panel[]): void {
  const actions: Record<string, () => void> = {
    in: () => range.zoom(0.5),
    out: () => range.zoom(2),
    left: () => range.pan(-0.5),
    right: () => range.pan(0.5),
    reset: () => range.reset(),
  };
  for (const button of document.querySelectorAll<HTMLButtonElement>("[data-range]")) {
    button.addEventListener("click", () => actions[button.dataset["range"] ?? ""]?.());
  }
  const from = document.querySelector<HTMLInputElement>("#range-from")!;
  const to = document.querySelector<HTMLInputElement>("#range-to")!;
  const show = () => {
    const digits = timeDigits((range.max - range.min) / 1000);
    from.value = String(Number(range.min.toFixed(digits)));
    to.value = String(Number(range.max.toFixed(digits)));
  };
  const apply = () => {
    const [a, b] = [Number(from.value), Number(to.value)];
    if (from.value !== "" && to.value !== "" && b > a) range.set(a, b);
    show();
  };
  from.addEventListener("change", apply);
  to.addEventListener("change", apply);
  range.onChange(show);
  show();

  const zero = document.querySelector<HTMLInputElement>("#zero-based")!;
  zero.addEventListener("change", () => {
    for (const panel of panels) {
      panel.zeroBased = zero.checked;
      panel.redraw();
    }
  });
}

/** The switches of flows in all panels, shown for two flows or more. */
function buildFlows(meta: PageMeta, panels: readonly Panel[]): void {
  const host = document.getElementById("flows");
  if (host === null || meta.flows.length < 2) return;
  const on = meta.switches.map(() => true);
  const buttons = meta.switches.map((s, i) => {
    const { button } = buildToggle(s.label, { colour: s.colour, marker: s.marker, dash: null });
    button.addEventListener("click", () => set([i], !on[i]));
    return button;
  });
  const set = (switches: readonly number[], value: boolean) => {
    for (const i of switches) {
      on[i] = value;
      buttons[i]!.setAttribute("aria-pressed", String(value));
      for (const flow of meta.switches[i]!.flows) for (const panel of panels) panel.setFlow(flow, value);
    }
    for (const panel of panels) panel.redraw();
  };
  const every = meta.switches.map((_, i) => i);
  for (const [label, value] of [["All", true], ["None", false]] as const) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = label;
    button.addEventListener("click", () => set(every, value));
    host.append(button);
  }
  host.append(...buttons);
  host.hidden = false;
  for (const button of buttons) button.setAttribute("aria-pressed", "true");
}

function bindCopy(): void {
  const button = document.querySelector<HTMLButtonElement>("#copy-scenario");
  const source = document.querySelector<HTMLElement>("#scenario");
  if (button === null || source === null) return;
  button.addEventListener("click", async () => {
    const label = button.textContent;
    try {
      await navigator.clipboard.writeText(source.textContent ?? "");
      button.textContent = "Copied";
    } catch {
      // Without permission for the clipboard (some browsers refuse it to local files) the text is selected instead.
      getSelection()?.selectAllChildren(source);
      button.textContent = "Selected: copy with Ctrl+C";
    }
    setTimeout(() => (button.textContent = label), 2500);
  });
}

/** Canvases do not follow the style sheet: they are drawn again when the theme changes and, light, for print. */
function bindTheme(panels: readonly Panel[]): void {
  const redraw = () => {
    forgetColours();
    for (const p of panels) p.redraw();
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  const root = document.documentElement;
  addEventListener("beforeprint", () => {
    root.classList.add("light");
    redraw();
  });
  addEventListener("afterprint", () => {
    root.classList.remove("light");
    redraw();
  });
}
