// The panels of a run's page, drawn while the run goes on.

import { Panel } from "../src/panel";
import { TimeRange } from "../src/range";
import { bindKeys, Head } from "../src/run-page";
import type { Brought } from "./brought";
import { Live, type LivePanel } from "./growing";
import type { About, Progress } from "./protocol";

/** The panels and the lines that they draw. What a reader has zoomed or switched off stays so when the run begins anew. */
export class Charts {
  private live: readonly Live[] = [];
  private panels: Panel[] = [];
  /** The keys of the lines in each legend. */
  private shown: string[] = [];
  private names: string[] = [];
  /** The panels' sections as they were before anything was drawn. */
  private readonly sections: readonly HTMLElement[];
  range = new TimeRange(0, 1);

  constructor(private readonly brought: Brought) {
    const section = ({ meta }: LivePanel) => document.querySelector<HTMLElement>(`[data-panel="${meta.id}"]`)!;
    this.sections = brought.panels.map((panel) => section(panel).cloneNode(true) as HTMLElement);
  }

  /** A run begins. */
  begin(about: About): void {
    const flows = about.flows.map((flow) => flow.name);
    this.live = this.brought.panels.map((panel) => new Live(panel, this.brought.looks, { flow: flows, queue: about.queues, class: about.classes }));
    this.shown = this.live.map(() => "");
    const end = about.duration_ns / 1e9;
    if (end === this.range.to && flows.every((name, i) => this.names[i] === undefined || this.names[i] === name)) {
      this.names.splice(0, this.names.length, ...flows);
      return;
    }
    // A run of another length, or with other flows, has panels of its own.
    this.range = new TimeRange(0, end);
    this.names = flows;
    this.panels = this.live.map((live, i) => this.build(live, i));
  }

  private build(live: Live, i: number): Panel {
    const { meta } = live.panel;
    const section = this.sections[i]!.cloneNode(true) as HTMLElement;
    document.querySelector(`[data-panel="${meta.id}"]`)!.replaceWith(section);
    const host = section.querySelector<HTMLElement>(".chart")!;
    const panel = new Panel(host, live.meta, live.data, this.range, this.names);
    bindKeys(host, panel, this.panels, this.range);
    new Head(section, meta, panel, new ArrayBuffer(0), () => {});
    return panel;
  }

  add(progress: Progress): void {
    for (const live of this.live) live.add(progress);
  }

  draw(): void {
    this.live.forEach((live, i) => {
      const [panel, meta, data] = [this.panels[i]!, live.meta, live.data];
      const lines = [...meta.series, ...meta.thresholds].map((s) => s.key).join();
      // A legend is built anew only for other lines: it must not move under the pointer.
      if (lines === this.shown[i]) panel.grow(data);
      else panel.show(meta, data);
      this.shown[i] = lines;
    });
  }

  get all(): readonly Panel[] {
    return this.panels;
  }
}
