// The table of a kind: the numbers and names of all objects, and the cells of those that were visible.

import { get } from "./api.js";
import { count, find, make, oneAtATime, setText, throttled } from "./dom.js";
import { Rows } from "./rows.js";
import { moment, on, select, state, tell } from "./state.js";

const HEIGHT = 24;
const PAGE = 120;
const WIDEST = 46;

let columns = []; // [name, type, priority]
let shown = []; // the indices of the columns that are shown
let ids = [];
let names = [];
let spaces = [];
let cells = new Map(); // number -> [number, namespace, cells, styles, state]
let stale = new Set();
let widths = [];
let headKey = "";
const fresh = new Map(); // number -> when it has changed

const head = make("div", { class: "row head", role: "row" });
const box = find("table");
const rows = new Rows(box, { height: HEIGHT, fill, head, onPick: pick, onWindow: () => loadVisible() });

const hasSpaces = () => !state.namespace && state.kinds[state.kind]?.namespaced;

function fill(row, index) {
  const id = ids[index];
  const found = cells.get(id);
  const texts = found ? found[2] : null;
  const wanted = shown.length + (hasSpaces() ? 1 : 0);
  while (row.childElementCount < wanted) row.append(make("span", { class: "cell", role: "gridcell" }));
  while (row.childElementCount > wanted) row.lastChild.remove();
  let at = 0;
  if (hasSpaces()) setCell(row.children[at++], spaces[index], "dim");
  shown.forEach((column, place) => {
    const text = texts ? texts[column] ?? "" : place === 0 ? names[index] : "";
    setCell(row.children[at++], text, (found && found[3][column]) || "");
  });
  row.classList.toggle("selected", id === state.selected);
  row.setAttribute("aria-selected", id === state.selected);
  const age = performance.now() - (fresh.get(id) ?? -Infinity);
  row.classList.toggle("fresh", age < 1500);
}

function setCell(cell, text, style) {
  setText(cell, text);
  if (cell.title !== text) cell.title = text;
  const wanted = style ? `cell ${style}` : "cell";
  if (cell.className !== wanted) cell.className = wanted;
}

/** The columns, as wide as what is known of them. */
function layOut() {
  const all = columns.map((_, index) => index);
  shown = all.filter((index) => state.isWide || columns[index][2] === 0);
  widths = shown.map((index) => columns[index][0].length + 2);
  for (const [, , texts] of cells.values()) {
    shown.forEach((column, place) => {
      widths[place] = Math.min(WIDEST, Math.max(widths[place], (texts[column] ?? "").length + 1));
    });
  }
  const lead = hasSpaces() ? `${Math.min(24, Math.max(11, ...spaces.slice(0, 500).map((each) => each.length + 1)))}ch ` : "";
  // Only names grow: equal shares would make every column as wide as the widest.
  const tracks = widths.map((width, place) => (place === 0 ? `minmax(${width}ch, 1fr)` : `${width}ch`));
  box.style.setProperty("--columns", lead + tracks.join(" "));
  const key = JSON.stringify([shown, hasSpaces(), state.sort, state.isDescending, columns]);
  if (key === headKey) return;
  headKey = key;
  const order = state.isDescending ? " ▾" : " ▴";
  head.replaceChildren(
    ...(hasSpaces() ? [make("span", { class: "cell", role: "columnheader", text: "NAMESPACE" })] : []),
    ...shown.map((column) =>
      make("span", {
        class: "cell sortable",
        role: "columnheader",
        "aria-sort": state.sort === column ? (state.isDescending ? "descending" : "ascending") : "none",
        text: columns[column][0].toUpperCase() + (state.sort === column ? order : ""),
        onclick: () => sortBy(column),
      }),
    ),
  );
}

function sortBy(column) {
  // The third click returns to the order of names.
  if (state.sort !== column) [state.sort, state.isDescending] = [column, false];
  else if (!state.isDescending) state.isDescending = true;
  else [state.sort, state.isDescending] = [-1, false];
  load();
}

let loadedKey = "";

