import "uplot/dist/uPlot.min.css";
import "../src/style.css";
import "./lab.css";
import { formatTime } from "../src/format";
import { decodeBase64 } from "../src/payload";
import { Panel } from "../src/panel";
import { TimeRange } from "../src/range";
import { bindKeys, bindTheme, Head } from "../src/run-page";
import { readPlace, writePlace } from "./address";
import { Animation } from "./animation";
import { Controls, type Kinds } from "./controls";
import { Core, Refused } from "./core";
import { Live, type LivePanel, type Looks } from "./growing";
import { Meter } from "./metrics";
import { Player, type State } from "./player";
import type { About, Files, Progress } from "./protocol";

/** What the page brings with it. */
interface Brought {
  readonly panels: readonly LivePanel[];
  readonly looks: Looks;
  /** The first is what the page opens with. */
  readonly examples: readonly { readonly name: string; readonly text: string; readonly files: Files; readonly animated?: boolean }[];
}

const $ = <T extends HTMLElement>(id: string) => document.getElementById(id) as T;
const held = (id: string) => $(id).textContent ?? "";

/** The panels and the lines that they draw. What a reader has zoomed or switched off stays so when the run begins anew. */
class Charts {
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

function listen(range: () => TimeRange): void {
  const actions: Record<string, (r: TimeRange) => void> = {
    in: (r) => r.zoom(0.5),
    out: (r) => r.zoom(2),
    left: (r) => r.pan(-0.5),
    right: (r) => r.pan(0.5),
    reset: (r) => r.reset(),
  };
  for (const button of document.querySelectorAll<HTMLButtonElement>("[data-range]")) {
    button.addEventListener("click", () => actions[button.dataset["range"] ?? ""]?.(range()));
  }
}

function say(message: string, wrong = false): void {
  const line = $("message");
  line.textContent = message;
  line.classList.toggle("wrong", wrong);
}

/** Marks the line of the text that a message is about, and shows it. */
function showFault(error: Error): void {
  say(error.message, true);
  if (!(error instanceof Refused) || typeof error.fault.line !== "number") return;
  const text = $<HTMLTextAreaElement>("scenario");
  const lines = text.value.split("\n");
  const start = lines.slice(0, error.fault.line - 1).reduce((sum, line) => sum + line.length + 1, 0);
  text.focus();
  text.setSelectionRange(start, start + (lines[error.fault.line - 1]?.length ?? 0));
}

function digits(value: number, unit: string, places = 1): string {
  return Number.isFinite(value) ? `${value.toFixed(places)}${unit}` : "–";
}

function showMetrics(meter: Meter): void {
  const m = meter.metrics;
  $("efficiency").textContent = digits(100 * m.utilisation, " %");
  $("fairness").textContent = m.flows > 1 ? digits(m.jain, "", 3) : "–";
  $("convergence").textContent = m.flows > 1 ? (Number.isFinite(m.convergence) ? digits(m.convergence, " s") : "not yet") : "–";
  $("collateral").textContent = `${digits(m.wait, " ms")} (at most ${digits(m.longest, " ms")}), ${digits(m.dropped, " %", 2)} dropped`;
}

async function copy(text: string, button: HTMLButtonElement): Promise<void> {
  const label = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "copied";
  } catch {
    // Without permission for the clipboard (some browsers refuse it to local files) the reader copies by hand.
    say(text);
    button.textContent = "see below";
  }
  setTimeout(() => (button.textContent = label), 2500);
}

