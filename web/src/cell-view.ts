// The chosen cell: all its numbers, and how to get the page of each of its runs.

import type { Cells } from "./cells";
import { formatValue } from "./format";

const span = (a: number, b: number): string => (Number.isNaN(a) || Number.isNaN(b) ? "" : `${formatValue(a)} to ${formatValue(b)}`);

function add<K extends keyof HTMLElementTagNameMap>(host: HTMLElement, name: K, text = ""): HTMLElementTagNameMap[K] {
  const out = document.createElement(name);
  out.textContent = text;
  host.append(out);
  return out;
}

export function showCell(host: HTMLElement, cells: Cells, row: number): void {
  host.replaceChildren();
  const [number, together] = [cells.get("cell", row), cells.get("cells", row)];
  const head = add(host, "div");
  head.className = "with-button";
  const overlaid = cells.meta.overlaid >= 0;
  add(head, "h2", overlaid ? (together > 1 ? `${together} cells` : "The cell") : together > 1 ? `${together} cells, the first is ${number}` : `Cell ${number}`);
  const close = add(head, "button", "Close");
  close.type = "button";
  close.addEventListener("click", () => (host.hidden = true));
  if (cells.describe(row) !== "") add(host, "p", cells.describe(row));
  numbers(host, cells, row);
  if (!overlaid) runs(host, cells, number, together > 1 ? 1 : cells.get("runs", row));
  host.hidden = false;
  host.scrollIntoView({ block: "nearest" });
}

/** A line for each metric, and for each of what is laid over each other. */
function numbers(host: HTMLElement, cells: Cells, row: number): void {
  const { metrics, baselines, binned, axes, overlaid } = cells.meta;
  const sides = axes[overlaid]?.labels ?? [""];
  const compared = cells.has("difference");
  const [what, low, high] = binned ? ["range", "min", "max"] : ["interval", "mean_low", "mean_high"];
  const [dlow, dhigh] = binned ? ["difference_min", "difference_max"] : ["difference_low", "difference_high"];
  const scroll = add(host, "div");
  scroll.className = "scroll";
  const table = add(scroll, "table");
  table.className = "plain";
  const heads = ["metric", ...(overlaid < 0 ? [] : ["campaign"]), "values", "mean", what, ...(binned ? [] : ["median", "least to greatest"])];
  if (compared) heads.push(baselines.length > 1 ? "difference from" : "difference", `its ${what}`, ...(binned ? [] : ["corrected p", "effect"]));
  if (cells.has("phase_locked")) heads.push("phases");
  const line = table.createTHead().insertRow();
  heads.forEach((text, i) => {
    const cell = add(line, "th", text);
    cell.scope = "col";
    if (i > (overlaid < 0 ? 0 : 1)) cell.className = "n";
  });
  const body = table.createTBody();
  metrics.forEach((metric, m) => {
    for (let b = 0; b < Math.max(1, baselines.length) * sides.length; b++) {
      const side = b % sides.length;
      const own = overlaid < 0 ? row : cells.overlaidAt(row, side);
      const at = own === undefined ? undefined : cells.at(cells.places(own), m, Math.floor(b / sides.length));
      if (at === undefined) continue;
      const v = (name: string) => cells.get(name, at);
      const out = [metric.name, ...(overlaid < 0 ? [] : [sides[side]!]), cells.lacks(at, { compared: false }) || String(v("count")), formatValue(v("mean")), span(v(low), v(high))];
      if (!binned) out.push(formatValue(v("median")), span(v("min"), v("max")));
      if (compared) {
        out.push(`${baselines.length > 1 ? `${baselines[Math.floor(b / sides.length)]}: ` : ""}${formatValue(v("difference"))}`, span(v(dlow), v(dhigh)));
        if (!binned) out.push(formatValue(v("p_corrected")), formatValue(v("effect")));
      }
      if (cells.has("phase_locked")) out.push(v("phase_locked") === 1 ? "phase-locked" : "");
      const line = body.insertRow();
      out.forEach((text, i) => (add(line, "td", text).className = i > (overlaid < 0 ? 0 : 1) ? "n" : ""));
    }
  });
}

/** The folder of a page, for a command; a server does not tell it. */
export function ownFolder({ protocol, pathname }: { readonly protocol: string; readonly pathname: string }): string {
  if (protocol !== "file:") return "the folder of this page";
  const folder = decodeURIComponent(pathname.replace(/\/[^/]*$/, ""));
  // A path of Windows begins with its drive.
  return folder.replace(/^\/(?=[A-Za-z]:)/, "") || "/";
}

/** A word of a shell's command line. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`;
}

/** A run's page is linked where it was written; for others there is the command that writes it. */
function runs(host: HTMLElement, cells: Cells, cell: number, count: number): void {
  const { command, folder, written, errors } = cells.meta;
  const messages = new Map(errors.map(([address, message]) => [address, message]));
  const failed = new Set(errors.filter(([, , whole]) => whole).map(([address]) => address));
  const line = add(host, "p");
  const label = add(line, "label", "run ");
  const list = add(label, "select");
  for (let run = 0; run < count; run++) {
    const address = `${cell}.${run}`;
    const mark = written.includes(address) ? " (has a page)" : failed.has(address) ? " (failed)" : "";
    add(list, "option", `${address}${mark}`).value = address;
  }
  const box = add(host, "div");
  const show = () => {
    box.replaceChildren();
    const address = list.value;
    const page = `${folder}/${address}.html`;
    if (messages.has(address)) add(box, "p", messages.get(address)).className = "outside";
    if (failed.has(address)) return;
    if (written.includes(address)) {
      const link = add(add(box, "p"), "a", `The page of run ${address}`);
      link.href = page;
      return;
    }
    add(box, "p", command === "" ? "This call, on the campaign in Python and in the folder of this page, simulates it again and writes its page:" : "This command, given where the sweep was, simulates it again and writes its page:");
    const text = command === "" ? `campaign.page("${address}", ".")` : `${command} --out ${quoted(ownFolder(location))} --page ${address}`;
    const code = add(box, "pre", text);
    code.tabIndex = 0;
    const after = add(box, "p");
    const copy = add(after, "button", "Copy");
    copy.type = "button";
    copy.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(text);
        copy.textContent = "Copied";
      } catch {
        // Some browsers refuse the clipboard to local files.
        getSelection()?.selectAllChildren(code);
        copy.textContent = "Selected: copy with Ctrl+C";
      }
    });
    after.append(" Then ");
    const link = add(after, "a", "open it");
    link.href = page;
    after.append(".");
  };
  list.addEventListener("change", show);
  show();
}
