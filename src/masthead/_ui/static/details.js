// The selected object: YAML, events, conditions, its history and its log. Or a difference, or a reconcile.

import { get, stream } from "./api.js";
import { clock, find, make, oneAtATime, setText, throttled } from "./dom.js";
import { differenceOf, fact, fieldsOf, reconcileOf } from "./difference.js";
import { showVersions } from "./axis.js";
import { goTo, moment, on, state, tell } from "./state.js";

const MAX_LOG = 5000;
const COLOURED = 4000; // lines of YAML: more stay plain

const WORDS = { STATE: "It existed before.", ADDED: "It is new.", MODIFIED: "Only bookkeeping has changed.", DELETED: "It was deleted." };

const pane = find("details");
let tab = "YAML";
let shown = null; // the object as the server describes it
let isWhole = false;
let overlay = null; // a difference or a reconcile above the object
let log = null;

const load = oneAtATime(async () => {
  if (state.selected === null) {
    if (!overlay) pane.replaceChildren(make("p", { class: "note", text: "Select an object to see all about it." }));
    return;
  }
  const wanted = state.selected;
  const found = await get("/api/object", { id: wanted, whole: isWhole ? 1 : "", ...moment() });
  if (wanted !== state.selected) return;
  const isOther = shown?.id !== found.id;
  if (isOther) closeLog();
  shown = found;
  showVersions(found.versions);
  if (!overlay) render(isOther);
});
const loadSoon = throttled(load, 400);

function render(isOther) {
  const scroll = pane.querySelector(".content")?.scrollTop ?? 0;
  const tabs = [
    ["YAML", ""],
    ["Events", shown.events?.length],
    ["Conditions", shown.conditions?.length],
    ["History", shown.versionCount],
    ...(shown.hasLogs && shown.containers?.length ? [["Log", ""]] : []),
  ];
  if (!tabs.some(([name]) => name === tab)) tab = "YAML";
  // A log goes on while its pod changes.
  const content = tab === "Log" && log ? log.element : make("div", { class: "content", tabindex: "0", role: "tabpanel", "aria-label": tab }, ...contentOf());
  pane.replaceChildren(
    make(
      "div",
      { class: "title" },
      make("h2", {}, make("span", { class: "kind", text: `${shown.kind} ` }), make("span", { text: shown.namespace ? `${shown.namespace}/` : "", class: "dim" }), shown.name),
    ),
    make(
      "div",
      { class: "tabs", role: "tablist", "aria-label": "Details" },
      ...tabs.map(([name, many]) =>
        make("button", { role: "tab", "aria-selected": String(name === tab), onclick: () => choose(name) }, name, many ? make("span", { class: "dim", text: ` ${many}` }) : null),
      ),
    ),
    content,
  );
  if (!isOther) content.scrollTop = tab === "Log" ? content.scrollHeight : scroll;
}

function contentOf() {
  if (tab === "History") return historyOf();
  if (shown.state === null) return [make("p", { class: "note", text: state.at === null ? "It does not exist any more. History shows its changes." : "It did not exist at this moment. History shows when it did." })];
  if (tab === "Events") return eventsOf();
  if (tab === "Conditions") return conditionsOf();
  if (tab === "Log") return logOf();
  return yamlOf();
}

