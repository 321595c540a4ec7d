// The report of one run: panels with one time range, the toolbar, keys, theme and printing.

import { buildToggle } from "./legend";
import { forgetColours } from "./palette";
import { Panel } from "./panel";
import { decodeBase64, readPanel, type PageMeta, type PanelMeta } from "./payload";
import { TimeRange } from "./range";
import { timeDigits } from "./format";
import { save, type Format } from "./save";
import { readView, writeView, type PanelView, type View } from "./view";

function text(id: string): string {
  return document.getElementById(id)?.textContent ?? "";
}

/** A panel's place in the page. */
function sectionOf(id: string): HTMLElement {
  const section = document.querySelector<HTMLElement>(`[data-panel="${id}"]`);
  if (section === null) throw new Error(`no place for panel ${id}`);
  return section;
}

export function startRunPage(): void {
  const meta = JSON.parse(text("report-meta")) as PageMeta;
  const buffer = decodeBase64(text("report-data").trim());
  const range = new TimeRange(meta.from, meta.to);
  const panels: Panel[] = [];
  const flows = new Flows(meta, panels);
  const wanted = readView(location.hash);
  const usual = meta.panels.filter((p) => p.shown).map((p) => p.id);
  const heads = new Map<string, Head>();

  /** Puts the view into the address; until it is restored it must not be overwritten. */
  let restored = false;
  const changed = (): void => {
    if (!restored) return;
    const shown = meta.panels.map((p) => p.id).filter((id) => !sectionOf(id).hidden);
    const whole = range.min === meta.from && range.max === meta.to;
    const digits = timeDigits((range.max - range.min) / 1e4);
    const view: View = {
      ...(whole ? {} : { from: Number(range.min.toFixed(digits)), to: Number(range.max.toFixed(digits)) }),
      ...(zero.checked ? {} : { zero: false }),
      ...(shown.join() === usual.join() ? {} : { panels: shown }),
      of: Object.fromEntries([...heads].map(([id, head]) => [id, head.view()])),
    };
    const hash = writeView(view);
    // A page that is embedded may not change its address.
    try {
      history.replaceState(null, "", hash === "" ? location.pathname + location.search : `#${hash}`);
    } catch {
      restored = false;
    }
  };
  const zero = document.querySelector<HTMLInputElement>("#zero-based")!;
  if (wanted.zero === false) zero.checked = false;

  /** A panel is built when it is first seen. */
  const build = (p: PanelMeta): void => {
    const section = sectionOf(p.id);
    const host = section.querySelector<HTMLElement>(".chart")!;
    const panel = new Panel(host, p, readPanel(buffer, p), range, meta.flows);
    panels.push(panel);
    bindKeys(host, panel, panels, range);
    const head = new Head(section, p, panel, buffer, changed);
    heads.set(p.id, head);
    flows.apply(panel);
    panel.zeroBased = zero.checked;
    panel.onChange = changed;
    const view = wanted.of[p.id];
    // After the chart's first draw, which uPlot does a moment later.
    if (view !== undefined) setTimeout(() => head.restore(view));
  };
  const shown = wanted.panels ?? usual;
  for (const p of meta.panels) sectionOf(p.id).hidden = !shown.includes(p.id);
  for (const p of meta.panels) if (shown.includes(p.id)) build(p);

  bindMore(meta.panels, build, changed);
  bindToolbar(range, panels, changed);
  bindCopy();
  bindTheme(panels);
  range.onChange(changed);
  setTimeout(() => {
    if (wanted.from !== undefined || wanted.to !== undefined) range.set(wanted.from ?? meta.from, wanted.to ?? meta.to);
    restored = true;
  });
}

/** The switches of panels: each shows one or hides it. */
function bindMore(all: readonly PanelMeta[], build: (p: PanelMeta) => void, changed: () => void): void {
  const built = new Set(all.map((p) => p.id).filter((id) => !sectionOf(id).hidden));
  for (const button of document.querySelectorAll<HTMLButtonElement>("[data-show]")) {
    const p = all.find((one) => one.id === button.dataset["show"])!;
    const section = sectionOf(p.id);
    button.setAttribute("aria-pressed", String(!section.hidden));
    button.addEventListener("click", () => {
      section.hidden = !section.hidden;
      button.setAttribute("aria-pressed", String(!section.hidden));
      if (!section.hidden && !built.has(p.id)) {
        built.add(p.id);
        build(p);
      }
      changed();
    });
  }
}

/** What is in a panel's head: what it shows of several things, the time over which it averages, its scale, saving. */
export class Head {
  private unit: string;
  private choice = 0;
  private readonly log: HTMLInputElement | null;
  private readonly average: HTMLSelectElement | null;
  private readonly list: HTMLSelectElement | null;

