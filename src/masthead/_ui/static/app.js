// Starts the page: the session, the changes from the server, the controls and the keys.

import { get, open, stream } from "./api.js";
import * as axis from "./axis.js";
import { choose, close, compare } from "./details.js";
import { find, make, setText, throttled } from "./dom.js";
import { on, select, state, tell } from "./state.js";
import { tableKeys } from "./table.js";
import { treeKeys } from "./tree.js";

const VIEW = "masthead-view";
const KEYS = [
  ["j k", "next and previous row"],
  ["g", "choose a kind"],
  ["/", "filter: words, -word, label=value"],
  ["n", "choose a namespace"],
  ["t", "between the tree and the table"],
  ["h l", "close and open a branch of the tree"],
  ["Enter", "to the details"],
  ["y e c s o", "YAML, events, conditions, history, log"],
  ["w", "all columns"],
  ["[ ]", "previous and next change"],
  ["m d", "mark this moment, compare with it"],
  ["- +", "zoom the time axis"],
  ["0", "the whole time"],
  [".", "the latest change"],
  ["Esc", "close, clear, and back to the latest change"],
];

const main = document.querySelector("main");
const filter = find("filter");
const space = find("namespace");
let inTree = false;

function showClosed(text) {
  find("closed").hidden = false;
  setText(find("closed-text"), text);
  for (const each of document.querySelectorAll("header, main, footer, #tabs")) each.inert = true;
}

function setStatus(text, style = "") {
  const status = find("status");
  setText(status, text);
  status.className = style;
}

function showStatus(status) {
  if (status?.error) setStatus(`reconnecting: ${status.error}`, "yellow");
  else if (status?.loading) setStatus(`loading ${status.loading} kinds`, "dim");
  else setStatus("");
}

async function hello() {
  const found = await get("/api/hello");
  Object.assign(state, {
    isLive: found.isLive,
    kinds: found.kinds,
    start: found.start,
    end: found.end,
    first: found.first,
    latest: found.latest,
    namespaces: found.namespaces,
  });
  document.title = found.title ? `${found.title} – Masthead` : "Masthead";
  setText(find("title"), found.title || "Masthead");
  const facts = found.facts;
  find("title").title = [facts.server, facts.serverVersion, facts.redacted?.length ? `redacted: ${facts.redacted.join(", ")}` : ""].filter(Boolean).join("\n");
  showSpaces();
  if (state.kind < 0) startKind();
  showKind();
  showStatus(found.status);
  if (facts.cutOff) setStatus(`the end is missing: ${facts.cutOff}`, "yellow");
}

function startKind() {
  const saved = JSON.parse(sessionStorage.getItem(VIEW) ?? "{}");
  const known = state.kinds.find((kind) => kind.plural === saved.plural && kind.group === saved.group);
  const counted = state.kinds.filter((kind) => kind.count);
  // A live page may be open before anything is listed.
  const pods = state.kinds.find((kind) => kind.plural === "pods" && (kind.count || state.isLive));
  const first = known ?? pods ?? counted[0] ?? state.kinds[0];
  state.kind = first ? first.number : -1;
  if (state.namespaces.includes(saved.namespace)) state.namespace = saved.namespace;
}

function showSpaces() {
  space.replaceChildren(
    make("option", { value: "", text: "all namespaces" }),
    ...state.namespaces.map((name) => make("option", { value: name, text: name })),
  );
  space.value = state.namespace;
}

function showKind() {
  const kind = state.kinds[state.kind];
  setText(find("kind"), kind ? kind.plural : "no kinds");
  if (kind) sessionStorage.setItem(VIEW, JSON.stringify({ plural: kind.plural, group: kind.group, namespace: state.namespace }));
}

function setKind(number) {
  state.kind = number;
  state.sort = -1;
  state.isDescending = false;
  showKind();
  tell("kind");
  showPane("table-pane");
}

// The changes of the server, again after each loss of the connection.
async function follow() {
  let pause = 500;
  for (;;) {
    try {
      await stream("/api/stream", { since: state.latest }, (name, news) => {
        pause = 500;
        take(news);
      });
    } catch (error) {
      if (error.status === 401) return;
    }
    setStatus("the server is gone; reconnecting", "red");
    await new Promise((done) => setTimeout(done, pause));
    pause = Math.min(5000, pause * 2);
    try {
      await hello();
      tell("reload");
    } catch {
      // The next turn tries again.
    }
  }
}

