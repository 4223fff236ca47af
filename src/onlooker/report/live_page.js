// What the live page does: every few seconds it loads `live.js`, which calls `onlookerLive` with all there is to show.
// What is there already is changed in place: scrolling, filters, the order of the table and films that play stay.
"use strict";
const charts = window.charts;
const POLL = 3000; // milliseconds
const MOST_FILMS = 24; // that are shown; older ones are linked
const byId = name => document.getElementById(name);
const COLUMNS = [
  ["run", "run"], ["method", "method"], ["robot", "robot"], ["dynamics", "dynamics"], ["seed", "seed", 0],
  ["status", "state"], ["steps", "steps", 0], ["of", "of", 0], ["share", "done", 0], ["rate", "steps/s", 0],
  ["left", "time left", 0], ["return", "return", 0], ["changed", "last news", 0], ["note", "note"],
];

let shown = null, about = null, freshAt = 0;
let sortedBy = COLUMNS.findIndex(column => column[0] === "status"), upwards = true;
const hiddenStatuses = new Set(), hiddenLabels = new Set();
const rows = new Map(), figures = new Map(), films = new Map();

// 40 s, 6 min, 2.5 h, 3 days.
function spoken(seconds) {
  if (seconds < 100) return Math.round(seconds) + " s";
  if (seconds < 6000) return Math.round(seconds / 60) + " min";
  return seconds < 48 * 3600 ? charts.number(seconds / 3600, 1) + " h" : charts.number(seconds / 86400, 0) + " days";
}

function clock(seconds) {
  const time = new Date(seconds * 1000), today = time.toDateString() === new Date().toDateString();
  return today ? time.toLocaleTimeString() : time.toLocaleString();
}

function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function words() {
  return byId("filter").value.toLowerCase().split(/\s+/).filter(word => word);
}

// The names of the runs that the filters leave.
function chosen() {
  const wanted = words();
  return new Set(shown.runs.filter(run => {
    const text = [run.run, run.method, run.robot, run.dynamics, run.status].join(" ").toLowerCase();
    return !hiddenStatuses.has(run.status) && wanted.every(word => text.includes(word));
  }).map(run => run.run));
}

function summarize() {
  const all = shown.all, share = all.total ? all.made / all.total : 0, count = {};
  shown.runs.forEach(run => { count[run.status] = (count[run.status] || 0) + 1; });
  const told = shown.statuses.filter(name => count[name]).map(name => count[name] + " " + name);
  const parts = [shown.runs.length + (shown.runs.length === 1 ? " run: " : " runs: ") + told.join(", ")];
  parts.push(charts.number(all.made, 0) + " of " + charts.number(all.total, 0) + " steps");
  if (all.rate) parts.push(charts.number(all.rate, 0) + " steps/s");
  if (all.left !== null) parts.push("all done in about " + spoken(all.left) + " (" + clock(about.written + all.left) + ")");
  else if (count.waiting && !count.running && !count.starting) parts.push("nothing runs");
  write(byId("summary"), parts.join("; ") + ".");
  byId("done").value = share;
  document.title = Math.floor(100 * share) + "% Onlooker: live";
  return count;
}

// How old what is shown is. Clocks of two machines may differ: once news came, our own counts.
function age() {
  const trouble = byId("trouble");
  const seconds = Math.max(0, (Date.now() - freshAt) / 1000), when = clock(about.written);
  const command = "onlooker report " + shown.results + " --watch";
  const stale = !about.ended && seconds > 3 * about.beat;
  write(byId("written"), shown.results + ", written " + when +
    (about.ended ? "" : ", " + spoken(seconds) + " ago") + ", by onlooker " + shown.version + ".");
  let told = "";
  if (about.ended === "stopped") told = "Nobody follows the runs any more: it was stopped at " + when + ". ";
  if (stale) told = "The writer of this page has stopped: nothing came for " + spoken(seconds) + ". ";
  if (told) told += "To go on: " + command;
  if (about.ended === "finished") told = "All runs are over. ";
  trouble.hidden = !told;
  document.body.dataset.state = stale ? "stale" : about.ended || "fresh";
  if (trouble.dataset.told !== told + shown.report) {
    trouble.dataset.told = told + shown.report;
    trouble.textContent = told;
    if (about.ended === "finished" && shown.report) {
      const link = document.createElement("a");
      link.href = "index.html";
      link.textContent = "The whole report";
      trouble.appendChild(link);
    }
  }
}

function cellText(run, name) {
  const value = name === "share" ? (run.of ? run.steps / run.of : null) : run[name];
  if (value === null || value === "" || (name === "changed" && !value)) return ["-", undefined];
  if (name === "share") return [Math.floor(100 * value) + "%", value];
  if (name === "left") return [spoken(value), value];
  if (name === "changed") return [spoken(Math.max(0, about.written - value)) + " ago", about.written - value];
  if (name === "status") return [value, shown.statuses.indexOf(value)];
  return typeof value === "number" ? [charts.number(value, 0), value] : [String(value), undefined];
}

