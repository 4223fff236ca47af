// What the pages draw with: curves with hover, legends to hide a method, tables to sort.
// Elements of a drawing are made in the namespace of the `svg` that the page holds, so no address is written anywhere.
// An error is shown on the page, and in `data-error` of its body.
"use strict";
window.addEventListener("error", event => {
  document.body.setAttribute("data-error", event.message + " (line " + event.lineno + ")");
  const box = document.createElement("p");
  box.className = "error";
  box.textContent = "This page's script failed: " + event.message;
  document.body.prepend(box);
});

const WIDTH = 360, HEIGHT = 260, LEFT = 48, RIGHT = 10, TOP = 26, BOTTOM = 38;
const MOST_NAMED = 16; // lines that are told of where the pointer is

function number(value, digits) {
  if (value === null || value === undefined) return "-";
  const size = Math.abs(value);
  if (digits === undefined) digits = size >= 100 || value === 0 ? 0 : size >= 1 ? 2 : 3;
  return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

function ticks(low, high, wanted) {
  const rough = (high - low) / wanted, power = Math.pow(10, Math.floor(Math.log10(rough)));
  const step = [1, 2, 5, 10].map(factor => factor * power).find(size => size >= rough * 0.999);
  const found = [];
  for (let index = Math.ceil(low / step - 1e-9); index * step <= high + step * 1e-9; index++) {
    found.push(index * step + 0);
  }
  return { at: found, digits: Math.max(0, -Math.floor(Math.log10(step) + 1e-9)) };
}

function add(parent, tag, attributes, text) {
  const element = document.createElementNS(parent.namespaceURI, tag);
  for (const name in attributes) element.setAttribute(name, attributes[name]);
  if (text !== undefined) element.textContent = text;
  parent.appendChild(element);
  return element;
}

function path(xs, ys, toX, toY) {
  let text = "", down = false;
  ys.forEach((y, index) => {
    if (y === null) { down = false; return; }
    text += (down ? "L" : "M") + toX(xs[index]).toFixed(1) + " " + toY(y).toFixed(1);
    down = true;
  });
  return text;
}

function band(line, toX, toY) {
  const there = line.y.map((y, index) => index).filter(index => line.y[index] !== null && line.spread[index] !== null);
  if (!there.length) return "";
  const edge = (indices, sign) => indices.map(
    index => toX(line.x[index]).toFixed(1) + " " + toY(line.y[index] + sign * line.spread[index]).toFixed(1));
  return "M" + edge(there, 1).concat(edge(there.slice().reverse(), -1)).join("L") + "Z";
}

function range(values, margin) {
  let low = Infinity, high = -Infinity;
  values.forEach(value => { low = Math.min(low, value); high = Math.max(high, value); });
  if (!values.length) { low = 0; high = 1; }
  if (low === high) { low -= 1; high += 1; }
  return [low - margin * (high - low), high + margin * (high - low)];
}

function draw(svg, panel, hidden) {
  svg.replaceChildren();
  const lines = panel.lines.filter(line => !hidden.has(line.label));
  const levels = panel.levels.filter(level => !hidden.has(level.label));
  const xs = [], ys = levels.map(level => level.y);
  lines.forEach(line => {
    line.x.forEach(x => xs.push(x));
    line.y.forEach((y, index) => {
      if (y === null) return;
      const spread = line.spread && line.spread[index] || 0;
      ys.push(y - spread, y + spread);
    });
  });
  const [left, right] = range(xs, panel.points ? 0.04 : 0), [low, high] = range(ys, 0.04);
  const toX = x => LEFT + (x - left) / (right - left) * (WIDTH - LEFT - RIGHT);
  const toY = y => HEIGHT - BOTTOM - (y - low) / (high - low) * (HEIGHT - TOP - BOTTOM);
  add(svg, "text", { x: LEFT, y: 15, class: "title" }, panel.title);
  const down = ticks(low, high, 5), across = ticks(left, right, 5);
  down.at.forEach(y => {
    add(svg, "line", { x1: LEFT, x2: WIDTH - RIGHT, y1: toY(y), y2: toY(y), stroke: y === 0 ? "#c6ccd2" : "#eceff2" });
    add(svg, "text", { x: LEFT - 5, y: toY(y) + 4, "text-anchor": "end" }, number(y, down.digits));
  });
  across.at.forEach(x => {
    add(svg, "text", { x: toX(x), y: HEIGHT - BOTTOM + 15, "text-anchor": "middle" }, number(x, across.digits));
  });
  add(svg, "line", { x1: LEFT, x2: WIDTH - RIGHT, y1: HEIGHT - BOTTOM, y2: HEIGHT - BOTTOM, stroke: "#9aa1a8" });
  const below = panel.y + " over " + panel.x;
  add(svg, "text", { x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 6, "text-anchor": "middle" }, below);
  levels.forEach(level => add(svg, "line", {
    x1: LEFT, x2: WIDTH - RIGHT, y1: toY(level.y), y2: toY(level.y), stroke: level.color, "stroke-width": 1.4,
    "stroke-dasharray": level.dashed ? "6 4" : "1.5 2.5", class: "level", "data-label": level.label,
  }));
  lines.forEach(line => {
    if (line.spread && !panel.points) {
      add(svg, "path", { d: band(line, toX, toY), fill: line.color, opacity: 0.15, class: "band" });
    }
    add(svg, "path", {
      d: path(line.x, line.y, toX, toY), fill: "none", stroke: line.color, "stroke-width": 1.8, class: "line",
      "stroke-linejoin": "round", "data-label": line.label,
    });
    if (panel.points) line.y.forEach((y, index) => {
      if (y === null) return;
      const spread = line.spread && line.spread[index] || 0, x = toX(line.x[index]);
      if (spread) add(svg, "line", { x1: x, x2: x, y1: toY(y - spread), y2: toY(y + spread), stroke: line.color });
      add(svg, "circle", { cx: x, cy: toY(y), r: 3, fill: line.color });
    });
  });
  const cursor = add(svg, "line", { y1: TOP, y2: HEIGHT - BOTTOM, stroke: "#9aa1a8", visibility: "hidden" });
  return { lines, levels, cursor, left, right, toX };
}

function tipRow(color, label, value) {
  const row = document.createElement("div"), swatch = document.createElement("span");
  if (color) { swatch.style.background = color; row.appendChild(swatch); }
  row.appendChild(document.createTextNode(label + " "));
  const strong = document.createElement("b");
  strong.textContent = value;
  row.appendChild(strong);
  return row;
}

function hover(figure, svg, current) {
  const tip = document.createElement("div");
  tip.className = "tip";
  figure.appendChild(tip);
  svg.addEventListener("pointermove", event => {
    const box = svg.getBoundingClientRect(), view = current();
    const at = (event.clientX - box.left) / box.width * WIDTH;
    const x = view.left + (at - LEFT) / (WIDTH - LEFT - RIGHT) * (view.right - view.left);
    if (x < view.left || x > view.right) { leave(); return; }
    let shown = null;
    const rows = [];
    view.lines.forEach(line => {
      let best = -1;
      line.x.forEach((other, index) => {
        if (line.y[index] !== null && (best < 0 || Math.abs(other - x) < Math.abs(line.x[best] - x))) best = index;
      });
      if (best < 0) return;
      if (shown === null || Math.abs(line.x[best] - x) < Math.abs(shown - x)) shown = line.x[best];
      const spread = line.spread && line.spread[best] !== null ? " ± " + number(line.spread[best]) : "";
      rows.push([line.y[best], tipRow(line.color, line.name || line.label, number(line.y[best]) + spread)]);
    });
    view.levels.forEach(level => rows.push([level.y, tipRow(level.color, level.label, number(level.y))]));
    rows.sort((a, b) => b[0] - a[0]);
    const where = shown === null ? x : shown;
    tip.replaceChildren(tipRow("", "at", number(where, 2)), ...rows.slice(0, MOST_NAMED).map(row => row[1]));
    if (rows.length > MOST_NAMED) tip.append("and " + (rows.length - MOST_NAMED) + " more");
    view.cursor.setAttribute("x1", view.toX(where));
    view.cursor.setAttribute("x2", view.toX(where));
    view.cursor.setAttribute("visibility", "visible");
    tip.style.display = "block";
    const place = event.clientX - box.left, room = document.documentElement.clientWidth;
    const start = event.clientX + 14 + tip.offsetWidth > room ? place - tip.offsetWidth - 14 : place + 14;
    tip.style.left = start + "px";
    tip.style.top = Math.max(0, event.clientY - box.top + 10) + "px";
  });
  function leave() {
    tip.style.display = "none";
    current().cursor.setAttribute("visibility", "hidden");
  }
  svg.addEventListener("pointerleave", leave);
}

// Buttons that hide and show what has a label; to be called with all entries, label -> [color, kind], whenever they change.
function legend(box, hidden, changed) {
  const buttons = new Map();
  return entries => {
    buttons.forEach((button, label) => {
      if (!entries.has(label)) { button.remove(); buttons.delete(label); }
    });
    entries.forEach(([color, kind], label) => {
      if (buttons.has(label)) return;
      const button = document.createElement("button"), mark = document.createElement("i");
      mark.style.borderColor = color;
      mark.className = kind;
      button.append(mark, label);
      button.setAttribute("aria-pressed", String(!hidden.has(label)));
      button.title = "click to hide or show";
      button.addEventListener("click", () => {
        if (!hidden.delete(label)) hidden.add(label);
        button.setAttribute("aria-pressed", String(!hidden.has(label)));
        changed();
      });
      buttons.set(label, button);
      box.appendChild(button);
    });
  };
}

// What a legend names: the lines of all panels, then their levels.
function entriesOf(panels) {
  const entries = new Map();
  panels.forEach(panel => panel.lines.forEach(line => entries.set(line.label, [line.color, ""])));
  panels.forEach(panel => panel.levels.forEach(level => {
    if (!entries.has(level.label)) entries.set(level.label, [level.color, level.dashed ? "dashed" : "dotted"]);
  }));
  return entries;
}

// What a column is sorted by: a number where the cell has one, else its text. What is missing comes last either way.
function order(place, up) {
  const key = row => {
    const cell = row.cells[place];
    if (cell.dataset.value !== undefined) return Number(cell.dataset.value);
    return cell.textContent === "-" ? null : cell.textContent;
  };
  return (a, b) => {
    const one = key(a), two = key(b);
    if (one === null || two === null) return (one === null) - (two === null);
    return (one < two ? -1 : one > two ? 1 : 0) * (up ? 1 : -1);
  };
}

window.charts = { number, draw, hover, legend, entriesOf, order };
