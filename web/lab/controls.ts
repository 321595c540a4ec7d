// The controls: sliders and lists that show what the scenario says at the time of the run, and change it.

import { buildSwatch } from "../src/legend";
import type { Looks } from "./growing";
import type { About, Edit, FlowSettings, LinkSettings } from "./protocol";
import { bitsPerSecond, packets, percent, seconds, writePackets, writePercent, writeRate, writeTime } from "./quantities";

/** Steps of a slider, whose scale is logarithmic. */
const STEPS = 200;

/** Probabilities of losses to choose from, in percent. */
const LOSSES = [0, 0.01, 0.03, 0.1, 0.3, 1, 2, 3, 5, 10];

/** What a browser's page does not have: queues that need others inside to be of use. */
const NEED_OTHERS: readonly string[] = ["prio", "drr", "wrr", "tbf", "police", "vqpolice", "ramppolice", "replaced"];

interface Kind {
  readonly name: string;
  readonly title: string;
  readonly summary: string;
}

export interface Kinds {
  readonly controllers: readonly Kind[];
  readonly queues: readonly Kind[];
}

interface Change {
  readonly at?: string;
  readonly rate?: string;
  readonly limit?: string;
  readonly delay?: string;
}

type Element = { readonly kind?: string; readonly probability?: string; readonly during?: { readonly from?: string; readonly to?: string } };

/** What a link is like at a time, in seconds. */
interface LinkNow {
  readonly rate: string | null;
  readonly limit: string;
  readonly queue: string;
  readonly more: number;
  readonly loss: string;
}

function linkNow(link: LinkSettings, now: number): LinkNow {
  const changes = ((link as { changes?: readonly Change[] }).changes ?? []).filter((change) => seconds(change.at) <= now);
  const last = (key: "rate" | "limit" | "delay") => changes.filter((change) => change[key] !== undefined).at(-1)?.[key];
  let queue = link.queue as { kind?: string; limit?: string; at?: readonly string[]; children?: readonly { kind: string; limit?: string }[] };
  if (queue?.kind === "replaced" && queue.children !== undefined) {
    const turn = (queue.at ?? []).filter((at) => seconds(at) <= now).length;
    queue = queue.children[turn] ?? queue;
  }
  const elements = (Array.isArray(link.impair) ? link.impair : link.impair === undefined ? [] : [link.impair]) as readonly Element[];
  const losing = elements.filter(({ kind, during }) => {
    const [from, to] = [seconds(during?.from ?? "0 s"), seconds(during?.to)];
    return kind === "loss" && from <= now && !(to <= now);
  });
  return {
    rate: typeof link.rate === "string" ? (last("rate") ?? link.rate) : null,
    limit: last("limit") ?? queue?.limit ?? "",
    queue: queue?.kind ?? "",
    more: seconds(last("delay") ?? link.delay ?? "0 s") - seconds(link.delay ?? "0 s"),
    loss: losing.at(-1)?.probability ?? "0 %",
  };
}

function kindOf(flow: FlowSettings): string {
  return typeof flow.cc === "string" ? flow.cc : (flow.cc?.kind ?? "");
}

function element<K extends keyof HTMLElementTagNameMap>(name: K, props: Partial<HTMLElementTagNameMap[K]> = {}): HTMLElementTagNameMap[K] {
  return Object.assign(document.createElement(name), props);
}

/** A slider next to a text that states the same, and takes whatever a scenario takes. */
function slider(label: string, text: string, scale: { read(text: string): number; write(value: number): string; values: readonly number[] }, change: (value: string) => void): HTMLElement {
  const row = element("label", { className: "setting" });
  const name = element("span", { textContent: label });
  const range = element("input", { type: "range", min: "0", max: String(scale.values.length - 1), step: "1" });
  const box = element("input", { type: "text", value: text, size: 12 });
  box.setAttribute("aria-label", `${label}, as text`);
  const value = scale.read(text);
  const nearest = scale.values.reduce((best, v, i) => (Math.abs(v - value) < Math.abs(scale.values[best]! - value) ? i : best), 0);
  range.value = String(nearest);
  range.addEventListener("input", () => (box.value = scale.write(scale.values[Number(range.value)]!)));
  range.addEventListener("change", () => change(box.value));
  box.addEventListener("change", () => change(box.value));
  row.append(name, range, box);
  return row;
}

function logarithmic(least: number, greatest: number): readonly number[] {
  return Array.from({ length: STEPS + 1 }, (_, i) => Number((least * (greatest / least) ** (i / STEPS)).toPrecision(2)));
}

const RATE = { read: bitsPerSecond, write: writeRate, values: logarithmic(1e5, 1e9) };
const LIMIT = { read: packets, write: writePackets, values: [...new Set(logarithmic(1, 1e4).map(Math.round))] };
const RTT = { read: seconds, write: writeTime, values: logarithmic(1e-3, 1) };
const LOSS = { read: percent, write: writePercent, values: LOSSES };

