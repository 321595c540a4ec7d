// The pure functions of the lab's page.

import { afterEach, describe, expect, it, vi } from "vitest";
import { readPlace, writePlace } from "../lab/address";
import { Live, type Lines, type LivePanel } from "../lab/growing";
import type { Core } from "../lab/core";
import { jain, Meter } from "../lab/metrics";
import { Player, type Watcher } from "../lab/player";
import { type NewRows, type Progress, readAnswer } from "../lab/protocol";
import { bitsPerSecond, packets, percent, seconds, toMillisecond, writePackets, writePercent, writeRate, writeTime } from "../lab/quantities";
import type { PanelMeta } from "../src/payload";

const rows = (columns: Record<string, number[]>): NewRows => ({
  rows: Object.values(columns)[0]!.length,
  columns: Object.fromEntries(Object.entries(columns).map(([name, values]) => [name, Float64Array.from(values)])),
});
const progress = (tables: Record<string, NewRows>): Progress => ({ now_ns: 0, reached: true, ended: false, tables });

describe("quantities", () => {
  it("are read and written as scenarios have them", () => {
    expect(bitsPerSecond("1.5 Gbit/s")).toBe(1.5e9);
    expect([seconds("40 ms"), seconds("2 min"), seconds("40")]).toEqual([0.04, 120, NaN]);
    expect([packets("100 packets"), packets("20 kB"), percent("0.1 %")]).toEqual([100, NaN, 0.1]);
    expect([writeRate(2e7), writeRate(1.25e9), writeTime(0.04), writeTime(1.5)]).toEqual(["20 Mbit/s", "1.25 Gbit/s", "40 ms", "1.5 s"]);
    expect([writePackets(100), writePercent(0.03)]).toEqual(["100 packets", "0.03 %"]);
  });

  it("of times are whole milliseconds, not before", () => {
    expect([0, 1, 1e6, 1e6 + 1].map(toMillisecond)).toEqual([0, 1e6, 1e6, 2e6]);
  });
});

describe("an address", () => {
  it("has the text and the time", async () => {
    const state = { text: "# Umlaut: ü\nduration = \"1 s\"\n", at: 1_500_000_000 };
    const hash = await writePlace(state);
    expect(hash).toMatch(/^at=1500000000&scenario=[\w-]+$/);
    expect(await readPlace(`#${hash}`)).toEqual(state);
    expect(await readPlace("#t=1")).toBeNull();
  });

  it("that is damaged says so", async () => {
    const hash = await writePlace({ text: "duration = \"1 s\"", at: 0 });
    for (const damaged of [hash.slice(0, -4), hash.replace("scenario=", "scenario=!"), "scenario="]) {
      await expect(readPlace(damaged)).rejects.toThrow("This link is damaged");
    }
  });
});

describe("an answer", () => {
  it("has columns behind its JSON, at a multiple of eight bytes", () => {
    const json = new TextEncoder().encode(JSON.stringify({ now_ns: 5, tables: { flows: { rows: 2, columns: { a: 0, b: 16 } } } }));
    const first = Math.ceil((4 + json.length) / 8) * 8;
    const bytes = new Uint8Array(first + 32);
    new DataView(bytes.buffer).setUint32(0, json.length, true);
    bytes.set(json, 4);
    new Float64Array(bytes.buffer, first).set([1, 2, 3, 4]);
    const { tables } = readAnswer(bytes.buffer) as unknown as Progress;
    expect([...tables["flows"]!.columns["a"]!, ...tables["flows"]!.columns["b"]!]).toEqual([1, 2, 3, 4]);
  });
});