function tabulate(visible) {
  const body = byId("followed").tBodies[0], present = new Set(shown.runs.map(run => run.run));
  rows.forEach((row, name) => {
    if (!present.has(name)) { row.remove(); rows.delete(name); }
  });
  shown.runs.forEach(run => {
    let row = rows.get(run.run);
    if (!row) {
      row = body.insertRow();
      row.dataset.run = run.run;
      COLUMNS.forEach(([name, , digits]) => {
        const cell = row.insertCell();
        cell.dataset.field = name;
        if (digits !== undefined) cell.className = "n";
      });
      rows.set(run.run, row);
    }
    row.hidden = !visible.has(run.run);
    row.dataset.status = run.status;
    COLUMNS.forEach(([name], place) => {
      const cell = row.cells[place], [text, value] = cellText(run, name);
      write(cell, text);
      if (value === undefined) delete cell.dataset.value;
      else cell.dataset.value = String(value);
      if (name === "note") cell.classList.toggle("long", text !== "-");
      if (name === "share") cell.style.setProperty("--done", text === "-" ? "0%" : text);
    });
  });
  arrange();
}

function arrange() {
  const body = byId("followed").tBodies[0], now = Array.from(body.rows), place = new Map();
  shown.runs.forEach((run, index) => place.set(run.run, index));
  const wanted = now.slice().sort((a, b) => place.get(a.dataset.run) - place.get(b.dataset.run));
  wanted.sort(charts.order(sortedBy, upwards));
  if (wanted.some((row, index) => row !== now[index])) body.append(...wanted);
}

function sketch(visible) {
  const box = byId("curves").querySelector(".panels"), titles = new Set(shown.panels.map(panel => panel.title));
  byId("curves").hidden = !shown.panels.length;
  figures.forEach((figure, title) => {
    if (!titles.has(title)) { figure.element.remove(); figures.delete(title); }
  });
  shown.panels.forEach((panel, index) => {
    let figure = figures.get(panel.title);
    if (!figure) {
      const element = document.createElement("figure"), svg = document.querySelector("svg").cloneNode();
      svg.setAttribute("class", "chart");
      svg.setAttribute("viewBox", "0 0 360 260");
      svg.setAttribute("role", "img");
      element.appendChild(svg);
      figure = { element, svg, view: null };
      const made = figure;
      charts.hover(element, svg, () => made.view);
      figures.set(panel.title, figure);
    }
    if (box.children[index] !== figure.element) box.insertBefore(figure.element, box.children[index] || null);
    const lines = panel.lines.filter(line => visible.has(line.run));
    figure.element.hidden = !lines.length;
    figure.svg.setAttribute("aria-label", panel.y + " over " + panel.x + ": " + panel.title);
    figure.view = charts.draw(figure.svg, { ...panel, lines }, hiddenLabels);
  });
}

function screen(visible) {
  const box = byId("films").querySelector(".panels"), list = byId("films").querySelector("ul");
  const wanted = shown.films.filter(film => visible.has(film.run));
  byId("films").hidden = !wanted.length;
  const large = new Set(wanted.slice(0, MOST_FILMS).map(film => film.source));
  films.forEach((figure, source) => {
    if (!large.has(source)) { figure.remove(); films.delete(source); }
  });
  wanted.slice(0, MOST_FILMS).forEach((film, index) => {
    let figure = films.get(film.source);
    if (!figure) {
      const moving = document.createElement(film.file.endsWith(".gif") ? "img" : "video");
      if (moving.tagName === "VIDEO") Object.assign(moving, { controls: true, muted: true, preload: "metadata" });
      moving.src = film.source;
      figure = document.createElement("figure");
      figure.append(moving, document.createElement("figcaption"));
      figure.lastChild.textContent = film.run + "/" + film.file;
      films.set(film.source, figure);
    }
    if (box.children[index] !== figure) box.insertBefore(figure, box.children[index] || null);
  });
  list.replaceChildren(...wanted.slice(MOST_FILMS).map(film => {
    const item = document.createElement("li"), link = document.createElement("a");
    link.href = film.source;
    link.textContent = film.run + "/" + film.file;
    item.appendChild(link);
    return item;
  }));
}

function render() {
  const visible = chosen();
  tabulate(visible);
  sketch(visible);
  screen(visible);
  document.body.dataset.visible = String(visible.size);
}

const nameLabels = charts.legend(byId("curves").querySelector(".legend"), hiddenLabels, () => render());
const nameStatuses = charts.legend(byId("statuses"), hiddenStatuses, () => render());

window.onlookerLive = (now, data) => {
  if (about && about.written === now.written) return;
  freshAt = about ? Date.now() : now.written * 1000;
  about = now;
  shown = data;
  const count = summarize();
  nameStatuses(new Map(shown.statuses.filter(name => count[name]).map(name => [name, ["var(--soft)", "none"]])));
  nameLabels(charts.entriesOf(shown.panels));
  render();
  document.body.dataset.ready = String(about.written);
};

COLUMNS.forEach(([, title, digits], place) => {
  const cell = document.createElement("th");
  cell.textContent = title;
  if (digits !== undefined) cell.className = "n";
  cell.addEventListener("click", () => {
    upwards = sortedBy === place ? !upwards : true;
    sortedBy = place;
    arrange();
  });
  byId("followed").tHead.rows[0].appendChild(cell);
});
byId("filter").addEventListener("input", () => { if (shown) render(); });

// A script is loaded anew only under another address.
let loads = 0;
function load() {
  const script = document.createElement("script");
  const done = () => {
    script.remove();
    if (shown) age();
    setTimeout(load, POLL);
  };
  script.addEventListener("load", done);
  script.addEventListener("error", () => {
    if (!shown) write(byId("written"), "live.js is not there, or can't be read. It should lie beside this page.");
    done();
  });
  script.src = "live.js?" + Date.now() + "-" + loads++;
  document.body.appendChild(script);
}
load();
