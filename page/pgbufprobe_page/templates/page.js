"use strict";
// Draws all charts with one copy of the library. Colours are CSS variables, so light, dark and print need no redrawing.
const charts = JSON.parse(document.getElementById("charts").textContent);
for (const [id, spec] of Object.entries(charts)) {
  const place = document.getElementById(id);
  // The width determines the number of legend columns.
  spec.config.legend.columns = Math.max(1, Math.min(3, Math.floor(place.clientWidth / (45 + 6.5 * spec.usermeta.longest))));
  window.vegaEmbed(place, spec, { renderer: "svg", actions: false, ast: false }).catch((error) => {
    place.textContent = "Could not draw this chart: " + error.message + ". Its figures are in the table below.";
  });
}
