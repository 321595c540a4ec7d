import { describe, expect, it } from "vitest";
import { ownFolder, quoted } from "../src/cell-view";
import { Cells, type AxisMeta, type SweepMeta } from "../src/cells";
import { pictures, placesOf, readChoice, usual, withAxis, writeChoice } from "../src/choice";
import { share } from "../src/colour-scale";
import { extremes, intervalLines } from "../src/interval-lines";
import { csvOf } from "../src/save";
import { quantities } from "../src/quantity";
import { valueRange } from "../src/value-range";

const axis = (name: string, dimension: number, labels: string[], numbers: number[] | null = null): AxisMeta => ({
  name, labels, numbers, unit: "", log: false, dimension,
});

/** Two controllers at three rates, one metric: the mean is the number of the cell; the cell 4 is left out. */
function example(): Cells {
  const at = [0, 1, 2, 3, 5];
  const columns: Record<string, { at: number; n: number; type: "f64" }> = {};
  const block: number[] = [];
  const put = (name: string, values: number[]) => {
    columns[name] = { at: 8 * block.length, n: values.length, type: "f64" };
    block.push(...values);
  };
  put("cell", at);
  put("axis0", at.map((i) => Math.floor(i / 3)));
  put("axis1", at.map((i) => i % 3));
  put("metric", at.map(() => 0));
  put("baseline", at.map(() => 0));
  put("mean", at);
  put("mean_low", at.map((i) => i - 1));
  put("mean_high", at.map((i) => i + 1));
  const meta: SweepMeta = {
    axes: [axis("cc", 0, ["reno", "cubic"]), axis("rate", 1, ["10", "1", "5"], [10, 1, 5])],
    metrics: [{ name: "m", text: "m" }], baselines: ["cc = reno"], overlaid: -1, confidence: 0.95, binned: false, rows: at.length, columns,
    distributions: [], command: "", folder: "pages", written: [], errors: [],
  };
  return new Cells(meta, Float64Array.from(block).buffer);
}

describe("cells of a sweep", () => {
  const cells = example();
  it("are found by their places; one that was left out is not there", () => {
    expect(cells.sizes).toEqual([2, 3]);
    expect(cells.get("cell", cells.at([1, 2], 0, 0)!)).toBe(5);
    expect(cells.at([1, 1], 0, 0)).toBeUndefined();
    expect(cells.describe(4)).toBe("cc = cubic, rate = 5");
    expect(cells.get("effect", 0)).toBeNaN();
  });
  it("become lines in the order of the axis's numbers, with gaps where there is no cell", () => {
    const made = intervalLines(cells, { caption: "", choice: usual(cells.meta) }, quantities(cells)[0]!)!;
    expect(made.data.series.map((s) => s.meta.label)).toEqual(["reno", "cubic"]);
    expect([...made.data.series[0]!.t]).toEqual([1, 5, 10]);
    expect([...made.data.series[0]!.v]).toEqual([1, 2, 0]);
    expect([...made.data.series[1]!.v]).toEqual([NaN, 5, 3]);
    expect([...made.data.series[1]!.high!]).toEqual([NaN, 6, 4]);
    expect(extremes([made.data])).toEqual([-1, 6]);
    expect(csvOf(made.meta, made.data.series, 0, 5).split("\n").slice(0, 2)).toEqual(['series,rate,"m, mean",low,high', "reno,1,1,0,2"]);
  });
});

