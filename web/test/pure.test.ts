import { describe, expect, it } from "vitest";
import { cellMeans, decimateLine, rasterPoints, thinMarkers, toRow } from "../src/decimate";
import { averaged } from "../src/average";
import { formatLogTick, logRange, logTicks } from "../src/axis";
import { formatTicks, formatTime, formatValue } from "../src/format";
import { toPixel } from "../src/palette";
import { decodeBase64, readSeries, readTicks, type PanelMeta, type Series } from "../src/payload";
import { TimeRange } from "../src/range";
import { extent, indexRange, lowerBound, nearest } from "../src/search";
import { beyond } from "../src/more";
import { csvOf } from "../src/save";
import { compareKeys } from "../src/tables";
import { bandHeight, nearestTick, thinTicks } from "../src/ticks";
import { readView, writeView } from "../src/view";

describe("search", () => {
  const a = [1, 2, 2, 2, 5];
  it("finds bounds, ranges that include both ends, and the nearest", () => {
    expect([0, 1, 2, 3, 6].map((x) => lowerBound(a, x))).toEqual([0, 0, 1, 4, 5]);
    expect(indexRange(a, 2, 5)).toEqual([1, 5]);
    expect(indexRange(a, 3, 4)).toEqual([4, 4]);
    expect([-9, 1.4, 3, 4, 9].map((x) => nearest(a, x))).toEqual([0, 0, 3, 4, 4]);
    expect(nearest([], 1)).toBe(-1);
  });
  it("skips NaN and what a log axis does not have", () => {
    expect(extent([NaN, 3, 0, 1], 0, 4)).toEqual([0, 3]);
    expect(extent([NaN, 3, 0, 1], 0, 4, 0)).toEqual([1, 3]);
    expect(extent([NaN], 0, 1)).toBeNull();
  });
});

describe("decimation of lines", () => {
  const n = 100_000;
  const t = Float64Array.from({ length: n }, (_, i) => i / n);
  const v = Float32Array.from({ length: n }, (_, i) => Math.sin(i / 700));
  v[54_321] = 100; // one single event
  const time = { from: 0, perSecond: 500, width: 500 };

  it("keeps first, last, least and greatest of every pixel column (M4), in order", () => {
    const kept = decimateLine(t, v, 0, n, time, null);
    expect(kept.length).toBeLessThanOrEqual(4 * 500);
    expect(kept).toEqual([...kept].sort((a, b) => a - b));
    const chosen = new Set(kept);
    for (let column = 0; column < 500; column++) {
      const inside = Array.from({ length: n / 500 }, (_, k) => column * (n / 500) + k);
      const picked = inside.filter((i) => chosen.has(i)).map((i) => v[i]!);
      expect(Math.max(...picked)).toBe(Math.max(...inside.map((i) => v[i]!)));
      expect(Math.min(...picked)).toBe(Math.min(...inside.map((i) => v[i]!)));
    }
    expect(chosen.has(54_321)).toBe(true);
  });

  it("keeps everything where there is less than one sample per pixel", () => {
    expect(decimateLine(t, v, 10, 20, { from: 0, perSecond: 5e5, width: 500 }, null)).toEqual([...Array(10).keys()].map((i) => i + 10));
  });

  it("lifts the pen at NaN and at gaps", () => {
    const times = Float64Array.of(0, 1, 2, 3, 9, 10);
    const values = Float32Array.of(1, 1, NaN, 1, 1, 1);
    expect(decimateLine(times, values, 0, 6, { from: 0, perSecond: 10, width: 100 }, 5)).toEqual([0, 1, -1, 3, -1, 4, 5]);
  });
});