function list(label: string, kinds: readonly Kind[], chosen: string, change: (kind: string) => void): HTMLElement {
  const row = element("label", { className: "setting" });
  const select = element("select");
  const names = kinds.some((kind) => kind.name === chosen) ? kinds : [{ name: chosen, title: chosen, summary: "" }, ...kinds];
  for (const { name, title, summary } of names) {
    select.append(element("option", { value: name, textContent: title === name ? name : `${title} (${name})`, title: summary, selected: name === chosen }));
  }
  select.addEventListener("change", () => change(select.value));
  row.append(element("span", { textContent: label }), select);
  return row;
}

export class Controls {
  private about: About | null = null;
  /** What is shown: the controls are built anew only where that is another. */
  private shown = "";

  constructor(
    private readonly host: HTMLElement,
    private readonly kinds: Kinds,
    private readonly looks: Looks,
    private readonly edit: (edit: Edit) => void,
  ) {}

  /** Shows what the scenario says at a time, in nanoseconds. */
  show(about: About, ns: number): void {
    this.about = about;
    const now = ns / 1e9;
    const { scenario } = about;
    const all = scenario.link ?? (scenario.bottleneck === undefined ? [] : [{ ...scenario.bottleneck, name: "bottleneck" }]);
    const links = all.filter((link) => link.rate !== undefined);
    const begun = scenario.flow.map((flow) => [flow.name, kindOf(flow), seconds(flow.start ?? "0 s") <= now, seconds(flow.stop) <= now]);
    const shown = JSON.stringify([links.map((link) => linkNow(link, now)), begun, scenario.flow[0]?.rtt]);
    if (shown === this.shown) return;
    this.shown = shown;
    const focusable = () => [...this.host.querySelectorAll<HTMLElement>("input, select, button")];
    const focused = focusable().indexOf(document.activeElement as HTMLElement);
    this.host.replaceChildren(...links.map((link, i) => this.link(link, i === 0, now)), this.flows(now));
    focusable()[focused]?.focus();
  }

  /** Shows it again, whatever the reader has typed. */
  reset(about: About, ns: number): void {
    this.shown = "";
    this.show(about, ns);
  }

  private link(link: LinkSettings, first: boolean, now: number): HTMLElement {
    const name = link.name ?? "bottleneck";
    const { rate, limit, queue, more, loss } = linkNow(link, now);
    const box = element("fieldset");
    box.append(element("legend", { textContent: name }));
    if (rate !== null) box.append(slider("Rate", rate, RATE, (value) => this.edit({ what: "rate", link: name, value })));
    const rtt = seconds(this.about!.scenario.flow[0]?.rtt);
    if (first && !Number.isNaN(rtt)) {
      box.append(slider("Round-trip time", writeTime(rtt + more), RTT, (value) => this.edit({ what: "rtt", link: name, value })));
    }
    box.append(slider("Buffer", limit, LIMIT, (value) => this.edit({ what: "limit", link: name, value })));
    const queues = this.kinds.queues.filter((kind) => !NEED_OTHERS.includes(kind.name));
    box.append(list("Queue (AQM)", queues, queue, (kind) => this.edit({ what: "queue", link: name, kind })));
    box.append(slider("Loss", loss, LOSS, (value) => this.edit({ what: "loss", link: name, value })));
    return box;
  }

  private flows(now: number): HTMLElement {
    const box = element("fieldset");
    box.append(element("legend", { textContent: "Flows" }));
    let number = 0;
    this.about!.scenario.flow.forEach((flow, index) => {
      const [start, stop, look] = [seconds(flow.start ?? "0 s"), seconds(flow.stop), this.looks.flows[number % this.looks.flows.length]!];
      number += flow.count ?? 1;
      const row = element("div", { className: "flow" });
      const name = element("span", { className: "name", textContent: `${flow.name}${(flow.count ?? 1) > 1 ? ` × ${flow.count}` : ""}` });
      name.prepend(buildSwatch(look));
      row.append(name);
      if (stop <= now) row.append(element("span", { className: "soft when", textContent: `stopped at ${flow.stop}` }));
      else {
        if (kindOf(flow) !== "") {
          const controllers = list("", this.kinds.controllers, kindOf(flow), (kind) => this.edit({ what: "controller", flow: index, kind }));
          controllers.querySelector("select")!.setAttribute("aria-label", `Controller of ${flow.name}`);
          row.append(controllers);
        }
        const end = element("button", { type: "button", textContent: "stop", title: `Stop ${flow.name}` });
        end.addEventListener("click", () => this.edit({ what: "stop-flow", flow: index }));
        row.append(end);
        if (start > now) row.append(element("span", { className: "soft when", textContent: `starts at ${flow.start}` }));
      }
      box.append(row);
    });
    const add = element("button", { type: "button", textContent: "+ flow", title: "One more, like the last" });
    add.addEventListener("click", () => this.edit({ what: "add-flow", like: this.about!.scenario.flow.length - 1 }));
    box.append(add);
    return box;
  }
}
