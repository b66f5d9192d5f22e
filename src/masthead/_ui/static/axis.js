// The time axis: a tick for every change, higher where many share a pixel; reconciles above; a cursor, and a mark.

import { get } from "./api.js";
import { clock, find, oneAtATime, setText, throttled } from "./dom.js";
import { goTo, on, state, tell } from "./state.js";

const LANE = 12; // the height of the reconciles
const LABELS = 15;
const STEPS = [1e3, 1e4, 1e5, 1e6, 2e6, 5e6, 1e7, 3e7, 6e7, 3e8, 6e8, 18e8, 36e8, 108e8, 432e8, 864e8];
const OPERATIONS = ["STATE", "ADDED", "MODIFIED", "DELETED"];

const box = find("axis");
const canvas = find("canvas");
let view = null; // [since, until]; null for everything
let found = null; // what the server says of the view
let own = []; // the versions of the selected object
let colours = {};

const width = () => box.clientWidth || 1;
const span = () => view ?? padded(state.start, state.end);

function padded(since, until) {
  const edge = Math.max(1e5, (until - since) * 0.01);
  return [since - edge, until + edge];
}

const toX = (time) => ((time - span()[0]) / (span()[1] - span()[0])) * width();
const toTime = (x) => span()[0] + (x / width()) * (span()[1] - span()[0]);

export const load = oneAtATime(async () => {
  const [since, until] = span();
  found = await get("/api/axis", { since: Math.round(since), until: Math.round(until), buckets: Math.min(2000, width()) });
  Object.assign(state, { start: found.start, end: found.end, first: found.first, latest: found.latest });
  draw();
});
const loadSoon = throttled(load, 900);

function readColours() {
  const style = getComputedStyle(document.documentElement);
  const names = ["text", "dim", "line", "accent", "good", "bad", "changed", "surface"];
  colours = Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

export function draw() {
  const scale = devicePixelRatio || 1;
  const height = box.clientHeight;
  if (canvas.width !== Math.round(width() * scale)) canvas.width = Math.round(width() * scale);
  if (canvas.height !== Math.round(height * scale)) canvas.height = Math.round(height * scale);
  const pen = canvas.getContext("2d");
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, width(), height);
  if (!found) return;
  const base = height - LABELS;
  drawGaps(pen, base);
  drawLabels(pen, base, height);
  drawReconciles(pen);
  drawChanges(pen, base);
  drawCursors(pen, base);
  describe();
}

function drawGaps(pen, base) {
  pen.fillStyle = colours.bad;
  pen.globalAlpha = 0.14;
  for (const [since, until] of found.gaps) {
    const from = toX(since);
    pen.fillRect(from, 0, Math.max(2, toX(until) - from), base);
  }
  pen.globalAlpha = 1;
}

function drawLabels(pen, base, height) {
  const [since, until] = span();
  const step = STEPS.find((each) => (each / (until - since)) * width() > 84) ?? 864e8 * Math.ceil((until - since) / 864e8 / (width() / 84));
  pen.font = `11px ${getComputedStyle(document.body).fontFamily}`;
  pen.textBaseline = "bottom";
  // In the time zone of the reader, midnight is a round time.
  const zone = new Date(since / 1000).getTimezoneOffset() * 6e7;
  for (let time = Math.ceil((since - zone) / step) * step + zone; time < until; time += step) {
    const x = Math.round(toX(time)) + 0.5;
    pen.fillStyle = colours.line;
    pen.fillRect(x - 0.5, 0, 1, base);
    pen.fillStyle = colours.dim;
    const text = clock(time, { fraction: step < 1e6, date: step >= 864e8 });
    const room = pen.measureText(text).width;
    pen.fillText(text, Math.min(Math.max(0, x - room / 2), width() - room), height - 1);
  }
}

function drawReconciles(pen) {
  if (found.reconcileCounts) {
    const each = width() / found.reconcileCounts.length;
    pen.fillStyle = colours.changed;
    found.reconcileCounts.forEach((many, at) => many && pen.fillRect(at * each, 3, Math.max(1, each), LANE - 6));
    return;
  }
  for (const [, began, ended, outcome] of found.reconciles) {
    pen.fillStyle = outcome === "failed" ? colours.bad : outcome === "done" ? colours.good : colours.changed;
    pen.fillRect(toX(began), 3, Math.max(2, toX(ended) - toX(began)), LANE - 6);
  }
}