describe("lines of means", () => {
  const time = { from: 0, perSecond: 10, width: 100 };

  it("are averaged over time, not over samples, and tell the extremes", () => {
    // 8 until 1 s, 2 until 1.2 s, 5 until 4 s: cells of 1 s.
    const means = cellMeans(Float64Array.of(0, 1, 1.2, 4), Float32Array.of(0, 8, 2, 5), 0, 4, time, 10);
    expect(means.mean.length).toBe(10);
    expect(means.mean[0]).toBeCloseTo(8);
    expect(means.mean[1]).toBeCloseTo(0.2 * 2 + 0.8 * 5);
    expect([...means.mean.slice(2, 4)].map(Math.round)).toEqual([5, 5]);
    expect(means.mean[9]).toBeNaN();
    expect([means.low[1], means.high[1]]).toEqual([2, 8]);
  });

  it("have no cell smaller than the others", () => {
    // Cells of 1 s over 3.5 s: the third has half a second more.
    const means = cellMeans(Float64Array.of(0, 3, 3.5), Float32Array.of(0, 2, 9), 0, 3, { ...time, width: 35 }, 10);
    expect(means.mean.length).toBe(3);
    expect(means.mean[2]).toBeCloseTo((2 * 1 + 9 * 0.5) / 1.5);
  });

  it("spread a sample over the cells that it covers, also from outside of the view", () => {
    const means = cellMeans(Float64Array.of(-5, 25), Float32Array.of(1, 3), 0, 2, time, 10);
    expect([...means.mean].every((y) => Math.abs(y - 3) < 1e-6)).toBe(true);
  });
});

describe("points", () => {
  const value = { min: 0, max: 10, height: 100, log: false };
  const time = { from: 0, perSecond: 10, width: 100 };

  it("maps values to rows, linear and log", () => {
    expect([0, 5, 10].map((y) => toRow(y, value))).toEqual([100, 50, 0]);
    const log = { min: 1, max: 100, height: 100, log: true };
    expect(toRow(10, log)).toBeCloseTo(50);
    expect(toRow(0, log)).toBeNaN();
  });

  it("sets a dot for every wanted point, also at the edges, and never outside", () => {
    const t = Float64Array.of(0, 5, 10, 5);
    const v = Float32Array.of(0, 5, 10, NaN);
    const flag = Uint8Array.of(0, 1, 0, 0);
    for (const [wanted, dots] of [["all", 3], ["plain", 2], ["flagged", 1]] as const) {
      const raster = { pixels: new Uint32Array(100 * 100), width: 100, height: 100 };
      rasterPoints(raster, t, v, flag, wanted, 0, 4, time, value, 7, 2);
      expect(raster.pixels.filter((p) => p === 7).length).toBe(4 * dots);
    }
  });

  it("thins markers to one per cell and keeps all without cells", () => {
    const t = Float64Array.of(1, 1.01, 1.02, 8);
    const v = Float32Array.of(5, 5, 5, 5);
    expect(thinMarkers(t, v, null, "all", 0, 4, time, value, 6)).toEqual([0, 3]);
    expect(thinMarkers(t, v, null, "all", 0, 4, time, value, 0)).toEqual([0, 1, 2, 3]);
  });

  it("packs colours as the image data of a little-endian machine wants them", () => {
    expect([...new Uint8Array(Uint32Array.of(toPixel("#0072b2")).buffer)]).toEqual([0x00, 0x72, 0xb2, 0xff]);
  });
});

