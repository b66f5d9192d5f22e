// The tree of owners: the lines that the server has laid out.

import { get } from "./api.js";
import { find, make, oneAtATime, setText, throttled } from "./dom.js";
import { Rows } from "./rows.js";
import { moment, on, select, state, tell } from "./state.js";

const [ID, DEPTH, KIND, NAME, READY, STATUS, READY_STYLE, STATUS_STYLE, AGE, FOLD, CHILDREN] = Array(11).keys();

let lines = [];
let lasted = 0;
const flipped = new Set();
const box = find("tree");
const rows = new Rows(box, { height: 22, fill, onPick: pick, role: "treeitem" });

function fill(row, index) {
  const line = lines[index];
  if (!row.childElementCount) {
    row.append(
      make("span", { class: "fold", "aria-hidden": "true" }),
      make("span", { class: "node" }, make("span", { class: "kind" }), make("span", { class: "name" })),
      make("span", { class: "vitals" }, make("span"), make("span")),
    );
  }
  const [fold, node, vitals] = row.children;
  setText(fold, ["", "▾", "▸"][line[FOLD]]);
  row.style.setProperty("--depth", line[DEPTH]);
  setText(node.firstChild, line[KIND] === "Namespace" ? "" : `${line[KIND]} `);
  setText(node.lastChild, line[NAME]);
  node.title = `${line[KIND]}/${line[NAME]}${line[AGE] ? `, ${line[AGE]} old` : ""}`;
  setText(vitals.firstChild, line[READY]);
  vitals.firstChild.className = line[READY_STYLE];
  setText(vitals.lastChild, line[FOLD] === 2 && !line[STATUS] ? `${line[CHILDREN]}` : line[STATUS]);
  vitals.lastChild.className = line[STATUS_STYLE] || (line[FOLD] === 2 ? "dim" : "");
  row.classList.toggle("space", line[ID].startsWith("n:"));
  const isSelected = line[ID] === String(state.selected);
  row.classList.toggle("selected", isSelected);
  row.setAttribute("aria-selected", isSelected);
  row.setAttribute("aria-level", line[DEPTH] + 1);
  if (line[FOLD]) row.setAttribute("aria-expanded", line[FOLD] === 1);
  else row.removeAttribute("aria-expanded");
}

// An address has a bounded length: the branches that were turned last count.
function flips() {
  const ids = [...flipped];
  while (ids.join(",").length > 2500) ids.shift();
  return ids.join(",");
}

export const load = oneAtATime(async () => {
  const began = performance.now();
  const cursor = lines[rows.cursor]?.[ID];
  const found = await get("/api/tree", { namespace: state.namespace, flip: flips(), ...moment() });
  lasted = performance.now() - began;
  lines = found.lines;
  rows.cursor = cursor === undefined ? -1 : lines.findIndex((line) => line[ID] === cursor);
  rows.reset(lines.length);
});

// Of a large cluster, a tree takes a while: the server is to be idle most of the time.
const reloadSoon = throttled(load, () => Math.max(600, lasted * 12));

function toggle(index) {
  const id = lines[index]?.[ID];
  if (id === undefined || !lines[index][FOLD]) return;
  if (!flipped.delete(id)) flipped.add(id);
  load();
}

function pick(index, event) {
  rows.moveTo(index);
  const id = lines[index][ID];
  if (event?.target.className === "fold" || id.startsWith("n:")) toggle(index);
  else choose(index);
}

function choose(index) {
  const id = lines[index]?.[ID];
  if (id !== undefined && !id.startsWith("n:")) {
    select(Number(id));
    tell("opened");
  }
}

on("kind", () => load());
on("moment", load);
on("reload", load);
on("selected", () => {
  const index = lines.findIndex((line) => line[ID] === String(state.selected));
  if (index >= 0 && index !== rows.cursor) rows.moveTo(index);
  rows.draw(true);
});
on("changes", (changes) => {
  if (state.at === null && changes.length) reloadSoon();
});

export const treeKeys = {
  move(step) {
    rows.moveTo(rows.cursor < 0 ? 0 : rows.cursor + step);
    choose(rows.cursor);
  },
  page: () => Math.max(1, Math.floor(box.clientHeight / 22) - 2),
  end: (isLast) => rows.moveTo(isLast ? lines.length - 1 : 0),
  fold(isOpen) {
    const line = lines[rows.cursor];
    if (line && line[FOLD] === (isOpen ? 2 : 1)) toggle(rows.cursor);
  },
  toggle: () => toggle(rows.cursor),
};