function yamlOf() {
  const managers = make("button", {
    class: "quiet right",
    text: isWhole ? "Hide managed fields" : "Managed fields",
    onclick: () => {
      isWhole = !isWhole;
      load();
    },
  });
  const lines = shown.yaml.split("\n");
  const text = make("pre", { class: "yaml" });
  if (lines.length > COLOURED) text.textContent = shown.yaml;
  else {
    for (const line of lines) {
      const match = /^(\s*(?:- )*)([^\s:'"][^:]*|'[^']*'|"[^"]*")(:)(\s.*)?$/.exec(line);
      if (match) text.append(match[1], make("b", { text: match[2] }), match[3] + (match[4] ?? ""), "\n");
      else text.append(line, "\n");
    }
  }
  return [managers, text];
}

function grid(heads, rows) {
  return make(
    "table",
    {},
    make("thead", {}, make("tr", {}, ...heads.map((name) => make("th", { scope: "col", text: name })))),
    make("tbody", {}, ...rows),
  );
}

function eventsOf() {
  if (!shown.events.length) return [make("p", { class: "note", text: "No events." })];
  const rows = shown.events.map(([type, reason, age, many, message, style]) =>
    make(
      "tr",
      {},
      make("td", { class: style, text: type }),
      make("td", { text: reason }),
      make("td", { text: many === "1" ? age : `${age} (×${many})`, class: "dim" }),
      make("td", { text: message, class: "wide" }),
    ),
  );
  return [grid(["TYPE", "REASON", "AGE", "MESSAGE"], rows)];
}

function conditionsOf() {
  if (!shown.conditions.length) return [make("p", { class: "note", text: "No conditions." })];
  const rows = shown.conditions.map(([type, status, reason, since, message, style]) =>
    make(
      "tr",
      {},
      make("td", { text: type }),
      make("td", { class: style, text: status }),
      make("td", { text: reason }),
      make("td", { text: since, class: "dim" }),
      make("td", { text: message, class: "wide" }),
    ),
  );
  return [grid(["TYPE", "STATUS", "REASON", "SINCE", "MESSAGE"], rows)];
}

function historyOf() {
  const lines = shown.versions.toReversed().map(([position, time, operation]) => {
    const line = make("details", { class: "version" });
    line.append(
      make(
        "summary",
        { class: position === shown.state ? "current" : "" },
        make("button", { class: "link", text: clock(time), title: "Go to this moment", onclick: () => goTo(position, time) }),
        make("span", { class: `operation ${operation.toLowerCase()}`, text: operation }),
      ),
    );
    line.addEventListener("toggle", async () => {
      if (!line.open || line.childElementCount > 1) return;
      const change = await get("/api/change", { position });
      line.append(fieldsOf(change) ?? make("p", { class: "dim", text: WORDS[operation] }));
    });
    return line;
  });
  return lines;
}

function logOf() {
  closeLog();
  const lines = make("pre", { class: "log" });
  const choice = make("select", { "aria-label": "Container", onchange: () => follow(choice.value, lines) });
  choice.append(...shown.containers.map((name) => make("option", { text: name, value: name })));
  log = { element: null, controller: null };
  follow(shown.containers[0], lines);
  queueMicrotask(() => log && (log.element = pane.querySelector(".content")));
  return [shown.containers.length > 1 ? choice : null, lines].filter(Boolean);
}

async function follow(container, lines) {
  log.controller?.abort();
  const controller = (log.controller = new AbortController());
  lines.replaceChildren();
  let waiting = [];
  const flush = throttled(() => {
    const box = lines.parentElement;
    const isAtEnd = box && box.scrollTop + box.clientHeight >= box.scrollHeight - 30;
    lines.append(waiting.join(""));
    waiting = [];
    while (lines.childNodes.length > MAX_LOG / 10) lines.firstChild.remove();
    if (isAtEnd) box.scrollTop = box.scrollHeight;
  }, 100);
  try {
    await stream(
      "/api/logs",
      { id: shown.id, container },
      (name, text) => {
        waiting.push(name === "end" ? `— ${text}\n` : `${text}\n`);
        if (waiting.length > MAX_LOG) waiting = waiting.slice(-MAX_LOG);
        flush();
      },
      controller.signal,
    );
  } catch (error) {
    if (error.name !== "AbortError") lines.append(`— ${error.message}\n`);
  }
}

function closeLog() {
  log?.controller?.abort();
  log = null;
}

export function choose(name) {
  tab = name;
  if (!shown || overlay) return;
  if (name !== "Log") closeLog();
  render(true);
}

function showOverlay(element) {
  overlay = element;
  pane.replaceChildren(make("div", { class: "content", tabindex: "0" }, element));
  tell("opened");
}

/** Close what lies above the object; return whether there was anything. */
export function close() {
  if (!overlay) return false;
  overlay = null;
  if (shown && state.selected !== null) render(false);
  load();
  return true;
}

export async function compare() {
  if (!state.mark) return;
  const found = await get("/api/difference", { from: state.mark.position, to: state.at ?? state.latest });
  showOverlay(differenceOf(found, close));
}

on("show", async ({ reconcile }) => showOverlay(reconcileOf(await get("/api/reconcile", { number: reconcile }), close)));
on("compare", compare);
on("selected", () => {
  overlay = null;
  load();
});
on("moment", async () => {
  load();
  await describeChange();
});
on("reload", load);
on("changes", (changes) => {
  if (state.at !== null || state.selected === null) return;
  const events = new Set(state.kinds.filter((kind) => kind.plural === "events").map((kind) => kind.number));
  if (changes.some(([, , , id, kind]) => id === state.selected || events.has(kind))) loadSoon();
});

/** Say below the table which change made the moment that is shown. */
const describeChange = oneAtATime(async () => {
  const button = find("change");
  button.hidden = state.at === null;
  if (state.at === null) return;
  const change = await get("/api/change", { position: state.at });
  const name = change.namespace ? `${change.namespace}/${change.name}` : change.name;
  const first = change.fields[0];
  const more = change.fields.length > 1 ? ` and ${change.fields.length - 1} more` : "";
  setText(button, `${change.operation} ${change.kind} ${name}${first ? ` · ${first[0]}${more}` : ""}`);
  button.onclick = () => {
    tell("pick", change);
  };
});

load();
export { fact };