describe("formatting", () => {
  it("shows four significant digits and a real minus sign", () => {
    expect([0, 93.4149, 0.0123456, 1234.5, 1234567, -5.7, 1e-6, NaN].map(formatValue)).toEqual([
      "0", "93.41", "0.01235", "1235", "1.235e6", "\u22125.700", "1.000e-6", "\u2013",
    ]);
  });
  it("shows times as finely as the view can tell apart", () => {
    expect(formatTime(1.23456789, 300, 600)).toBe("1.2");
    expect(formatTime(1.23456789, 0.0006, 600)).toBe("1.234568");
  });
  it("labels ticks", () => {
    expect(formatTicks([0, 0.5, 1], 0.5)).toEqual(["0.0", "0.5", "1.0"]);
    expect(formatTicks([0, 2.5, 5], 2.5)).toEqual(["0.0", "2.5", "5.0"]);
    expect(formatTicks([0, 0.025], 0.025)).toEqual(["0.000", "0.025"]);
    expect(formatTicks([0, 20], 20)).toEqual(["0", "20"]);
    expect([1, 20, 1000, 1e5, 2e6, 1e-4, 0.1].map(formatLogTick)).toEqual(["1", "20", "1000", "100000", "2\u00b710\u2076", "10\u207b\u2074", "0.1"]);
  });
  it("has enough labels on a log axis, whatever its range, and the visible range is the axis", () => {
    const labels = (low: number, high: number) => [...logTicks(low, high).labelled].map(formatLogTick);
    expect(logRange(10, 100)).toEqual([10 / 1.2, 120]);
    expect(labels(1, 1000)).toEqual(["1", "10", "100", "1000"]);
    expect(labels(3, 400)).toEqual(["3", "10", "30", "100", "300"]);
    expect(labels(0.5, 30)).toEqual(["1", "3", "10", "30"]);
    expect(labels(6, 30)).toEqual(["6", "8", "10", "20", "30"]);
    expect(labels(8, 90)).toEqual(["10", "20", "50"]);
    expect(labels(101, 135)).toEqual(["110", "120", "130"]);
    for (const [low, high] of [[1, 1e9], [0.7, 0.8], [2, 19], [99, 101]] as const) {
      const { all, labelled } = logTicks(low, high);
      expect(labelled.size).toBeGreaterThanOrEqual(2);
      expect(all).toEqual([...all].sort((a, b) => a - b));
      for (const v of all) expect(v >= low * 0.999 && v <= high * 1.001).toBe(true);
    }
  });
});

describe("averages", () => {
  const meta = {
    key: "a", label: "a", colour: "blue", marker: "circle", dash: [], flow: null, gap: null, step: "mean", marked: true, columns: {},
  } as const;
  const series = (t: number[], v: number[]) => ({
    meta, t: Float64Array.from(t), v: Float32Array.from(v), flag: null, who: null, low: null, high: null,
  });
  const integral = (s: { t: Float64Array; v: Float32Array }) =>
    s.t.reduce((sum, t, i) => (Number.isNaN(s.v[i]!) ? sum : sum + s.v[i]! * (t - (i > 0 ? s.t[i - 1]! : 0))), 0);

  it("are means over equal times, from 0 s or from the start that NaN marks", () => {
    // 8 until 1 s, 2 until 1.5 s, 6 until 4.2 s.
    const all = averaged(series([1, 1.5, 4.2], [8, 2, 6]), 2);
    expect([...all.t]).toEqual([2, 4, 4.2]);
    expect([...all.v].map((y) => Number(y.toFixed(5)))).toEqual([6, 6, 6]);
    const late = averaged(series([1.5, 2.5, 4], [NaN, 3, 6]), 1);
    expect([...late.t]).toEqual([1.5, 2, 3, 4]);
    expect([...late.v]).toEqual([NaN, 3, 4.5, 6]);
  });

  it("keep the sum, whatever the step", () => {
    const t = Array.from({ length: 500 }, (_, i) => 0.01 * i + 0.004 * Math.sin(i));
    const v = t.map((x, i) => (i === 0 ? NaN : 50 + 50 * Math.sin(9 * x)));
    const raw = series(t, v);
    for (const step of [0, 0.003, 0.05, 0.2, 1, 100]) expect(integral(averaged(raw, step))).toBeCloseTo(integral(raw), 3);
  });

  it("leave alone what is no mean", () => {
    const hold = { ...series([1, 2], [1, 2]), meta: { ...meta, step: "hold" as const } };
    expect(averaged(hold, 1)).toBe(hold);
  });
});

