// Packets and acknowledgements on their way: from the sender through the queue and over the wire to the receiver, and back.
// It shows what a bottleneck does to their spacing, which the sender then has from the acknowledgements (self-clocking).
//
// What it draws was recorded: when each packet left its sender, entered and left the queue, and arrived.

import { colour } from "../src/palette";
import type { Look } from "./growing";
import type { Progress } from "./protocol";

/** Places in the picture, as shares of its width and height. */
const SENDER = 0.07;
const QUEUE = 0.26;
const RECEIVER = 0.93;
const DATA = 0.36;
const ACKS = 0.8;

/** A packet in the queue: its width, and the room for it, in CSS pixels. */
const BOX = 7;
const SLOT = 9;
const COLUMNS = 14;

/** Places where a packet is recorded (`tap`), and the codes of marks in its IP header (`ecn`). */
const [AT_SENDER, INTO_QUEUE, OUT_OF_QUEUE, AT_RECEIVER] = [0, 1, 2, 3];
const CE = 3;

/** Lost packets fall for this long, in nanoseconds of the picture's time, but at least this share of a round trip. */
const FALL = 0.15;

interface Seen {
  readonly flow: number;
  readonly back: boolean;
  readonly id: number;
  sent: number;
  queued: number;
  left: number;
  arrived: number;
  marked: boolean;
  lost: boolean;
}