let hasMissed = false;
let reconciles = 0; // how many there were at the last news

document.addEventListener("visibilitychange", async () => {
  if (document.hidden || !hasMissed) return;
  hasMissed = false;
  await hello();
  tell("reload");
});

function take(news) {
  state.latest = news.latest;
  state.end = news.end;
  showStatus(news.status);
  // Nobody looks: what changes is read when somebody does.
  if (document.hidden) {
    hasMissed ||= news.isMany || news.changes.length > 0;
    return;
  }
  if (news.isMany) {
    helloSoon();
    reloadSoon();
    return;
  }
  if (news.changes.some(([, , operation]) => operation !== "MODIFIED")) helloSoon();
  tell("changes", news.changes);
  if (news.reconciles !== reconciles) tell("reconciles");
  reconciles = news.reconciles;
}

// Many kinds are loaded one after the other, and each would read everything again.
const reloadSoon = throttled(() => tell("reload"), 1500);
// Counts and namespaces are looked at now and then.
const helloSoon = throttled(() => hello().catch(() => {}), 3000);

// Kinds.
const dialog = find("kinds");
const kindFilter = find("kind-filter");
let listed = [];
let chosen = 0;

function openKinds() {
  kindFilter.value = "";
  listKinds();
  dialog.showModal();
  kindFilter.focus();
}

function listKinds() {
  const words = kindFilter.value.trim().toLowerCase();
  const rank = (kind) => {
    const names = [kind.plural, kind.kind.toLowerCase(), ...kind.short_names];
    if (!words) return kind.count ? 1 : 2;
    if (names.includes(words)) return 0;
    if (names.some((name) => name.startsWith(words))) return 1;
    return `${names.join(" ")} ${kind.group}`.includes(words) ? 2 : 3;
  };
  listed = state.kinds.filter((kind) => rank(kind) < 3).sort((one, other) => rank(one) - rank(other) || one.plural.localeCompare(other.plural));
  chosen = 0;
  drawKinds();
}

function drawKinds() {
  find("kind-list").replaceChildren(
    ...listed.map((kind, index) =>
      make(
        "li",
        { role: "option", "aria-selected": String(index === chosen), class: index === chosen ? "cursor" : "", onclick: () => pickKind(index) },
        make("span", { text: kind.plural }),
        make("span", { class: "dim", text: [kind.short_names.join(" "), kind.group].filter(Boolean).join("  ") }),
        make("span", { class: kind.problem ? "yellow" : "dim", text: kind.problem || kind.count.toLocaleString("en") }),
      ),
    ),
  );
  find("kind-list").children[chosen]?.scrollIntoView({ block: "nearest" });
}

function pickKind(index) {
  dialog.close();
  if (listed[index]) setKind(listed[index].number);
  find("table").focus();
}

kindFilter.addEventListener("input", listKinds);
kindFilter.addEventListener("keydown", (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step) {
    chosen = Math.max(0, Math.min(listed.length - 1, chosen + step));
    drawKinds();
    event.preventDefault();
  } else if (event.key === "Enter") pickKind(chosen);
});

// Controls.
find("kind").addEventListener("click", openKinds);
find("help-button").addEventListener("click", () => find("help").showModal());
for (const each of document.querySelectorAll("dialog")) {
  each.addEventListener("click", (event) => event.target === each && each.close());
}
const applyFilter = throttled(() => {
  state.filter = filter.value.trim();
  tell("filter");
}, 120);
filter.addEventListener("input", applyFilter);
on("filter", () => tell("kind"));
space.addEventListener("change", () => {
  state.namespace = space.value;
  showKind();
  tell("kind");
});
find("back").addEventListener("click", () => axis.step(-1));
find("forward").addEventListener("click", () => axis.step(1));
find("mark").addEventListener("click", axis.mark);
find("compare").addEventListener("click", compare);
find("whole").addEventListener("click", axis.whole);
find("latest").addEventListener("click", axis.latest);
find("keys").append(...KEYS.flatMap(([keys, what]) => [make("dt", {}, ...keys.split(" ").map((key) => make("kbd", { text: key }))), make("dd", { text: what })]));

