// What the report's page does: curves with hover and legends to hide a method, and the table of runs.
"use strict";
const charts = window.charts;
const data = JSON.parse(document.getElementById("data").textContent);

document.querySelectorAll("[data-figures]").forEach(section => {
  const hidden = new Set(), panels = [], redraw = [];
  section.querySelectorAll("svg.chart").forEach(svg => {
    const panel = data.panels[svg.dataset.panel];
    panels.push(panel);
    let view = charts.draw(svg, panel, hidden);
    redraw.push(() => { view = charts.draw(svg, panel, hidden); });
    charts.hover(svg.parentElement, svg, () => view);
  });
  const name = charts.legend(section.querySelector(".legend"), hidden, () => redraw.forEach(again => again()));
  name(charts.entriesOf(panels));
});

function runsTable() {
  const table = document.getElementById("runs"), head = table.tHead.rows[0], body = table.tBodies[0];
  const digits = { hours: 2, seed: 0 };
  data.columns.forEach((name, place) => {
    const cell = document.createElement("th");
    cell.textContent = name;
    if (data.numeric.includes(name)) cell.className = "n";
    let up = false;
    cell.addEventListener("click", () => {
      up = !up;
      body.append(...Array.from(body.rows).sort(charts.order(place, up)));
    });
    head.appendChild(cell);
  });
  head.appendChild(document.createElement("th")).textContent = "config";
  data.runs.forEach(run => {
    const row = body.insertRow();
    row.dataset.run = run.run;
    data.columns.forEach(name => {
      const cell = row.insertCell(), value = run[name];
      cell.dataset.field = name;
      if (typeof value === "number") {
        cell.dataset.value = String(value);
        cell.textContent = charts.number(value, digits[name] === undefined ? 0 : digits[name]);
      } else {
        cell.textContent = value === null || value === "" ? "-" : value;
      }
      if (data.numeric.includes(name)) cell.className = "n";
      if (name === "note") cell.classList.add("long");
    });
    const cell = row.insertCell(), config = data.configs[run.run];
    if (!config) { cell.textContent = "-"; return; }
    const fold = document.createElement("details"), title = document.createElement("summary");
    title.textContent = "show";
    fold.appendChild(title);
    fold.addEventListener("toggle", () => {
      if (fold.open && fold.childElementCount === 1) {
        const text = document.createElement("pre");
        text.textContent = JSON.stringify(config, null, 1);
        fold.appendChild(text);
      }
    });
    cell.appendChild(fold);
  });
}

runsTable();
document.body.setAttribute("data-ready", String(data.runs.length));