export class Animation {
  private packets = new Map<number, Seen>();
  /** Up to this time everything is known. */
  private settled = 0;
  /** The longest time from a sender to a receiver, or back, of late. */
  private transit = 0;
  private readonly context: CanvasRenderingContext2D;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private looks: readonly Look[] = [],
  ) {
    this.context = canvas.getContext("2d")!;
  }

  /** A run has begun anew. */
  reset(looks: readonly Look[]): void {
    [this.packets, this.settled, this.transit, this.looks] = [new Map(), 0, 0, looks];
  }

  add({ tables }: Progress): void {
    const rows = tables["packets"];
    if (rows === undefined) return;
    const column = (name: string) => rows.columns[name]!;
    const [ids, taps, times, flows] = [column("id"), column("tap"), column("t_ns"), column("flow")];
    const [ways, marks, drops] = [column("dir"), column("ecn"), column("drop")];
    for (let i = 0; i < rows.rows; i++) {
      const [id, tap, time, back] = [ids[i]!, taps[i]!, times[i]!, ways[i] === 1];
      let seen = this.packets.get(id);
      if (seen === undefined) {
        seen = { flow: flows[i]!, back, id, sent: time, queued: NaN, left: NaN, arrived: NaN, marked: false, lost: false };
        this.packets.set(id, seen);
      }
      if (tap === INTO_QUEUE) seen.queued = time;
      if (tap === OUT_OF_QUEUE) seen.left = time;
      if (tap === (back ? AT_SENDER : AT_RECEIVER)) {
        seen.arrived = time;
        this.transit = Math.max(this.transit, time - seen.sent);
      }
      seen.marked ||= marks[i] === CE;
      seen.lost ||= drops[i]! > 0;
      this.settled = Math.max(this.settled, time);
    }
  }

  /** Up to when everything is known of packets, and how long they take of late. */
  get known(): { readonly until: number; readonly transit: number } {
    return { until: Math.max(0, this.settled - this.transit), transit: this.transit };
  }

  /** Draws the time `at`; returns how many packets are under way. */
  draw(at: number): number {
    const { canvas, context: ctx } = this;
    const ratio = devicePixelRatio || 1;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (canvas.width !== width * ratio || canvas.height !== height * ratio) {
      [canvas.width, canvas.height] = [width * ratio, height * ratio];
    }
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.clearRect(0, 0, width, height);
    this.drawPlaces(width, height);
    const fall = FALL * Math.max(this.transit, 1e6);
    const waiting: Seen[] = [];
    let shown = 0;
    for (const seen of this.packets.values()) {
      const end = Number.isNaN(seen.arrived) ? (seen.lost ? seen.sent + fall : Infinity) : seen.arrived;
      if (end < at - this.transit) {
        this.packets.delete(seen.id);
        continue;
      }
      if (seen.sent > at || end < at) continue;
      shown++;
      if (seen.back) this.drawOnWire(seen, RECEIVER, SENDER, ACKS, (at - seen.sent) / (seen.arrived - seen.sent), width, height);
      else if (seen.lost && Number.isNaN(seen.left) && Number.isNaN(seen.arrived)) this.drawLost(seen, (at - seen.sent) / fall, width, height);
      else if (!Number.isNaN(seen.queued) && at >= seen.queued && !(at >= seen.left)) waiting.push(seen);
      else if (at >= seen.left) this.drawOnWire(seen, QUEUE, RECEIVER, DATA, (at - seen.left) / (seen.arrived - seen.left), width, height);
      else this.drawOnWire(seen, SENDER, QUEUE, DATA, (at - seen.sent) / (seen.queued - seen.sent), width, height);
    }
    waiting.sort((a, b) => (a.left || Infinity) - (b.left || Infinity) || a.queued - b.queued);
    waiting.forEach((seen, n) => this.drawWaiting(seen, n, width, height));
    ctx.fillStyle = colour("soft");
    ctx.textAlign = "center";
    ctx.fillText(`queue: ${waiting.length}`, QUEUE * width, DATA * height + 50);
    return shown;
  }

  private drawPlaces(width: number, height: number): void {
    const ctx = this.context;
    ctx.font = "12px system-ui, sans-serif";
    ctx.strokeStyle = colour("line");
    ctx.lineWidth = 1;
    ctx.beginPath();
    for (const y of [DATA, ACKS]) {
      ctx.moveTo(SENDER * width, y * height);
      ctx.lineTo(RECEIVER * width, y * height);
    }
    ctx.stroke();
    ctx.fillStyle = colour("ink");
    ctx.textAlign = "center";
    ctx.fillText("senders", SENDER * width, 14);
    ctx.fillText("bottleneck", QUEUE * width, 14);
    ctx.fillText("receivers", RECEIVER * width, 14);
    ctx.fillStyle = colour("soft");
    ctx.fillText("data", (QUEUE + RECEIVER) * 0.5 * width, DATA * height - 14);
    ctx.fillText("acknowledgements", (SENDER + RECEIVER) * 0.5 * width, ACKS * height + 22);
    ctx.strokeStyle = colour("ink");
    for (const x of [SENDER, RECEIVER]) ctx.strokeRect(x * width - 12, 24, 24, height - 40);
  }

  private style(seen: Seen): void {
    this.context.fillStyle = colour(this.looks[seen.flow % Math.max(1, this.looks.length)]?.colour ?? "blue");
  }

  private box(seen: Seen, x: number, y: number, small: boolean): void {
    const ctx = this.context;
    const [w, h] = small ? [4, 9] : [BOX, 12];
    this.style(seen);
    ctx.fillRect(x - w / 2, y - h / 2, w, h);
    if (seen.marked) {
      ctx.strokeStyle = colour("red");
      ctx.lineWidth = 2;
      ctx.strokeRect(x - w / 2 - 1, y - h / 2 - 1, w + 2, h + 2);
    }
  }

  private drawOnWire(seen: Seen, from: number, to: number, lane: number, share: number, width: number, height: number): void {
    const part = Number.isFinite(share) ? Math.min(1, Math.max(0, share)) : 0;
    this.box(seen, (from + (to - from) * part) * width, lane * height, seen.back);
  }

  /** The next one to leave is at the wire; the others are behind it, row over row. */
  private drawWaiting(seen: Seen, n: number, width: number, height: number): void {
    const x = QUEUE * width - SLOT * ((n % COLUMNS) + 1);
    const y = DATA * height - 14 * Math.floor(n / COLUMNS);
    if (y > 24) this.box(seen, x, y, false);
  }

  private drawLost(seen: Seen, share: number, width: number, height: number): void {
    const [x, y] = [QUEUE * width, DATA * height + 14 + share * 0.3 * height];
    const ctx = this.context;
    ctx.strokeStyle = colour("red");
    ctx.lineWidth = 2;
    ctx.beginPath();
    ctx.moveTo(x - 4, y - 4);
    ctx.lineTo(x + 4, y + 4);
    ctx.moveTo(x - 4, y + 4);
    ctx.lineTo(x + 4, y - 4);
    ctx.stroke();
    this.style(seen);
    ctx.fillRect(x + 8, y - 4, 8, 8);
  }
}
