// What changed: fields with their values before and after, and who wrote them.

import { clock, count, make } from "./dom.js";
import { goTo, select } from "./state.js";

const SIGNS = { added: "+", removed: "−", changed: "~" };

/** The table of the fields of a change. */
export function fieldsOf(change) {
  if (!change.fields.length) return null;
  const rows = change.fields.map(([path, before, after, manager]) =>
    make(
      "li",
      { class: "field" },
      make("div", { class: "path" }, make("code", { text: path }), manager ? make("span", { class: "manager", text: manager }) : null),
      make(
        "div",
        { class: "values" },
        before === null ? null : make("del", { text: before }),
        after === null ? null : make("ins", { text: after }),
      ),
    ),
  );
  const hidden = change.hiddenFields ? make("p", { class: "dim", text: `and ${count(change.hiddenFields, "more field")}` }) : null;
  return make("div", {}, make("ul", { class: "fields" }, ...rows), hidden);
}

/** All objects that differ between two moments. */
export function differenceOf(found, onClose) {
  const [from, to] = found.times;
  const objects = found.objects.map((each) =>
    make(
      "section",
      { class: `object ${each.type}` },
      make(
        "h3",
        {},
        make("span", { class: "sign", "aria-label": each.type, text: SIGNS[each.type] }),
        make("button", {
          class: "link",
          text: `${each.kind} ${each.namespace ? `${each.namespace}/` : ""}${each.name}`,
          onclick: () => {
            onClose();
            select(each.id);
          },
        }),
      ),
      fieldsOf(each),
    ),
  );
  return make(
    "div",
    { class: "difference" },
    make(
      "div",
      { class: "title" },
      make("h2", { text: count(found.objects.length + found.hidden, "difference") }),
      make("button", { class: "quiet", text: "Close", title: "Close (Esc)", onclick: onClose }),
    ),
    make(
      "p",
      { class: "dim" },
      make("button", { class: "link", text: clock(from), onclick: () => goTo(found.positions[0], from) }),
      " to ",
      make("button", { class: "link", text: clock(to), onclick: () => goTo(found.positions[1], to) }),
    ),
    ...objects,
    found.hidden ? make("p", { class: "dim", text: `and ${count(found.hidden, "more object")}` }) : null,
  );
}

/** A reconcile: why it ran, what it read and wrote, how it ended. */
export function reconcileOf(found, onClose) {
  const name = found.namespace ? `${found.namespace}/${found.name}` : found.name;
  const took = (found.time - found.began) / 1000;
  const waited = found.queued ? (found.began - found.queued) / 1000 : null;
  const trigger = found.trigger ?? {};
  const fields = Array.isArray(trigger.fields) ? trigger.fields.map(String).join(", ") : "";
  const why = trigger.why ?? [trigger.op, trigger.kind, objectOf(trigger)].filter(Boolean).join(" ");
  return make(
    "div",
    { class: "reconcile" },
    make(
      "div",
      { class: "title" },
      make("h2", { text: `${found.controller} ${name}` }),
      make("button", { class: "quiet", text: "Close", title: "Close (Esc)", onclick: onClose }),
    ),
    make(
      "dl",
      { class: "facts" },
      ...fact("outcome", outcomeOf(found), found.outcome === "failed" ? "red" : found.outcome === "done" ? "green" : "yellow"),
      ...fact("began", clock(found.began, { date: true })),
      ...fact("took", `${took.toFixed(1)} ms`),
      ...(waited === null ? [] : fact("waited", `${waited.toFixed(1)} ms in the queue`)),
      ...fact("trigger", String(why || "unknown")),
      ...(fields ? fact("fields", fields) : []),
      ...fact("id", found.id ?? ""),
    ),
    ...calls("Reads", found.reads, (each) => [each.verb, each.kind, objectOf(each), each.from && `from the ${each.from}`]),
    ...calls("Writes", found.writes, (each) => [
      each.verb,
      each.kind,
      objectOf(each) + (each.subresource ? `/${each.subresource}` : ""),
      each.code,
      each.version && `version ${each.version}`,
    ]),
    found.dropped ? make("p", { class: "dim", text: `${count(found.dropped, "more call")} not recorded` }) : null,
    found.error ? make("pre", { class: "error", text: found.error }) : null,
  );
}

const objectOf = (each) => [each.namespace, each.name].filter(Boolean).join("/");

function outcomeOf(found) {
  return found.requeueAfter >= 0 ? `${found.outcome}, again after ${found.requeueAfter} s` : found.outcome;
}

export const fact = (name, value, style = "") => (value ? [make("dt", { text: name }), make("dd", { class: style, text: value })] : []);

function calls(title, list, words) {
  const lines = (list ?? []).map((each) => make("li", { text: words(each).filter(Boolean).map(String).join(" ") }));
  return lines.length ? [make("h3", { text: title }), make("ol", { class: "calls" }, ...lines)] : [];
}