export const load = oneAtATime(async () => {
  if (state.kind < 0) return;
  const key = JSON.stringify([state.kind, state.namespace, state.filter, state.sort, state.isDescending]);
  const found = await get("/api/table", {
    kind: state.kind,
    namespace: state.namespace,
    q: state.filter,
    sort: state.sort,
    order: state.isDescending ? "down" : "",
    ...moment(),
  });
  const isOther = key !== loadedKey;
  if (isOther || JSON.stringify(columns) !== JSON.stringify(found.columns)) cells = new Map();
  loadedKey = key;
  const cursorId = ids[rows.cursor];
  columns = found.columns;
  ids = found.ids;
  names = found.names;
  spaces = found.spaces.map((at) => found.namespaces[at]);
  // At another moment, any row may be another one.
  stale = new Set(cells.keys());
  take(found.rows);
  layOut();
  rows.cursor = cursorId === undefined ? -1 : ids.indexOf(cursorId);
  if (isOther) box.scrollTop = 0;
  rows.reset(ids.length);
  const isNarrowed = ids.length !== found.total;
  setText(find("count"), isNarrowed ? `${ids.length.toLocaleString("en")} of ${found.total.toLocaleString("en")}` : count(found.total, "object"));
  const empty = find("empty");
  empty.hidden = ids.length > 0;
  setText(empty, isNarrowed ? "No object has these words." : `No ${state.kinds[state.kind].plural} here.`);
  tell("table");
});

function take(found) {
  for (const row of found) {
    const old = cells.get(row[0]);
    if (old && old[4] !== row[4] && state.at === null) fresh.set(row[0], performance.now());
    cells.set(row[0], row);
    stale.delete(row[0]);
  }
}

const loadVisible = throttled(
  oneAtATime(async () => {
    const [from, to] = rows.visible;
    const wanted = ids.slice(from, to).filter((id) => !cells.has(id) || stale.has(id)).slice(0, PAGE);
    if (!wanted.length) return;
    const key = loadedKey;
    const found = await get("/api/rows", { kind: state.kind, ids: wanted.join(","), ...moment() });
    if (key !== loadedKey) return;
    for (const id of wanted) stale.delete(id);
    take(found.rows);
    const known = new Set(found.rows.map((row) => row[0]));
    const before = widths.join();
    layOut();
    if (before !== widths.join()) rows.draw(true);
    else rows.update((index) => known.has(ids[index]));
  }),
  30,
);

const reloadSoon = throttled(load, 700);

on("kind", () => {
  rows.cursor = -1;
  load();
});
on("moment", load);
on("reload", load);
on("selected", () => {
  const index = ids.indexOf(state.selected);
  if (index >= 0) rows.moveTo(index);
  rows.draw(true);
});
on("changes", (changes) => {
  if (state.at !== null) return;
  let isStale = false;
  for (const [, , operation, id, kind] of changes) {
    if (kind !== state.kind) continue;
    stale.add(id);
    // Filters and orders are the server's.
    isStale ||= operation !== "MODIFIED" || state.filter !== "" || state.sort >= 0;
  }
  if (isStale) reloadSoon();
  else if (stale.size) loadVisible();
});

// Ages grow.
setInterval(() => {
  if (state.at !== null || document.hidden) return;
  const [from, to] = rows.visible;
  for (const id of ids.slice(from, to)) stale.add(id);
  loadVisible();
}, 5_000);

function pick(index) {
  rows.moveTo(index);
  select(ids[index]);
  tell("opened");
}

export const tableKeys = {
  move(step) {
    if (!ids.length) return;
    rows.moveTo(rows.cursor < 0 ? 0 : rows.cursor + step);
    select(ids[rows.cursor]);
  },
  page: () => Math.max(1, Math.floor(box.clientHeight / HEIGHT) - 2),
  end: (isLast) => {
    rows.moveTo(isLast ? ids.length - 1 : 0);
    select(ids[rows.cursor]);
  },
  toggleWide() {
    state.isWide = !state.isWide;
    layOut();
    rows.draw(true);
  },
};