describe("campaigns that are laid over each other", () => {
  const source = example();
  // As if the controllers were two campaigns: the second lacks the cell 4; the first has no runs in the cell 2.
  const runs = [3, 3, 0, 3, 3];
  const meta = { ...source.meta, overlaid: 0, columns: { ...source.meta.columns, runs: { at: 0, n: 5, type: "f64" as const } } };
  const block = Float64Array.from([...runs, ...["axis0", "axis1", "metric", "baseline", "mean"].flatMap((name) => [0, 1, 2, 3, 4].map((row) => source.get(name, row)))]);
  const columns = Object.fromEntries(["runs", "axis0", "axis1", "metric", "baseline", "mean"].map((name, i) => [name, { at: 40 * i, n: 5, type: "f64" as const }]));
  const cells = new Cells({ ...meta, columns }, block.buffer);
  it("are in every picture, and the second is looked at", () => {
    const choice = usual(cells.meta);
    expect(choice).toMatchObject({ across: 1, down: -1, each: -1, fixed: [1, 0] });
    expect(pictures(choice, cells.meta, [0]).map((p) => [p.caption, p.choice.fixed[0]])).toEqual([["reno", 0], ["cubic", 1]]);
    expect(pictures(choice, cells.meta, [-1])).toEqual([{ caption: "", choice }]);
    expect(readChoice("#across=0", cells.meta)).toEqual(choice);
    const lines = intervalLines(cells, { caption: "", choice: { ...choice, down: 0 } }, quantities(cells)[0]!)!;
    expect(lines.data.series.map((s) => s.meta.label)).toEqual(["reno", "cubic"]);
  });
  it("say which of them lacks a cell", () => {
    const at = (places: [number, number]) => cells.at(places, 0, 0)!;
    expect(cells.describe(at([1, 0]))).toBe("rate = 10");
    expect(cells.baselineOf(at([1, 0]))).toBe(at([0, 0]));
    expect(cells.lacks(at([1, 2]), { compared: true })).toBe("only in cubic");
    expect(cells.lacks(at([0, 2]), { compared: false })).toBe("not in reno");
    expect(cells.lacks(at([1, 2]), { compared: false })).toBe("");
    expect(source.lacks(0, { compared: true })).toBe("");
  });
});

describe("what a sweep's page shows", () => {
  const { meta } = example();
  const zip = [axis("a", 0, ["1", "2"], [1, 2]), axis("b", 0, ["3", "4"], [3, 4]), axis("c", 1, ["x", "y"])];
  it("has numbers across, and what the baseline is of down", () => {
    expect(usual(meta)).toMatchObject({ across: 1, down: 0, each: -1, fixed: [0, 0] });
    expect(usual({ ...meta, axes: [] })).toMatchObject({ across: -1, down: -1, each: -1, fixed: [] });
  });
  it("never has two axes of one dimension: roles are exchanged", () => {
    const first = usual({ ...meta, axes: zip, baselines: [] });
    expect(first).toMatchObject({ across: 0, down: 2, each: -1 });
    expect(withAxis(first, "down", 1, zip)).toMatchObject({ across: 2, down: 1 });
    expect(placesOf(first, zip, 1, 0)).toEqual([1, 0]);
  });
  it("is in its address, and what the address has wrong is as usual", () => {
    const choice = { ...usual(meta), across: 0, down: -1, fixed: [0, 2], quantity: "median" };
    expect(readChoice(`#${writeChoice(choice)}`, meta)).toEqual(choice);
    expect(readChoice("#across=7&down=x&fixed=9.9&metric=-1", meta)).toEqual(usual(meta));
    expect(readChoice("#across=0&down=0", meta)).toEqual(usual(meta));
  });
});

describe("scales", () => {
  it("place values between the ends", () => {
    expect(share(5, 0, 10, false)).toBe(0.5);
    expect(share(10, 1, 100, true)).toBeCloseTo(0.5);
    expect(share(3, 3, 3, false)).toBe(0.5);
  });
  it("of neighbours are one", () => {
    const room = { log: false, zeroBased: true, height: 100, band: 0 };
    expect(valueRange([], () => [0, 0], { ...room, within: [2, 10] })).toEqual([0, 10.6]);
  });
});

describe("the command for a run's page", () => {
  it("names the folder of the report, as a shell reads it", () => {
    expect(ownFolder({ protocol: "file:", pathname: "/home/a%20b/out/report.html" })).toBe("/home/a b/out");
    expect(ownFolder({ protocol: "file:", pathname: "/C:/data/report.html" })).toBe("C:/data");
    expect(ownFolder({ protocol: "file:", pathname: "/report.html" })).toBe("/");
    expect(ownFolder({ protocol: "https:", pathname: "/x/report.html" })).toBe("the folder of this page");
    expect(quoted("/tmp/out-1.x")).toBe("/tmp/out-1.x");
    expect(quoted("/a b/it's")).toBe(`'/a b/it'"'"'s'`);
  });
});