describe("the visible range", () => {
  it("stays inside the run, not below a microsecond, and tells of changes once", () => {
    const range = new TimeRange(0, 100);
    let calls = 0;
    range.onChange(() => calls++);
    range.set(-10, 20);
    expect([range.min, range.max]).toEqual([0, 30]);
    range.set(0, 30);
    expect(calls).toBe(1);
    range.set(50, 50);
    expect(range.max - range.min).toBeCloseTo(1e-6, 9);
    range.zoom(1e12);
    expect([range.min, range.max]).toEqual([0, 100]);
    range.zoom(0.5, 100);
    expect([range.min, range.max]).toEqual([50, 100]);
    range.pan(-3);
    expect([range.min, range.max]).toEqual([0, 50]);
  });
});

describe("payload", () => {
  it("views the columns of a block", () => {
    const bytes = new Uint8Array(24);
    new Uint32Array(bytes.buffer, 0, 1)[0] = 2 ** 32 - 1;
    new Float32Array(bytes.buffer, 8, 1)[0] = 1.5;
    bytes[16] = 1;
    const buffer = decodeBase64(Buffer.from(bytes).toString("base64"));
    const meta = {
      key: "a", label: "a", colour: "blue", marker: "circle", dash: [], flow: null, gap: null, step: "", marked: true,
      columns: { t: { at: 0, n: 1, type: "u32", from: 100, step: 200 / (2 ** 32 - 1) }, v: { at: 8, n: 1, type: "f32" }, flag: { at: 16, n: 1, type: "u8" } },
    } as const;
    const s = readSeries(buffer, meta);
    expect([s.t[0], s.v[0], s.flag?.[0], s.who]).toEqual([300, 1.5, 1, null]);
    expect(readSeries(buffer, meta, true).t[0]).toBeCloseTo(Math.log10(300), 9);
    expect(() => readSeries(buffer, { ...meta, columns: { t: meta.columns.t } })).toThrow("lacks");
  });
});

describe("ticks of retransmissions", () => {
  const n = 100_000;
  const t = Float64Array.from({ length: n }, (_, i) => i / 1000);
  const time = { from: 0, perSecond: 10, width: 1000 };
  const ticks = (row: number, retransmits: Uint16Array, rtos: Uint16Array) => ({
    meta: { key: `flow${row}`, label: "a", colour: "blue", flow: row, row, timeouts: true, columns: {} },
    t: t.subarray(0, retransmits.length),
    retransmits,
    rtos,
  });

  it("are at most one per pixel column, and none where the count is 0", () => {
    const all = thinTicks(t, new Uint16Array(n).fill(1), 0, n, time, 1);
    expect(all.length).toBe(1000);
    expect(new Set(all.map((i) => Math.floor(t[i]! * 10))).size).toBe(1000);
    const one = new Uint16Array(n);
    one[54_321] = 2;
    expect(thinTicks(t, one, 0, n, time, 1)).toEqual([54_321]);
    expect(thinTicks(t, new Uint16Array(n).fill(1), 0, n, time, 10).length).toBe(100);
  });

  it("are found by the mouse in their row, if they are switched on", () => {
    const rows = [ticks(0, Uint16Array.of(0, 3, 0), Uint16Array.of(0, 0, 0)), ticks(1, Uint16Array.of(0, 0, 0), Uint16Array.of(0, 0, 1))];
    const near = { from: 0, perSecond: 1e4, width: 100 };
    const all = { retransmits: true, rtos: true };
    expect(bandHeight([])).toBe(0);
    expect(bandHeight(rows)).toBeGreaterThan(bandHeight(rows.slice(0, 1)));
    expect(nearestTick(rows, all, 12, 6, near, 14)).toMatchObject({ i: 1, ticks: { meta: { row: 0 } } });
    expect(nearestTick(rows, all, 12, 15, near, 14)).toMatchObject({ i: 2, ticks: { meta: { row: 1 } } });
    expect(nearestTick(rows, { retransmits: true, rtos: false }, 12, 15, near, 14)).toBeNull();
    expect(nearestTick(rows, all, 12, 60, near, 14)).toBeNull();
    expect(nearestTick(rows, all, 40, 6, near, 14)).toBeNull();
  });

  it("come from three columns", () => {
    const column = (type: "u32" | "u16") => ({ at: 0, n: 0, type });
    const meta = { key: "flow0", label: "a", colour: "blue", flow: 0, row: 0, timeouts: false };
    const columns = { t: column("u32"), retransmits: column("u16"), rtos: column("u16") };
    expect(readTicks(new ArrayBuffer(0), { ...meta, columns }).t.length).toBe(0);
    expect(() => readTicks(new ArrayBuffer(0), { ...meta, columns: { t: columns.t } })).toThrow("lack");
  });
});

