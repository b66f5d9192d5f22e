"""Style and script of the HTML page of a report."""

from __future__ import annotations

from typing import Final

__all__ = ["SCRIPT", "STYLE"]

STYLE: Final = """
:root { color-scheme: light dark; --line: #d0d4da; --soft: #f3f4f6; --bad: #b42318; --good: #18794e; --rule: #175cd3 }
@media (prefers-color-scheme: dark) {
  :root { --line: #3a3f47; --soft: #22262c; --bad: #ff8a80; --good: #6fdca4; --rule: #8ab4f8 }
}
body { font: 15px/1.5 system-ui, sans-serif; max-width: 78rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.3rem } h2 { font-size: 1.1rem; margin-top: 2.5rem } h3 { font-size: 1rem; margin-bottom: .3rem }
pre, code, td { font-family: ui-monospace, monospace; font-size: .85rem }
pre { background: var(--soft); padding: .6rem .8rem; overflow-x: auto; border-radius: .3rem }
pre span { display: block; white-space: pre }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; vertical-align: top; padding: .15rem .6rem; border-left: 1px solid var(--line) }
th { position: sticky; top: 0; background: var(--soft) }
td:first-child, th:first-child { border-left: 0; white-space: nowrap }
.summary { font-weight: 600 } .rule { color: var(--rule) } .nested { padding-left: 2rem }
.added { color: var(--good) } .removed { color: var(--bad) }
tr.fault .entry, tr.failure .entry { color: var(--bad); font-weight: 600 }
tr.step { border-top: 2px solid var(--line) } tr.step .entry { font-weight: 600 }
td.entry b { font-weight: 400; opacity: .6; margin-right: .4rem }
input, select { font: inherit; padding: .2rem .4rem; max-width: 22rem }
"""

SCRIPT: Final = """
for (const section of document.querySelectorAll("section")) {
  const text = section.querySelector("input"), reconcile = section.querySelector("select");
  if (!text) continue;
  const filter = () => {
    const wanted = text.value.toLowerCase();
    for (const row of section.querySelectorAll("table.timeline tbody tr")) {
      const isWanted = row.textContent.toLowerCase().includes(wanted)
        && (!reconcile.value || row.dataset.reconcile === reconcile.value || row.className === "fault");
      row.hidden = !isWanted;
    }
  };
  text.addEventListener("input", filter);
  reconcile.addEventListener("change", filter);
}
"""