describe("lines", () => {
  const look = { colour: "blue", marker: "circle", dash: [] } as const;
  const usual = { factor: 1, step: "mean", counted: false, threshold: false } as const;
  const live = (...lines: Lines[]) => {
    const panel: LivePanel = { meta: { id: "x", kind: "points", flag: null } as unknown as PanelMeta, lines };
    const names = { flow: ["cubic", "reno"], queue: ["bottleneck"], class: [["L", "C"]] };
    return new Live(panel, { flows: [look], queues: [look] }, names);
  };

  it("get longer, one for each flow that has values", () => {
    const panel = live({ ...usual, table: "flows", of: "flow", y: "v", factor: 2 });
    panel.add(progress({ flows: rows({ time_s: [1, 1], flow: [0, 1], v: [1, NaN] }) }));
    panel.add(progress({ flows: rows({ time_s: [2, 2], flow: [0, 1], v: [3, NaN] }) }));
    const { series } = panel.data;
    expect(series.map((s) => [s.meta.label, [...s.t], [...s.v]])).toEqual([["cubic", [1, 2], [2, 6]]]);
  });

  it("of marks are numbers per second, since the mark before", () => {
    const panel = live({ ...usual, table: "queues", of: "queue", y: "ce", counted: true, kind: "CE", look });
    panel.add(progress({ queues: rows({ time_s: [1, 2, 4], queue: [0, 0, 0], ce: [2, 0, 6] }) }));
    expect([...panel.data.series[0]!.v]).toEqual([2, NaN, 2]);
  });

  it("of classes take the place of the queue's dots", () => {
    const panel = live(
      { ...usual, table: "points", of: "queue", y: "ms" },
      { ...usual, table: "classes", of: "class", y: "ms" },
    );
    panel.add(progress({ points: rows({ time_s: [1], queue: [0], ms: [5] }) }));
    expect([panel.meta.kind, panel.data.series.map((s) => s.meta.label)]).toEqual(["points", ["bottleneck"]]);
    panel.add(progress({ classes: rows({ time_s: [1, 1], queue: [0, 0], class: [0, 1], ms: [1, 9] }) }));
    expect([panel.meta.kind, panel.data.series.map((s) => s.meta.label)]).toEqual(["line", ["L", "C"]]);
  });
});

describe("the four metrics", () => {
  it("have Jain's index", () => {
    expect(jain([5, 5])).toBe(1);
    expect(jain([1, 0])).toBe(0.5);
    expect(jain([])).toBeNaN();
  });

  it("are about the last five seconds, and convergence about the time since the last start", () => {
    const meter = new Meter();
    for (let t = 1; t <= 10; t++) {
      // The second flow starts after 4 s, and has an equal share 3 s later.
      const second = t < 5 ? 0 : t < 8 ? 2 : 10;
      meter.add(
        progress({
          flows: rows({ time_s: [t, t], flow: [0, 1], throughput_mbps: [10, second] }),
          queues: rows({ time_s: [t], queue: [0], utilization: [t <= 5 ? 0.5 : 1], sojourn_mean_ms: [t], sojourn_max_ms: [2 * t], dequeued: [99], drops: [1] }),
        }),
      );
    }
    const { utilisation, flows, convergence, wait, longest, dropped } = meter.metrics;
    expect({ utilisation, flows, convergence, wait, longest, dropped }).toEqual({ utilisation: 1, flows: 2, convergence: 3, wait: 8, longest: 20, dropped: 1 });
  });
});

describe("the clock", () => {
  afterEach(() => void vi.useRealTimers());

  /** A run of 100 s that reaches every time at once, except that its memory may end. */
  function played(enough = Infinity) {
    let now = 0;
    const failed: string[] = [];
    const core = {
      open: async () => ((now = 0), { duration_ns: 100e9, scenario: { flow: [] }, flows: [], queues: [], classes: [] }),
      advance: async (until: number) => {
        if (until > enough) throw new Error("more than it may hold");
        now = until;
        return { now_ns: now, reached: true, ended: until >= 100e9, tables: {} };
      },
      edit: async (_at: number, edit: { value: string }) => {
        if (edit.value === "no") throw new Error("refused");
        return "another text";
      },
    };
    const watcher: Watcher = {
      opened: () => {},
      moved: () => {},
      drawn: () => {},
      changed: () => {},
      failed: (error) => void failed.push(error.message),
      known: { until: 0, transit: 0 },
    };
    const player = new Player(core as unknown as Core, watcher);
    return { player, failed };
  }
  const rate = (value: string) => ({ what: "rate", link: "bottleneck", value }) as const;

  it("goes on as fast as before after changes, and after one that is refused", async () => {
    vi.useFakeTimers();
    const { player, failed } = played();
    await player.open("text");
    player.play();
    await vi.advanceTimersByTimeAsync(1000);
    for (const value of ["1 Mbit/s", "2 Mbit/s", "no"]) await player.edit(rate(value));
    expect(failed).toEqual(["refused"]);
    const before = player.now;
    await vi.advanceTimersByTimeAsync(1000);
    // A picture may be missing at either end.
    expect(player.now - before).toBeGreaterThan(0.85e9);
    expect(player.now - before).toBeLessThan(1.1e9);
    player.pause();
    await vi.advanceTimersByTimeAsync(1000);
    const paused = player.now;
    await vi.advanceTimersByTimeAsync(1000);
    expect(player.now).toBe(paused);
  });

  it("stops where the run fails, and says why", async () => {
    vi.useFakeTimers();
    const { player, failed } = played(2e9);
    await player.open("text");
    player.play();
    await vi.advanceTimersByTimeAsync(5000);
    expect(failed).toEqual(["more than it may hold"]);
    expect(player.playing).toBe(false);
  });
});
