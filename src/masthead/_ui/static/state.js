// What the page shows, and who wants to know when that changes.

export const state = {
  isLive: false,
  kinds: [],
  namespaces: [],
  start: 0,
  end: 0,
  first: 0,
  latest: -1,
  kind: -1, // the number of the kind in the table
  namespace: "",
  filter: "",
  sort: -1,
  isDescending: false,
  isWide: false,
  at: null, // the position that is shown; null for the latest
  time: null, // the time of the cursor; null for the latest
  mark: null, // the position and time to compare from
  selected: null, // the number of the selected object
};

const listeners = new Map();

/** Call a function when something has happened: `kind`, `moment`, `selected`, `changes`, `reconciles`, `reload`, `ticks`, `show`. */
export function on(name, listener) {
  listeners.set(name, [...(listeners.get(name) ?? []), listener]);
}

export function tell(name, detail) {
  for (const listener of listeners.get(name) ?? []) listener(detail);
}

/** The parameters of requests about the moment that is shown. */
export const moment = () => (state.at === null ? {} : { at: state.at, now: Math.round(state.time) });

export function select(id) {
  if (state.selected === id) return;
  state.selected = id;
  tell("selected");
}

/** Show another moment; null for the latest. */
export function goTo(position, time = null) {
  if (state.at === position && state.time === time) return;
  state.at = position;
  state.time = time;
  tell("moment");
}