describe("the address of a view", () => {
  it("is read as it was written", () => {
    const view = {
      from: 1.5, to: 20, zero: false, panels: ["throughput", "cdf"],
      of: { cwnd: { off: ["flow0", "flow1"] }, marks: { log: false, average: 0.2 }, cc: { choice: 3 } },
    };
    const hash = writeView(view);
    expect(hash).toBe("from=1.5&to=20&zero=0&panels=throughput,cdf&cwnd.off=flow0,flow1&marks.log=0&marks.mean=0.2&cc.choice=3");
    expect(readView(`#${hash}`)).toEqual(view);
    expect(writeView({ of: { cwnd: {} } })).toBe("");
    expect(readView("#from=x&to=")).toEqual({ of: {} });
  });
});

describe("saved samples", () => {
  const meta = { id: "p", title: "A, b", unit: "ms", kind: "line", x: { label: "Time", unit: "s", time: true, log: false } };
  const s = {
    meta: { label: 'a "b"' }, t: Float64Array.of(0, 1, 2, 3), v: Float32Array.of(0.1, NaN, 2, 3),
    flag: null, who: null, low: null, high: null,
  };
  it("are those that are visible, with the digits that they have", () => {
    const csv = csvOf(meta as unknown as PanelMeta, [s as unknown as Series], 0, 2);
    expect(csv).toBe('series,Time (s),"A, b (ms)"\n"a ""b""",0,0.1\n"a ""b""",2,2\n');
  });
});

describe("sorting", () => {
  it("puts numbers before text and nothing last, in both directions", () => {
    const keys = ["b", "", 3, "a10", 1, "a9"];
    expect([...keys].sort((a, b) => compareKeys(a, b, 1))).toEqual([1, 3, "a9", "a10", "b", ""]);
    expect([...keys].sort((a, b) => compareKeys(a, b, -1))).toEqual([3, 1, "b", "a10", "a9", ""]);
  });
});

describe("what lies beyond the edge of a box", () => {
  const box = { scrollLeft: 0, scrollTop: 0, clientWidth: 100, clientHeight: 50, scrollWidth: 100, scrollHeight: 50 };

  it("is nothing where all is in it, and a pixel is rounding", () => {
    expect(beyond(box)).toEqual({ left: false, right: false, below: false });
    expect(beyond({ ...box, scrollWidth: 101, scrollHeight: 51, scrollLeft: 1 })).toEqual({ left: false, right: false, below: false });
  });

  it("is on the side to which one can scroll", () => {
    expect(beyond({ ...box, scrollWidth: 300 })).toEqual({ left: false, right: true, below: false });
    expect(beyond({ ...box, scrollWidth: 300, scrollLeft: 100 })).toEqual({ left: true, right: true, below: false });
    expect(beyond({ ...box, scrollWidth: 300, scrollLeft: 200 })).toEqual({ left: true, right: false, below: false });
    expect(beyond({ ...box, scrollHeight: 90, scrollTop: 20 })).toEqual({ left: false, right: false, below: true });
  });
});
