// Elements without markup: every text of a cluster reaches the page as text.

export const find = (id) => document.getElementById(id);

/** Make an element. `facts` are attributes; `on…` are listeners; `class` and `text` are what they say. */
export function make(tag, facts = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(facts)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") made.className = value;
    else if (name === "text") made.textContent = value;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/** Set the text of an element, unless it has it: an unchanged page is not laid out again. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Let a function run at most once in a time; the last call always counts. `wait` may be a function. */
export function throttled(run, wait) {
  let timer = 0;
  let last = -Infinity;
  return () => {
    if (timer) return;
    const pause = typeof wait === "function" ? wait() : wait;
    timer = setTimeout(() => {
      timer = 0;
      last = performance.now();
      run();
    }, Math.max(0, last + pause - performance.now()));
  };
}

/** Let an asynchronous function run one at a time; calls while it runs become one call behind it. */
export function oneAtATime(run) {
  let running = false;
  let again = false;
  return async function call() {
    if (running) {
      again = true;
      return;
    }
    running = true;
    try {
      do {
        again = false;
        await run();
      } while (again);
    } finally {
      running = false;
    }
  };
}

const two = (value) => String(value).padStart(2, "0");

/** The text of a time in microseconds since 1970, in the time zone of the reader. */
export function clock(time, { date = false, fraction = true } = {}) {
  const at = new Date(time / 1000);
  const day = date ? `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ` : "";
  const rest = fraction ? `.${String(at.getMilliseconds()).padStart(3, "0")}` : "";
  return `${day}${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}${rest}`;
}

export const count = (number, word) => `${number.toLocaleString("en")} ${word}${number === 1 ? "" : "s"}`;
