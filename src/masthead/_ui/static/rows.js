// A list of any length, of which only the visible rows are in the page.

const EXTRA = 8; // rows beyond the edges, so that slow scrolling never shows an empty one

export class Rows {
  /**
   * @param box The element that scrolls.
   * @param options `height` of a row; `fill(element, index)`; `onPick(index)`; `onWindow(from, to)` after a change of
   *   the visible rows; `head`, an element above them; `role` of a row.
   */
  constructor(box, { height, fill, onPick, onWindow = () => {}, head = null, role = "row" }) {
    Object.assign(this, { box, height, fill, onPick, onWindow, role });
    this.length = 0;
    this.cursor = -1;
    this.pool = new Map();
    this.free = [];
    this.space = document.createElement("div");
    this.space.className = "space-of-rows";
    this.space.setAttribute("role", "presentation");
    if (head) box.append(head);
    this.head = head;
    box.append(this.space);
    box.addEventListener("scroll", () => this.draw(), { passive: true });
    new ResizeObserver(() => this.draw()).observe(box);
    this.space.addEventListener("click", (event) => {
      const row = event.target.closest("[data-index]");
      if (row) this.onPick(Number(row.dataset.index), event);
    });
  }

  /** Take a new number of rows, and fill the visible ones again. */
  reset(length) {
    this.length = length;
    this.space.style.height = `${length * this.height}px`;
    this.cursor = Math.min(this.cursor, length - 1);
    this.draw(true);
  }

  get visible() {
    const above = this.head ? this.head.offsetHeight : 0;
    const from = Math.floor(this.box.scrollTop / this.height);
    const to = Math.ceil((this.box.scrollTop + this.box.clientHeight - above) / this.height);
    return [Math.max(0, from - EXTRA), Math.min(this.length, to + EXTRA)];
  }

  draw(refill = false) {
    const [from, to] = this.visible;
    for (const [index, row] of this.pool) {
      if (index < from || index >= to) {
        this.pool.delete(index);
        this.free.push(row);
      }
    }
    for (let index = from; index < to; index++) {
      const known = this.pool.get(index);
      if (known && !refill) continue;
      const row = known ?? this.take();
      if (!known) {
        row.dataset.index = index;
        row.style.transform = `translateY(${index * this.height}px)`;
        this.pool.set(index, row);
      }
      this.refill(row, index);
    }
    // What is left over is hidden rather than removed: it will be wanted at the next turn of the wheel.
    for (const row of this.free) row.hidden = true;
    this.onWindow(from, to);
  }

  take() {
    const row = this.free.pop() ?? this.add();
    row.hidden = false;
    return row;
  }

  add() {
    const row = document.createElement("div");
    row.className = "row";
    row.setAttribute("role", this.role);
    this.space.append(row);
    return row;
  }

  refill(row, index) {
    row.id = `${this.box.id}-${index}`;
    if (this.role === "row") row.setAttribute("aria-rowindex", index + 1);
    row.classList.toggle("cursor", index === this.cursor);
    this.fill(row, index);
  }

  /** Fill some rows again, if they are visible. */
  update(isWanted) {
    for (const [index, row] of this.pool) if (isWanted(index)) this.refill(row, index);
  }

  /** Move the cursor, and scroll to it. */
  moveTo(index) {
    if (!this.length) return;
    const old = this.cursor;
    this.cursor = Math.max(0, Math.min(this.length - 1, index));
    this.box.setAttribute("aria-activedescendant", `${this.box.id}-${this.cursor}`);
    const top = this.cursor * this.height;
    const room = this.box.clientHeight - (this.head ? this.head.offsetHeight : 0);
    if (top < this.box.scrollTop) this.box.scrollTop = top;
    else if (top + this.height > this.box.scrollTop + room) this.box.scrollTop = top + this.height - room;
    this.draw();
    this.update((each) => each === old || each === this.cursor);
  }
}