function drawChanges(pen, base) {
  const room = base - LANE - 6;
  // One change is a short tick. The height grows with the logarithm, up to the busiest pixel.
  const scale = (most) => (many) => Math.min(room, 14 + (room - 14) * (Math.log2(many) / Math.log2(Math.max(most * 1.5, 16))));
  pen.fillStyle = colours.line;
  pen.fillRect(0, base, width(), 1);
  if (found.counts) {
    const each = width() / found.counts.length;
    const tall = scale(Math.max(...found.counts));
    pen.fillStyle = colours.changed;
    pen.globalAlpha = 0.8;
    found.counts.forEach((many, at) => many && pen.fillRect(at * each, base - tall(many), Math.max(1, each), tall(many)));
    pen.globalAlpha = 1;
  } else {
    const pixels = new Map();
    for (const [, time, operation] of found.ticks) {
      const x = Math.round(toX(time));
      const pixel = pixels.get(x) ?? [0, 0, 0, 0];
      pixel[operation]++;
      pixels.set(x, pixel);
    }
    const sum = (pixel) => pixel[1] + pixel[2] + pixel[3];
    const tall = scale(Math.max(0, ...[...pixels.values()].map(sum)));
    for (const [x, pixel] of pixels) drawPixel(pen, x, pixel, base, tall(sum(pixel)));
  }
  // The selected object's own changes stand on the line.
  pen.fillStyle = colours.accent;
  for (const [, time, operation] of own) {
    if (operation !== "STATE") pen.fillRect(Math.round(toX(time)) - 1, base - 5, 3, 5);
  }
}

function drawPixel(pen, x, pixel, base, height) {
  const all = pixel[1] + pixel[2] + pixel[3];
  let y = base;
  for (const [operation, colour] of [[2, colours.changed], [1, colours.good], [3, colours.bad]]) {
    const part = (pixel[operation] / all) * height;
    pen.fillStyle = colour;
    pen.fillRect(x, y - part, 1.5, part);
    y -= part;
  }
}

function drawCursors(pen, base) {
  if (state.mark) {
    const [from, to] = [toX(state.mark.time), toX(state.time ?? state.end)].sort((one, other) => one - other);
    pen.globalAlpha = 0.12;
    pen.fillStyle = colours.accent;
    pen.fillRect(from, 0, to - from, base);
    pen.globalAlpha = 1;
    drawHandle(pen, toX(state.mark.time), base, true);
  }
  drawHandle(pen, toX(state.time ?? state.end), base, false);
}

function drawHandle(pen, x, base, isHollow) {
  pen.fillStyle = pen.strokeStyle = colours.accent;
  pen.fillRect(Math.round(x) - 0.5, 0, 1.5, base);
  pen.beginPath();
  pen.moveTo(x - 5, 0);
  pen.lineTo(x + 5, 0);
  pen.lineTo(x, 7);
  pen.closePath();
  if (isHollow) {
    pen.fillStyle = colours.surface;
    pen.fill();
    pen.stroke();
  } else pen.fill();
}

function describe() {
  const time = state.time ?? state.end;
  const text = clock(time, { date: true });
  setText(find("clock"), state.at === null && state.isLive ? clock(time, { fraction: false }) : text);
  box.setAttribute("aria-valuemin", state.first);
  box.setAttribute("aria-valuemax", state.latest);
  box.setAttribute("aria-valuenow", state.at ?? state.latest);
  box.setAttribute("aria-valuetext", state.at === null ? "the latest change" : text);
  find("latest").classList.toggle("active", state.at === null);
  setText(find("latest"), state.isLive ? "● Live" : "Latest");
  find("compare").hidden = !state.mark;
  setText(find("mark"), state.mark ? "Unmark" : "Mark");
  find("whole").hidden = view === null;
}

/** The position at a time: from the ticks that are here, else from the server. */
async function positionAt(time) {
  if (found?.ticks && time >= span()[0]) {
    let last = null;
    for (const tick of found.ticks) {
      if (tick[1] > time) break;
      last = tick;
    }
    if (last) return last[0];
    if (span()[0] <= state.start) return state.first;
  }
  return (await get("/api/at", { time: Math.round(time) })).position;
}

let wanted = null;
const scrub = oneAtATime(async () => {
  const time = wanted;
  const position = await positionAt(time);
  if (time === wanted || wanted === null) goTo(position, time);
});

function moveTo(time) {
  wanted = Math.max(state.start, Math.min(state.end, time));
  state.time = wanted;
  draw();
  scrub();
}

/** The tick next to a place, if one is near. */
function tickAt(x) {
  let best = null;
  for (const tick of found?.ticks ?? []) {
    const far = Math.abs(toX(tick[1]) - x);
    if (far <= 5 && (!best || far <= best.far)) best = { tick, far };
  }
  return best?.tick ?? null;
}

