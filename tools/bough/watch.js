"use strict";
// Follows the runs while they train. Uses curves, data, draw, drawAll, drawCurves, look, pointOfRun, shapes, unfinished and
// validKey of the report's own script.
const shortestPause = 2000;  // milliseconds; a page that takes long to make is asked for less often
let version = null;

const live = document.createElement("section");
live.id = "live";
live.style.cssText = "max-width: 70rem; margin: 0 auto; padding: 1rem 1rem 0";
live.innerHTML = `<p id="live-state" role="status"></p>
  <div id="live-runs" hidden><div class="scroll" tabindex="0" role="region" aria-label="Runs under way"><table>
  <thead><tr><th>run</th><th>step</th><th>training loss</th><th id="live-metric"></th><th>tokens/s</th></tr></thead><tbody id="live-rows"></tbody></table></div>
  <h2>Training loss of runs under way</h2>
  <div class="plot"><canvas id="live-loss" tabindex="0" role="img" aria-label="training loss of runs under way"></canvas></div>
  <p class="spoken" id="live-loss-spoken" aria-live="polite"></p></div>`;
document.body.prepend(live);

/// What only a new page can show: settings that have a score, and how the runs stand.
const outline = (summary) => JSON.stringify([summary.points, summary.findings, summary.runs.map((run) => [run.name, run.status])]);
let shownOutline = outline(data);

function takeOver(fresh) {
  for (const key of Object.keys(data)) delete data[key];
  Object.assign(data, fresh);
  pointOfRun.clear();
  data.points.forEach((point, index) => point.runs.forEach((run) => pointOfRun.set(run, index)));
}

/// Draws again and leaves hidden what was hidden.
function redraw(id, drawing) {
  const before = Chart.getChart(id);
  const hidden = new Set(before ? before.data.datasets.filter((set, index) => !before.isDatasetVisible(index)).map((set) => set.label) : []);
  before?.destroy();
  drawing();
  const chart = Chart.getChart(id);
  chart?.data.datasets.forEach((set, index) => chart.setDatasetVisibility(index, !hidden.has(set.label)));
  chart?.update("none");
}

const latest = (points, key) => points.findLast((point) => point[key] != null)?.[key];

function showRuns() {
  const running = new Set(data.runs.filter((run) => run.status === "running").map((run) => run.name));
  document.getElementById("live-metric").textContent = `valid ${data.metric.name}`;
  document.getElementById("live-runs").hidden = running.size === 0;
  document.getElementById("live-rows").replaceChildren(...data.runs.filter((run) => running.has(run.name)).map((run) => {
    const {points} = data.curves.find((curve) => curve.run === run.name);
    const row = document.createElement("tr");
    const number = (value) => value == null ? "" : String(Number(value.toPrecision(4)));
    for (const text of [run.name, run.steps, number(latest(points, "loss")), number(latest(points, validKey)),
                        run.tokens_per_second ? Math.round(run.tokens_per_second) : ""]) {
      row.appendChild(document.createElement("td")).textContent = text;
    }
    return row;
  }));
  if (running.size === 0) return;
  // Runs under way, which the report has no colours for, look the same in all plots.
  const colours = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];
  const looks = new Map([...running].map((run, index) =>
    [run, {...look({...unfinished, colour: colours[index % colours.length], shape: index % shapes.length}), radius: 2, borderWidth: 1.5}]));
  const sets = data.curves.filter((curve) => running.has(curve.run)).map((curve) => ({
    label: curve.run, ...looks.get(curve.run), data: curve.points.map((point) => ({x: point.step, y: point.loss, label: curve.run})),
  }));
  redraw("live-loss", () => draw("live-loss", sets, {title: "step"}, {title: "training loss"}));
  for (const {id} of curves) {
    const chart = Chart.getChart(id);
    chart?.data.datasets.forEach((set) => Object.assign(set, looks.get(set.label)));
    chart?.update("none");
  }
}

/// The rest of the page, where the reader is.
async function replaceReport() {
  const answer = await fetch("/");
  const text = await answer.text();
  if (!answer.ok) throw new Error(text);
  const main = new DOMParser().parseFromString(text, "text/html").querySelector("main");
  const place = [window.scrollX, window.scrollY];
  const opened = [...document.querySelectorAll("main details")].map((details) => details.open);
  document.querySelectorAll("canvas").forEach((canvas) => Chart.getChart(canvas)?.destroy());
  document.querySelector("main").replaceChildren(...main.childNodes);
  document.querySelectorAll("main details").forEach((details, index) => { details.open = opened[index] ?? false; });
  drawAll();
  window.scrollTo(...place);
}

async function poll() {
  const begin = performance.now();
  const state = document.getElementById("live-state");
  try {
    const answer = await fetch("/data.json", version ? {headers: {"If-None-Match": version}} : {});
    if (answer.status === 200) {
      takeOver(await answer.json());
      if (outline(data) !== shownOutline) {
        await replaceReport();
        shownOutline = outline(data);
      } else {
        for (const curve of curves) redraw(curve.id, () => drawCurves(curve));
      }
      version = answer.headers.get("ETag");  // not before all of it is shown
      showRuns();
    } else if (answer.status !== 304) {
      throw new Error(await answer.text());
    }
    const count = data.runs.filter((run) => run.status === "running").length;
    state.textContent = count === 0 ? "Live: no run is under way." : `Live: ${count} run${count === 1 ? "" : "s"} under way.`;
  } catch (error) {
    state.textContent = `bough watch gives no report (${error.message}); this page goes on asking.`;
  }
  setTimeout(poll, Math.max(shortestPause, 20 * (performance.now() - begin)));
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", showRuns);
poll();
