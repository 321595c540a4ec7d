// The clock of the lab: how far the run is, how fast it goes, and how it gets back to where it was after a change.

import type { Core } from "./core";
import type { About, Edit, Files, Progress } from "./protocol";
import { toMillisecond } from "./quantities";

/** Between two pictures, in milliseconds. */
const FRAME = 50;

/** Events between two looks at the page's questions: some hundredths of a second. */
const EVENTS = 60_000;

export type State = "paused" | "playing" | "catching up" | "ended";

/** How far the run is ahead of an animation at least, in nanoseconds: some intervals, at whose ends rows come. */
const AHEAD = 3e7;

/** What the page does about it. */
export interface Watcher {
  /** A run has begun anew: all rows so far are those of another. */
  opened(about: About, text: string): void;
  /** It has gone on. */
  moved(progress: Progress): void;
  /** The picture is to be drawn: the run is where it is to stay for a moment. */
  drawn(): void;
  changed(state: State, now: number): void;
  failed(error: Error): void;
  /** Where single packets are recorded: up to when everything is known of them, and how long they take of late. */
  readonly known: { readonly until: number; readonly transit: number };
}

export class Player {
  /** Simulated seconds per second; as fast as possible if infinite. */
  speed = 1;
  /** Single packets are recorded. */
  packets = false;
  text = "";
  /** In nanoseconds. */
  now = 0;
  /** The time that an animation of packets shows: the run is ahead of it, so that it knows where each packet goes. */
  view = 0;
  duration = 0;
  private files: Files = {};
  private state: State = "paused";
  /** How often it has begun to play. */
  private turn = 0;
  /** What is asked for is done one after the other. */
  private tail: Promise<void> = Promise.resolve();

  constructor(
    private readonly core: Core,
    private readonly watcher: Watcher,
  ) {}

  get playing(): boolean {
    return this.state === "playing";
  }

  private set(state: State): void {
    this.state = state;
    this.watcher.changed(state, this.now);
  }

  /** Does something after all that was asked for before. Faults are told, and leave the run as it was. */
  private then(act: () => Promise<void>): Promise<void> {
    this.tail = this.tail.then(act).catch((error: unknown) => {
      if (this.state === "catching up") this.set("paused");
      this.watcher.failed(error as Error);
    });
    return this.tail;
  }

  /** Runs this text from its start, up to a time; whether it goes on from there is as before. */
  open(text: string, files: Files = this.files, until = 0): Promise<void> {
    return this.then(() => this.reopen(text, files, until));
  }

  private async reopen(text: string, files: Files, until: number): Promise<void> {
    const playing = this.playing;
    const about = await this.core.open(text, files, this.packets);
    [this.text, this.files, this.now, this.view, this.duration] = [text, files, 0, 0, about.duration_ns];
    this.watcher.opened(about, text);
    this.set("catching up");
    await this.advance(Math.min(until, this.duration - 1), true);
    this.watcher.drawn();
    this.set(playing ? "playing" : "paused");
    if (playing) this.go();
  }

  /** Goes on up to a time; at once, or as far as a part of a second allows. */
  private async advance(until: number, all: boolean): Promise<void> {
    if (until > this.now) await this.run(until, all);
    if (!this.packets) this.view = this.now;
    else if (all) this.view = this.watcher.known.until;
  }

  private async run(until: number, all: boolean): Promise<void> {
    const patience = performance.now() + FRAME;
    for (;;) {
      const progress = await this.core.advance(until, EVENTS);
      this.now = progress.now_ns;
      this.watcher.moved(progress);
      if (progress.ended) this.state = "ended";
      if (progress.reached || progress.ended || (!all && performance.now() > patience)) break;
      if (all) this.watcher.changed(this.state, this.now);
    }
  }

  play(): void {
    if (this.playing) return;
    if (this.state === "ended") void this.open(this.text);
    void this.then(async () => {
      this.set("playing");
      this.go();
    });
  }

  pause(): void {
    void this.then(async () => {
      if (this.playing) this.set("paused");
    });
  }

  /** Plays from now on; pictures that were to come belong to what was before. */
  private go(): void {
    this.frame(performance.now(), ++this.turn);
  }

  /** One picture after the other, while the run plays. */
  private frame(before: number, turn: number): void {
    setTimeout(() => {
      void this.then(async () => {
        if (!this.playing || turn !== this.turn) return;
        const time = performance.now();
        // A page that was hidden does not catch up with all that it has missed.
        const passed = Math.min(time - before, 4 * FRAME);
        const step = this.speed === Infinity ? this.duration : passed * 1e6 * this.speed;
        let until = this.now + step;
        if (this.packets) {
          const { until: latest, transit } = this.watcher.known;
          // The first packets have to arrive before anything is known.
          if (latest < this.view + step) until = this.now + Math.max(step, AHEAD);
          else until = Math.max(this.now, this.view + 2 * transit + AHEAD);
          this.view = Math.min(this.view + step, Math.max(this.view, latest));
        }
        try {
          await this.advance(Math.min(until, this.duration), false);
        } catch (error) {
          this.set("paused");
          throw error;
        }
        this.watcher.drawn();
        this.watcher.changed(this.state, this.now);
        if (this.playing) this.frame(time, turn);
      });
    }, FRAME);
  }

  /** Up to the next acknowledgement. */
  step(): void {
    void this.then(async () => {
      if (this.state === "ended") return;
      const progress = await this.core.step();
      this.now = progress.now_ns;
      this.watcher.moved(progress);
      this.view = this.packets ? Math.max(this.view, this.watcher.known.until) : this.now;
      this.watcher.drawn();
      this.set(progress.ended ? "ended" : "paused");
    });
  }

  /** To a time, be it earlier or later. */
  seek(ns: number): void {
    void this.then(async () => {
      if (ns < this.now || this.state === "ended") await this.reopen(this.text, this.files, ns);
      else {
        const playing = this.playing;
        this.set("catching up");
        await this.advance(ns, true);
        this.watcher.drawn();
        if ((this.state as State) !== "ended") this.set(playing ? "playing" : "paused");
        else this.set("ended");
        if (playing && (this.state as State) === "playing") this.go();
      }
    });
  }

  /** A control has moved: from now on the run is another. One that has ended is another from its start. */
  edit(edit: Edit): Promise<void> {
    return this.then(async () => {
      const at = this.state === "ended" ? 0 : toMillisecond(this.now);
      const text = await this.core.edit(at, edit);
      await this.reopen(text, this.files, at);
    });
  }

  /** Whether single packets are recorded; the run begins anew, because those before are not known. */
  record(packets: boolean): void {
    if (packets === this.packets) return;
    this.packets = packets;
    void this.then(() => this.reopen(this.text, this.files, this.now));
  }
}