async function start(): Promise<void> {
  const brought = JSON.parse(held("lab-data")) as Brought;
  const core = await Core.start(held("lab-worker"), new Uint8Array(decodeBase64(held("lab-code"))));
  const kinds = (await core.kinds()) as unknown as Kinds;
  const animation = new Animation($<HTMLCanvasElement>("animation"));
  const charts = new Charts(brought);
  let meter: Meter | null = null;
  let about: About | null = null;
  let digest: string | null = null;

  const player = new Player(core, {
    opened(opened, text) {
      about = opened;
      digest = null;
      charts.begin(opened);
      meter = new Meter();
      animation.reset(brought.looks.flows);
      const box = $<HTMLTextAreaElement>("scenario");
      if (document.activeElement !== box || box.value !== text) box.value = text;
      $("title").textContent = opened.scenario.title || "The lab";
      $<HTMLInputElement>("time").max = String(opened.duration_ns);
      say("");
    },
    moved(progress) {
      charts.add(progress);
      meter?.add(progress);
      if (player.packets) animation.add(progress);
    },
    drawn() {
      charts.draw();
      if (meter !== null) showMetrics(meter);
      if (player.packets) animation.draw(player.view);
    },
    changed(state: State, now: number) {
      const playing = state === "playing";
      $("play").textContent = playing ? "❚❚ pause" : state === "ended" ? "↻ again" : "▶ run";
      $("state").textContent = state === "catching up" ? "catching up …" : state;
      const span = player.duration / 1e9;
      $("clock").textContent = `${formatTime(now / 1e9, Math.min(span, 1), 100)} s of ${span} s`;
      const time = $<HTMLInputElement>("time");
      if (document.activeElement !== time || playing) time.value = String(now);
      document.body.dataset["state"] = state;
      if (state !== "catching up" && about !== null) controls.show(about, now);
      if (state === "ended" && digest === null) void finish();
      if (state === "ended" || state === "paused") void address();
    },
    known: () => animation.known,
    failed(error) {
      showFault(error);
      // A control that asked for what is not allowed shows again what is.
      if (about !== null) controls.reset(about, player.now);
    },
  });

  const controls = new Controls($("controls"), kinds, brought.looks, (edit) => void player.edit(edit));
  async function finish(): Promise<void> {
    const summary = await core.summary();
    digest = String(summary["digest"]);
    document.body.dataset["digest"] = digest;
    $("digest").textContent = `digest ${digest}, as \`windtunnel run\` prints it for this text`;
  }
  async function address(): Promise<void> {
    const hash = await writePlace({ text: player.text, at: player.now });
    // A page that is embedded may not change its address.
    try {
      history.replaceState(null, "", `#${hash}`);
    } catch {
      // The link can be copied nevertheless.
    }
  }

  listen(() => charts.range);
  bindTheme({ [Symbol.iterator]: () => charts.all[Symbol.iterator]() });
  $("play").addEventListener("click", () => (player.playing ? player.pause() : player.play()));
  $("step").addEventListener("click", () => player.step());
  $("rewind").addEventListener("click", () => player.seek(0));
  $("time").addEventListener("change", () => player.seek(Number($<HTMLInputElement>("time").value)));
  const speed = $<HTMLSelectElement>("speed");
  const pace = () => (player.speed = speed.value === "fast" ? Infinity : Number(speed.value));
  speed.addEventListener("change", pace);
  pace();
  const animate = $<HTMLInputElement>("animate");
  const showAnimation = () => {
    $("animation-box").hidden = !animate.checked;
    player.record(animate.checked);
  };
  animate.addEventListener("change", showAnimation);
  $("run-text").addEventListener("click", () => void player.open($<HTMLTextAreaElement>("scenario").value));
  $("copy-toml").addEventListener("click", (event) => void copy(player.text, event.currentTarget as HTMLButtonElement));
  $("copy-defaults").addEventListener("click", (event) => {
    const button = event.currentTarget as HTMLButtonElement;
    void core.resolve().then((text) => copy(text, button));
  });
  $("copy-link").addEventListener("click", (event) => {
    const button = event.currentTarget as HTMLButtonElement;
    void writePlace({ text: player.text, at: player.now }).then((hash) => copy(`${location.href.replace(/#.*/, "")}#${hash}`, button));
  });
  const examples = $<HTMLSelectElement>("examples");
  brought.examples.forEach(({ name }, i) => examples.append(Object.assign(document.createElement("option"), { value: String(i), textContent: name })));
  examples.addEventListener("change", () => {
    const example = brought.examples[Number(examples.value)]!;
    player.pause();
    animate.checked = example.animated === true;
    $("animation-box").hidden = !animate.checked;
    player.packets = animate.checked;
    speed.value = animate.checked ? "0.001" : "1";
    pace();
    void player.open(example.text, example.files);
  });

  const first = brought.examples[0]!;
  try {
    const linked = await readPlace(location.hash);
    await player.open(linked?.text ?? first.text, first.files, linked?.at ?? 0);
  } catch (error) {
    await player.open(first.text, first.files);
    say((error as Error).message, true);
  }
  if (about === null) {
    // The text of a link, or of the file, is wrong: it is there to be mended, under the message.
    const message = $("message").textContent ?? "";
    const linked = await readPlace(location.hash).catch(() => null);
    const example = brought.examples[1];
    if (example !== undefined) await player.open(example.text, example.files);
    $<HTMLTextAreaElement>("scenario").value = linked?.text ?? first.text;
    say(message, true);
  }
  document.body.dataset["ready"] = "true";
}

void start().catch((error: unknown) => say(String(error), true));
