"use strict";
// Filters and orders the rows, which the page shows by verdict without this.
const body = document.querySelector("#servers tbody"), rows = [...body.rows];
const [controls, filter, order, count] = ["controls", "filter", "order", "count"].map((id) => document.getElementById(id));

function show() {
  const words = filter.value.toLowerCase().split(/\s+/);
  for (const row of rows) {
    const text = row.textContent.toLowerCase();
    row.hidden = !words.every((word) => text.includes(word));
  }
  count.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length}`;
}

filter.addEventListener("input", show);
order.addEventListener("change", () => body.append(...rows.sort((a, b) => a.dataset[order.value] - b.dataset[order.value])));
controls.addEventListener("submit", (event) => event.preventDefault());
controls.hidden = false;
show();