// On narrow screens one pane is shown at a time.
function showPane(name) {
  main.dataset.pane = name;
  for (const tab of find("tabs").children) tab.setAttribute("aria-selected", String(tab.dataset.pane === name));
}
find("tabs").addEventListener("click", (event) => event.target.dataset.pane && showPane(event.target.dataset.pane));
on("opened", () => showPane("details-pane"));
on("pick", (change) => select(change.id));

for (const split of document.querySelectorAll(".split")) {
  split.addEventListener("pointerdown", (event) => {
    split.setPointerCapture(event.pointerId);
    const move = (moved) => {
      const box = main.getBoundingClientRect();
      const size = split.dataset.side === "right" ? box.right - moved.clientX : moved.clientX - box.left;
      main.style.setProperty(split.dataset.property, `${Math.max(120, Math.min(box.width * 0.6, size))}px`);
    };
    split.addEventListener("pointermove", move);
    split.addEventListener("pointerup", () => split.removeEventListener("pointermove", move), { once: true });
  });
}

// Keys.
find("tree").addEventListener("focus", () => (inTree = true));
find("table").addEventListener("focus", () => (inTree = false));
const rows = () => (inTree ? treeKeys : tableKeys);

function focusPane(isTree) {
  inTree = isTree;
  find(isTree ? "tree" : "table").focus();
  showPane(isTree ? "tree-pane" : "table-pane");
}

function escape() {
  if (close()) return;
  if (filter.value) {
    filter.value = "";
    applyFilter();
  } else if (state.at !== null || state.mark) axis.latest();
  find(inTree ? "tree" : "table").focus();
}

const ACTIONS = {
  "j": () => rows().move(1),
  "k": () => rows().move(-1),
  "ArrowDown": () => rows().move(1),
  "ArrowUp": () => rows().move(-1),
  "PageDown": () => rows().move(rows().page()),
  "PageUp": () => rows().move(-rows().page()),
  "Home": () => rows().end(false),
  "End": () => rows().end(true),
  "h": () => treeKeys.fold(false),
  "l": () => treeKeys.fold(true),
  "ArrowLeft": () => treeKeys.fold(false),
  "ArrowRight": () => treeKeys.fold(true),
  " ": () => inTree && treeKeys.toggle(),
  "Enter": () => {
    showPane("details-pane");
    find("details").querySelector(".content")?.focus();
  },
  "/": () => filter.focus(),
  "g": openKinds,
  "n": () => space.focus(),
  "t": () => focusPane(!inTree),
  "?": () => find("help").showModal(),
  "w": tableKeys.toggleWide,
  "y": () => choose("YAML"),
  "e": () => choose("Events"),
  "c": () => choose("Conditions"),
  "s": () => choose("History"),
  "o": () => choose("Log"),
  "[": () => axis.step(-1),
  "]": () => axis.step(1),
  "m": axis.mark,
  "d": compare,
  "-": () => axis.zoomBy(1.6),
  "+": () => axis.zoomBy(1 / 1.6),
  "=": () => axis.zoomBy(1 / 1.6),
  "0": axis.whole,
  ".": axis.latest,
};

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  if (event.key === "Escape") {
    if (isTyping && event.target !== filter) event.target.blur();
    escape();
    return;
  }
  if (event.target === filter && ["Enter", "ArrowDown"].includes(event.key)) {
    find("table").focus();
    event.preventDefault();
    return;
  }
  if (isTyping) return;
  const isOnAxis = event.target.id === "axis";
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (isOnAxis && step) {
    axis.step(step);
    event.preventDefault();
    return;
  }
  // A focused button has its own keys, and a text scrolls.
  const isOwn = event.target.tagName === "BUTTON" && ["Enter", " "].includes(event.key);
  const isText = event.target.classList.contains("content") && event.key.length > 1;
  const action = ACTIONS[event.key];
  if (!action || isOwn || isText) return;
  event.preventDefault();
  action();
});

// A click on a lost server is no reason for an error in the console: the status says it.
addEventListener("unhandledrejection", (event) => {
  if (event.reason?.name === "AbortError") event.preventDefault();
  else if (event.reason instanceof TypeError || event.reason?.status) {
    event.preventDefault();
    setStatus(event.reason.message, "red");
  }
});

try {
  if (await open(showClosed)) {
    await hello();
    tell("kind");
    axis.load();
    find("table").focus();
    document.documentElement.dataset.ready = "";
    if (state.isLive) follow();
  } else showClosed("Open the address that masthead has printed.");
} catch (error) {
  showClosed(error.message);
}