  constructor(
    private readonly section: HTMLElement,
    private readonly meta: PanelMeta,
    private readonly panel: Panel,
    private readonly buffer: ArrayBuffer,
    private readonly changed: () => void,
  ) {
    this.unit = meta.unit;
    this.log = section.querySelector<HTMLInputElement>("input[data-log]");
    this.average = section.querySelector<HTMLSelectElement>("select[data-average]");
    this.list = section.querySelector<HTMLSelectElement>("select[data-choice]");
    this.log?.addEventListener("change", () => {
      panel.setLog(this.log!.checked);
      this.label();
    });
    this.average?.addEventListener("change", () => {
      panel.setAverage(Number(this.average!.value));
      this.label();
    });
    this.list?.addEventListener("change", () => this.choose(Number(this.list!.value)));
    const saving = section.querySelector<HTMLSelectElement>("select[data-save]");
    saving?.addEventListener("change", () => {
      const format = saving.value as Format;
      saving.value = "";
      save(section, panel.savable, format);
    });
  }

  /** What is shown otherwise than by default. */
  view(): PanelView {
    return { ...this.panel.view(), ...(this.choice === 0 ? {} : { choice: this.choice }) };
  }

  /** Shows what an address says. */
  restore(view: PanelView): void {
    if (view.choice !== undefined && this.list !== null && this.meta.choices[view.choice] !== undefined) {
      this.list.value = String(view.choice);
      this.choose(view.choice);
    }
    if (view.average !== undefined && this.average !== null && this.meta.averages.includes(view.average)) {
      this.average.selectedIndex = this.meta.averages.indexOf(view.average);
      this.panel.setAverage(view.average);
    }
    if (view.log !== undefined && this.log !== null) {
      this.log.checked = view.log;
      this.panel.setLog(view.log);
    }
    if (view.off !== undefined) this.panel.hide(view.off);
    this.label();
  }

  private choose(index: number): void {
    const choice = this.meta.choices[index];
    if (choice === undefined) return;
    this.choice = index;
    const { series, x, unit } = choice;
    const chosen: PanelMeta = { ...this.meta, unit, series, x, log: choice.log };
    this.panel.show(chosen, readPanel(this.buffer, chosen));
    this.unit = unit;
    if (this.log !== null) this.log.checked = this.panel.log;
    const below = this.section.querySelector(".x-label");
    if (below) below.textContent = x.unit === "" ? x.label : `${x.label} (${x.unit})`;
    this.label();
    this.changed();
  }

  /** Says the unit, the scale if it is logarithmic, and the time over which means are taken. */
  private label(): void {
    const unit = this.section.querySelector(".unit");
    const mean = this.panel.averaging === 0 ? "" : `means of ${this.average?.selectedOptions[0]?.text ?? ""}`;
    const terms = [this.unit, this.panel.log ? "log scale" : "", mean].filter((term) => term !== "");
    if (unit) unit.textContent = terms.length === 0 ? "" : `(${terms.join(", ")})`;
  }
}

export function bindKeys(host: HTMLElement, panel: Panel, all: readonly Panel[], range: TimeRange): void {
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

function bindToolbar(range: TimeRange, panels: readonly Panel[], changed: () => void): void {
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
    changed();
  });
}

/** The switches of flows in all panels, shown for two flows or more. */
class Flows {
  private readonly on: boolean[];
  private readonly buttons: readonly HTMLButtonElement[];

  constructor(
    private readonly meta: PageMeta,
    private readonly panels: readonly Panel[],
  ) {
    this.on = meta.switches.map(() => true);
    this.buttons = meta.switches.map((s, i) => {
      const { button, value } = buildToggle(s.label, { colour: s.colour, marker: s.marker, dash: null });
      value.remove();
      button.addEventListener("click", () => this.set([i], !this.on[i]));
      button.setAttribute("aria-pressed", "true");
      return button;
    });
    const host = document.getElementById("flows");
    if (host === null || meta.flows.length < 2) return;
    const every = meta.switches.map((_, i) => i);
    for (const [label, value] of [["All", true], ["None", false]] as const) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = label;
      button.addEventListener("click", () => this.set(every, value));
      host.append(button);
    }
    host.append(...this.buttons);
    host.hidden = false;
  }

  /** Switches off in a new panel what is off in the others. */
  apply(panel: Panel): void {
    this.on.forEach((on, i) => {
      if (!on) for (const flow of this.meta.switches[i]!.flows) panel.setFlow(flow, false);
    });
  }

  private set(switches: readonly number[], value: boolean): void {
    for (const i of switches) {
      this.on[i] = value;
      this.buttons[i]!.setAttribute("aria-pressed", String(value));
      for (const flow of this.meta.switches[i]!.flows) for (const panel of this.panels) panel.setFlow(flow, value);
    }
    for (const panel of this.panels) panel.redraw();
  }
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
export function bindTheme(panels: Iterable<Panel>): void {
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