function reconcileAt(x) {
  return (found?.reconciles ?? []).findLast(([, began, ended]) => x >= toX(began) - 3 && x <= Math.max(toX(ended), toX(began) + 2) + 3);
}

let pressed = null;

box.addEventListener("pointerdown", (event) => {
  if (event.button !== 0) return;
  const x = event.clientX - box.getBoundingClientRect().left;
  const y = event.clientY - box.getBoundingClientRect().top;
  const reconcile = y < LANE ? reconcileAt(x) : null;
  if (reconcile) {
    tell("show", { reconcile: reconcile[0], time: reconcile[2] });
    moveTo(reconcile[2]);
    return;
  }
  if (event.shiftKey) {
    // The second of two ticks: the first one is where the cursor was.
    state.mark = { position: state.at ?? state.latest, time: state.time ?? state.end };
  }
  pressed = { isSecond: event.shiftKey };
  box.setPointerCapture(event.pointerId);
  snap(x);
});
box.addEventListener("pointermove", (event) => {
  const x = event.clientX - box.getBoundingClientRect().left;
  if (pressed) {
    pressed.isDragged = true;
    moveTo(toTime(x));
  } else hint(x, event.clientY - box.getBoundingClientRect().top);
});
for (const name of ["pointerup", "pointercancel"]) {
  box.addEventListener(name, () => {
    const was = pressed;
    pressed = null;
    if (was?.isSecond) tell("compare");
  });
}

function snap(x) {
  const tick = tickAt(x);
  if (!tick) {
    moveTo(toTime(x));
    return;
  }
  wanted = null;
  goTo(tick[0], tick[1]);
}

function hint(x, y) {
  const reconcile = y < LANE ? reconcileAt(x) : null;
  const tick = tickAt(x);
  const gap = (found?.gaps ?? []).find(([since, until]) => x >= toX(since) && x <= toX(until));
  if (reconcile) box.title = `${reconcile[4]}: ${reconcile[3]}, ${((reconcile[2] - reconcile[1]) / 1000).toFixed(1)} ms`;
  else if (gap) box.title = `Changes may be missing here: ${gap[2]}`;
  else box.title = tick ? `${clock(tick[1])} ${OPERATIONS[tick[2]]}` : clock(toTime(x));
}

box.addEventListener(
  "wheel",
  (event) => {
    event.preventDefault();
    const [since, until] = span();
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      const by = (event.deltaX / width()) * (until - since);
      show(since + by, until + by);
    } else zoom(Math.exp(event.deltaY * 0.002), toTime(event.clientX - box.getBoundingClientRect().left));
  },
  { passive: false },
);

function zoom(factor, around) {
  const [since, until] = span();
  show(around - (around - since) * factor, around + (until - around) * factor);
}

function show(since, until) {
  const [first, last] = padded(state.start, state.end);
  const wide = Math.max(2000, until - since);
  if (wide >= last - first) view = null;
  else {
    const from = Math.min(Math.max(first, since), last - wide);
    view = [from, from + wide];
  }
  draw();
  loadSoon();
}

/** Go to the change before or after the cursor. */
export async function step(by) {
  const at = state.at ?? state.latest;
  const position = Math.max(state.first, Math.min(state.latest, at + by));
  const change = await get("/api/change", { position });
  wanted = null;
  goTo(position, change.time);
  const [since, until] = span();
  if (change.time < since || change.time > until) show(change.time - (until - since) / 2, change.time + (until - since) / 2);
}

export function latest() {
  wanted = null;
  state.mark = null;
  goTo(null);
  draw();
}

export function whole() {
  view = null;
  draw();
  load();
}

export function mark() {
  state.mark = state.mark ? null : { position: state.at ?? state.latest, time: state.time ?? state.end };
  draw();
}

export const zoomBy = (factor) => zoom(factor, state.time ?? state.end);

export function showVersions(versions) {
  own = versions;
  draw();
}

new ResizeObserver(() => {
  readColours();
  draw();
  // Before the first answer there is no session yet.
  if (found) loadSoon();
}).observe(box);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  readColours();
  draw();
});
on("moment", draw);
on("changes", (changes) => {
  if (changes.length && (view === null || view[1] >= state.end)) loadSoon();
  else draw();
});
on("reconciles", () => (view === null || view[1] >= state.end) && loadSoon());
on("reload", load);
// The present moves on even if nothing changes.
setInterval(() => state.isLive && view === null && !document.hidden && loadSoon(), 5000);
