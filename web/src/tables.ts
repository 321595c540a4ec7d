// Tables that sort by a click on a column's head, and the filter of the suite page.

function key(row: HTMLTableRowElement, column: number): string | number {
  const cell = row.cells[column];
  const value = cell?.dataset["sort"] ?? cell?.textContent?.trim() ?? "";
  const number = Number(value);
  return value !== "" && Number.isFinite(number) ? number : value;
}

/** Numbers before text, text in natural order, empty cells last in both directions. */
export function compareKeys(a: string | number, b: string | number, sign: 1 | -1): number {
  if (a === "" || b === "") return a === b ? 0 : a === "" ? 1 : -1;
  if (typeof a === "number" && typeof b === "number") return sign * (a - b);
  if (typeof a === "number") return -1;
  if (typeof b === "number") return 1;
  return sign * a.localeCompare(b, "en", { numeric: true });
}

export function makeSortable(table: HTMLTableElement): void {
  const heads = [...(table.tHead?.rows[0]?.cells ?? [])];
  const body = table.tBodies[0];
  if (body === undefined) return;
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", sign === 1 ? "ascending" : "descending");
      const rows = [...body.rows].map((row) => ({ row, k: key(row, column) }));
      rows.sort((a, b) => compareKeys(a.k, b.k, sign));
      body.append(...rows.map((r) => r.row));
    });
  });
}

export function startTables(): void {
  for (const table of document.querySelectorAll<HTMLTableElement>("table.sortable")) makeSortable(table);
}

interface MembersTable {
  readonly heads: readonly (readonly [string, string])[];
  readonly numeric: readonly boolean[];
  readonly rows: readonly (readonly (readonly [string, string])[])[];
}

/** The tables of single flows, where they are many: built when they are asked for. */
export function startMembers(): void {
  const host = document.querySelector<HTMLElement>("#members");
  const button = document.querySelector<HTMLButtonElement>("#show-members");
  const data = document.querySelector("#members-data")?.textContent;
  if (host === null || button === null || data === null || data === undefined) return;
  button.addEventListener("click", () => {
    for (const table of JSON.parse(data) as MembersTable[]) host.append(membersTable(table));
    button.remove();
  });
}

function membersTable({ heads, numeric, rows }: MembersTable): HTMLElement {
  const table = document.createElement("table");
  table.className = "sortable plain";
  const head = table.createTHead().insertRow();
  heads.forEach(([name, unit], i) => {
    const cell = document.createElement("th");
    cell.scope = "col";
    if (numeric[i] === true) cell.className = "n";
    const small = document.createElement("small");
    small.textContent = unit;
    cell.append(name, ...(unit === "" ? [] : [small]));
    head.append(cell);
  });
  const body = table.createTBody();
  for (const row of rows) {
    const line = body.insertRow();
    row.forEach(([text, sort], i) => {
      const cell = line.insertCell();
      cell.textContent = text;
      cell.dataset["sort"] = sort;
      if (numeric[i] === true) cell.className = "n";
    });
  }
  makeSortable(table);
  const scroll = document.createElement("div");
  scroll.className = "scroll tall";
  scroll.append(table);
  return scroll;
}

/** The suite page: shows the rows of the chosen verdicts that contain the text. */
export function startSuitePage(): void {
  const search = document.querySelector<HTMLInputElement>("#filter-text")!;
  const boxes = [...document.querySelectorAll<HTMLInputElement>("input[data-verdict]")];
  const rows = [...document.querySelectorAll<HTMLTableRowElement>("tr[data-verdict]")];
  const words = rows.map((row) => (row.textContent ?? "").toLowerCase());
  const count = document.querySelector<HTMLElement>("#filter-count")!;
  const apply = () => {
    const on = new Set(boxes.filter((b) => b.checked).map((b) => b.dataset["verdict"]));
    const wanted = search.value.trim().toLowerCase();
    const ids = new Set<string>();
    rows.forEach((row, i) => {
      const show = on.has(row.dataset["verdict"]) && words[i]!.includes(wanted);
      row.hidden = !show;
      // A statement with several numbers has no row of its own.
      if (show && row.dataset["row"] !== undefined) ids.add(row.dataset["row"]);
    });
    // With all rows wanted every section stays; otherwise those without a row would only be in the way.
    const all = wanted === "" && boxes.every((b) => b.checked);
    for (const section of document.querySelectorAll<HTMLElement>("section.figure")) {
      section.hidden = !all && section.querySelector("tr[data-verdict]:not([hidden])") === null;
    }
    count.textContent = `${ids.size} ${ids.size === 1 ? "row" : "rows"} shown`;
  };
  search.addEventListener("input", apply);
  for (const box of boxes) box.addEventListener("change", apply);
  document.querySelector("#only-differing")?.addEventListener("click", () => {
    const only = boxes.some((b) => b.checked && b.dataset["verdict"] !== "differs");
    for (const box of boxes) box.checked = !only || box.dataset["verdict"] === "differs";
    apply();
  });
  apply();
}
