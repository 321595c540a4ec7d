import "uplot/dist/uPlot.min.css";
import "../src/style.css";
import "./lab.css";
import { formatTime } from "../src/format";
import { decodeBase64 } from "../src/payload";
import { bindTheme } from "../src/run-page";
import { readPlace, writePlace } from "./address";
import { Animation } from "./animation";
import type { Brought } from "./brought";
import { Charts } from "./charts";
import { Controls, type Kinds } from "./controls";
import { Core } from "./core";
import { $, say, sayFault } from "./dom";
import { Meter } from "./metrics";
import { Player, type State, type Watcher } from "./player";
import type { About, Progress } from "./protocol";
import { bindRange, bindRun, bindText } from "./toolbar";

const held = (id: string) => $(id).textContent ?? "";

function digits(value: number, unit: string, places = 1): string {
  return Number.isFinite(value) ? `${value.toFixed(places)}${unit}` : "\u2013";
}

/** The page: it shows what the run has come to. */
class Page implements Watcher {
  readonly player: Player;
  readonly charts: Charts;
  private readonly controls: Controls;
  private readonly animation = new Animation($<HTMLCanvasElement>("animation"));
  private meter = new Meter();
  about: About | null = null;
  private finished = false;

  constructor(
    private readonly core: Core,
    private readonly brought: Brought,
    kinds: Kinds,
  ) {
    this.charts = new Charts(brought);
    this.player = new Player(core, this);
    this.controls = new Controls($("controls"), kinds, brought.looks, (edit) => void this.player.edit(edit));
  }

  opened(about: About, text: string): void {
    this.about = about;
    this.finished = false;
    this.charts.begin(about);
    this.meter = new Meter();
    this.animation.reset(this.brought.looks.flows);
    const box = $<HTMLTextAreaElement>("scenario");
    if (document.activeElement !== box || box.value !== text) box.value = text;
    $("title").textContent = about.scenario.title || "The lab";
    $<HTMLInputElement>("time").max = String(about.duration_ns);
    $("digest").textContent = "";
    delete document.body.dataset["digest"];
    say("");
  }

  moved(progress: Progress): void {
    this.charts.add(progress);
    this.meter.add(progress);
    if (this.player.packets) this.animation.add(progress);
  }

  drawn(): void {
    this.charts.draw();
    this.showMetrics();
    if (this.player.packets) this.animation.draw(this.player.view);
  }

  get known(): { readonly until: number; readonly transit: number } {
    return this.animation.known;
  }

  changed(state: State, now: number): void {
    const playing = state === "playing";
    $("play").textContent = playing ? "❚❚ pause" : state === "ended" ? "↻ again" : "▶ run";
    $("state").textContent = state === "catching up" ? "catching up …" : state;
    const span = this.player.duration / 1e9;
    $("clock").textContent = `${formatTime(now / 1e9, Math.min(span, 1), 100)} s of ${span} s`;
    const time = $<HTMLInputElement>("time");
    if (document.activeElement !== time || playing) time.value = String(now);
    document.body.dataset["state"] = state;
    if (state !== "catching up" && this.about !== null) this.controls.show(this.about, now);
    if (state === "ended" && !this.finished) void this.finish();
    if (state === "ended" || state === "paused") void this.address();
  }

  failed(error: Error): void {
    sayFault(error);
    // A control that asked for what is not allowed shows again what is.
    if (this.about !== null) this.controls.reset(this.about, this.player.now);
  }

  private showMetrics(): void {
    const m = this.meter.metrics;
    const shared = m.flows > 1;
    $("efficiency").textContent = digits(100 * m.utilisation, " %");
    $("fairness").textContent = shared ? digits(m.jain, "", 3) : "\u2013";
    const converged = Number.isFinite(m.convergence) ? digits(m.convergence, " s") : "not yet";
    $("convergence").textContent = shared ? converged : "\u2013";
    $("collateral").textContent = `${digits(m.wait, " ms")} (at most ${digits(m.longest, " ms")}), ${digits(m.dropped, " %", 2)} dropped`;
  }

  private async finish(): Promise<void> {
    this.finished = true;
    const { digest } = await this.core.summary();
    document.body.dataset["digest"] = String(digest);
    $("digest").textContent = `digest ${String(digest)}, as \`windtunnel run\` prints it for this text`;
  }

  private async address(): Promise<void> {
    const hash = await writePlace({ text: this.player.text, at: this.player.now });
    // A page that is embedded may not change its address.
    try {
      history.replaceState(null, "", `#${hash}`);
    } catch {
      // The link can be copied nevertheless.
    }
  }
}

/** Opens what the address says, or else the first example. What is wrong is said, and there to be mended. */
async function openFirst(page: Page, brought: Brought): Promise<void> {
  const { text, files } = brought.examples[0]!;
  let [linked, damage] = [null as Awaited<ReturnType<typeof readPlace>>, ""];
  try {
    linked = await readPlace(location.hash);
  } catch (error) {
    damage = (error as Error).message;
  }
  if (linked !== null) await page.player.open(linked.text, files, linked.at);
  if (page.about !== null) return;
  const wrong = linked === null ? damage : held("message");
  await page.player.open(text, files);
  if (linked !== null) $<HTMLTextAreaElement>("scenario").value = linked.text;
  if (wrong !== "") say(wrong, true);
}

async function start(): Promise<void> {
  const brought = JSON.parse(held("lab-data")) as Brought;
  const core = await Core.start(held("lab-worker"), new Uint8Array(decodeBase64(held("lab-code"))));
  const page = new Page(core, brought, (await core.kinds()) as unknown as Kinds);
  bindRun(page.player, brought.examples);
  bindRange(() => page.charts.range);
  bindText(page.player, core);
  bindTheme({ [Symbol.iterator]: () => page.charts.all[Symbol.iterator]() });
  await openFirst(page, brought);
  document.body.dataset["ready"] = "true";
}

void start().catch((error: unknown) => say(String(error), true));
