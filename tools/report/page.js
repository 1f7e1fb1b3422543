"use strict";
// summary.json: points (settings over their seeds), plots (lines of points by number), runs and curves by name.
const data = JSON.parse(document.getElementById("data").textContent);
const shapes = ["circle", "crossRot", "triangle", "rect", "rectRot", "star", "cross", "rectRounded"];
let shown = 0;  // the point whose details are open
const validKey = `valid_${data.metric.name}`;
const curves = [  // what the plots of training show of each logged step
  {id: "curves", key: validKey, title: `${data.metric.label}, validation`},
  {id: "losses", key: "loss", title: "training loss"},
];
const pointOfRun = new Map(data.points.flatMap((point, index) => point.runs.map((run) => [run, index])));

const pageColour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/// A colour so far on its way to that of the text, which stands out on light and dark pages alike.
function shaded(colour, share) {
  const parts = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  const text = parts(pageColour("--text"));
  return `rgb(${parts(colour).map((part, at) => Math.round(part + share * (text[at] - part))).join(", ")})`;
}

/// Colour, dash, shape and shade together tell the lines apart; the report has chosen them, the same for every plot.
function look(style) {
  const colour = style.shade > 0 ? shaded(style.colour, 0.3 * style.shade) : style.colour;
  return {borderColor: colour, backgroundColor: colour, borderDash: style.dash, pointStyle: shapes[style.shape],
          radius: 6, hoverRadius: 9, borderWidth: 2};
}

const errorBars = {
  id: "errorBars",
  afterDatasetsDraw(chart) {
    const context = chart.ctx;
    chart.data.datasets.forEach((dataset, index) => {
      if (!chart.isDatasetVisible(index)) return;
      chart.getDatasetMeta(index).data.forEach((element, at) => {
        const deviation = dataset.data[at].deviation;
        if (!deviation) return;
        const low = chart.scales.y.getPixelForValue(dataset.data[at].y - deviation);
        const high = chart.scales.y.getPixelForValue(dataset.data[at].y + deviation);
        context.save();
        context.strokeStyle = dataset.borderColor;
        context.lineWidth = 2;
        context.beginPath();
        for (const [x1, y1, x2, y2] of [[0, low, 0, high], [-5, low, 5, low], [-5, high, 5, high]]) {
          context.moveTo(element.x + x1, y1);
          context.lineTo(element.x + x2, y2);
        }
        context.stroke();
        context.restore();
      });
    });
  },
};

/// Names stand on the lines of cited figures, the lowest first; one that would cover the name below it moves up.
const lineNames = {
  id: "lineNames",
  afterDatasetsDraw(chart) {
    const lines = chart.data.datasets.filter((set, index) => set.nameOnLine && chart.isDatasetVisible(index))
      .map((set) => [chart.scales.y.getPixelForValue(set.data[0].y), set.nameOnLine]);
    const context = chart.ctx;
    let free = Infinity;
    context.save();
    context.fillStyle = pageColour("--text");
    context.strokeStyle = pageColour("--back");
    context.lineWidth = 4;
    context.lineJoin = "round";
    context.font = "12px system-ui, sans-serif";
    for (const [height, name] of lines.sort((a, b) => b[0] - a[0])) {
      free = Math.min(free, height - 4);
      context.strokeText(name, chart.chartArea.left + 6, free);  // paper under the name where a line passes
      context.fillText(name, chart.chartArea.left + 6, free);
      free -= 14;
    }
    context.restore();
  },
};

function describe(dataset, value) {
  if (dataset.isBound) return `${value.label}: ${Number(value.y.toPrecision(5))}`;
  const spread = value.deviation ? ` ± ${value.deviation.toPrecision(2)}` : "";
  const best = value.best ? ", the best" : "";
  return `${value.label ?? dataset.label}: ${Number(value.y.toPrecision(5))}${spread} at ${Number(value.x.toPrecision(4))}${best}`;
}

/// Arrow keys walk through the points and say what they are; Enter shows all of one.
function walkWithKeys(canvas, chart) {
  let at = -1;
  canvas.onkeydown = (event) => {  // not one listener more for each time that the charts are drawn
    const all = chart.data.datasets.flatMap((dataset, datasetIndex) =>
      chart.isDatasetVisible(datasetIndex) && !dataset.isBound ? dataset.data.map((value, index) => ({datasetIndex, index})) : []);
    if (event.key === "Enter" && all[at]) showPoint(chart.data.datasets[all[at].datasetIndex].data[all[at].index].point);
    const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
    if (!step) return;
    event.preventDefault();
    if (all.length === 0) return;
    at = (at + step + all.length) % all.length;
    const {datasetIndex, index} = all[at];
    chart.setActiveElements([all[at]]);
    chart.tooltip.setActiveElements([all[at]], {x: 0, y: 0});
    chart.update("none");
    const dataset = chart.data.datasets[datasetIndex];
    document.getElementById(`${canvas.id}-spoken`).textContent = describe(dataset, dataset.data[index]);
  };
}

/// x: {title, logarithmic, range, ticks}; y: {title}.
function draw(id, datasets, x, y) {
  const canvas = document.getElementById(id);
  const text = pageColour("--text"), line = pageColour("--line");
  // Error bars are drawn by us, so the axis has to be told of their ends.
  const ends = datasets.flatMap((set) => set.data.flatMap((value) => value.deviation ? [value.y - value.deviation, value.y + value.deviation] : []));
  const reach = ends.length > 0 ? {suggestedMin: Math.min(...ends), suggestedMax: Math.max(...ends)} : {};
  const axis = (options) => ({
    type: options.logarithmic ? "logarithmic" : "linear",
    title: {display: true, text: options.title, color: text},
    ticks: {color: text, callback: shortNumber},
    grid: {color: line},
    ...(options.range ? {min: options.range[0], max: options.range[1]} : {}),
    ...(options.ticks ? {afterBuildTicks: (scale) => { scale.ticks = options.ticks.map((value) => ({value})); }} : {}),
  });
  const chart = new Chart(canvas, {
    type: "line",
    data: {datasets},
    plugins: [errorBars, lineNames],
    options: {
      animation: false,
      responsive: true,
      maintainAspectRatio: false,
      interaction: {mode: "nearest", intersect: false},
      scales: {x: axis(x), y: {...axis(y), ...reach}},
      onClick: (event, elements) => {
        const [near] = elements;
        if (near) showPoint(datasets[near.datasetIndex].data[near.index].point);
      },
      onHover: (event, elements) => { canvas.style.cursor = elements.length > 0 ? "pointer" : "default"; },
      plugins: {
        legend: {onClick: toggleGroup, labels: {color: text, usePointStyle: true, filter: firstOfItsGroup, generateLabels: groupLabels}},
        tooltip: {callbacks: {title: () => "", label: (item) => describe(item.dataset, item.raw)}},
      },
    },
  });
  walkWithKeys(canvas, chart);
}

/// Lines of one group (curves of one setting) share an entry of the legend and come and go together.
function groupLabels(chart) {
  return Chart.defaults.plugins.legend.labels.generateLabels(chart)
    .map((label) => ({...label, text: chart.data.datasets[label.datasetIndex].group ?? label.text}));
}
function firstOfItsGroup(label, data) {
  const group = data.datasets[label.datasetIndex].group;
  return !group || data.datasets.findIndex((set) => set.group === group) === label.datasetIndex;
}
function toggleGroup(event, label, legend) {
  const sets = legend.chart.data.datasets, show = !legend.chart.isDatasetVisible(label.datasetIndex);
  sets.forEach((set, index) => {
    const together = index === label.datasetIndex || (set.group && set.group === sets[label.datasetIndex].group);
    if (together) legend.chart.setDatasetVisibility(index, show);
  });
  legend.chart.update();
}

/// Steps of 0.05 add up to 0.9500000000000002; small rates need their powers of ten.
function shortNumber(value) {
  return value !== 0 && Math.abs(value) < 1e-3 ? value.toExponential().replace(/(\.\d\d)\d*/, "$1") : String(Number(value.toPrecision(4)));
}

function drawPlot(plot) {
  const sets = plot.series.map((line) => ({
    label: line.name,
    ...look(line.style),
    data: line.points.map((value) => ({...value, label: data.points[value.point].name})),
  }));
  const bounds = plot.bounds ? data.bounds.map((bound) => ({
    label: bound.name, isBound: true, borderColor: "#888888", backgroundColor: "#888888", borderDash: [3, 3],
    pointStyle: "line", borderWidth: 1.5, radius: 0, data: plot.x_range.map((x) => ({x, y: bound.value, label: bound.name})),
  })) : [];
  const cited = plot.references ? data.references.map((reference) => ({
    label: `${reference.name} (cited)`, nameOnLine: reference.name_on_line, isBound: true, borderColor: pageColour("--soft"),
    backgroundColor: pageColour("--soft"), borderDash: [9, 3, 2, 3], pointStyle: "line", borderWidth: 1.5, radius: 0,
    data: plot.x_range.map((x) => ({x, y: reference.value, label: `${reference.name}, cited${reference.source && `, ${reference.source}`}`})),
  })) : [];
  draw(plot.name, [...sets, ...bounds, ...cited],
       {title: plot.x_title, logarithmic: plot.logarithmic, range: plot.x_range, ticks: plot.x_ticks}, {title: plot.y_title});
}

const unfinished = {colour: "#888888", dash: [2, 2], shape: 6, shade: 0};  // runs that failed or go on are no point

/// A ring in the colour of the text around the point of the best step, or the one before it where that was not logged.
function markBest(set, best, radius) {
  const at = best == null ? -1 : set.data.findLastIndex((value) => value.x <= best);
  const choose = (marked, others) => set.data.map((value, index) => index === at ? marked : others);
  return {...set, radius: choose(Math.max(5, radius), radius), pointBorderWidth: choose(2, 1),
          pointBorderColor: choose(pageColour("--text"), set.borderColor),
          data: set.data.map((value, index) => ({...value, best: index === at}))};
}

/// Of all runs, or of those of one point, in the order of the lines of other plots.
function drawCurves({id, key, title}, only) {
  const sets = data.curves.flatMap((curve) => {
    const index = pointOfRun.get(curve.run), point = data.points[index];
    const values = curve.points.filter((value) => value[key] != null);
    if (values.length === 0 || (only !== undefined && index !== only)) return [];
    return [{
      label: curve.run,
      group: only === undefined ? point?.name : undefined,
      order: point ? data.kinds.indexOf(point.kind) * data.points.length + index : Infinity,
      ...look(point?.style ?? unfinished),
      borderWidth: 1.5,
      best: curve.best_step,
      data: values.map((value) => ({x: value.step, y: value[key], label: curve.run, point: index})),
    }];
  });
  sets.sort((a, b) => a.order - b.order).forEach((set) => delete set.order);  // Chart.js would draw by it
  if (only !== undefined) {  // seeds, which share a look elsewhere
    const {style} = data.points[only];
    sets.forEach((set, index) => Object.assign(set, look({...style, shade: index % 3, shape: (style.shape + 3 * index) % 8})));
  }
  const most = Math.max(0, ...sets.map((set) => set.data.length));
  const radius = most > 40 ? 0 : only === undefined ? 2 : 4;  // points that touch each other hide the line
  draw(only === undefined ? id : `point-${id}`, sets.map((set) => markBest(set, set.best, radius)), {title: "step"}, {title});
}

const percent = (share) => share == null ? "" : `${(100 * share).toFixed(1)}%`;
const short = (value) => value == null ? "" : String(Number(value.toPrecision(5)));

/// Everything that is known of one setting: its runs, their curves, its configuration.
function showPoint(index) {
  const point = data.points[index];
  if (!point) return;
  const cells = (tag, values) => {
    const row = document.createElement("tr");
    for (const value of values) row.appendChild(document.createElement(tag)).textContent = value;
    return row;
  };
  const name = data.metric.name;
  const byId = (id) => document.getElementById(id);
  byId("point-name").textContent = point.name;
  byId("point-facts").textContent = `Degree ${short(point.degree)}, ${point.num_edges} edges and ${point.num_nodes} nodes for ` +
    `${point.length} tokens, ${point.parameters} parameters.` + (point.times_remark ? ` Times cannot be compared: ${point.times_remark}.` : "");
  const further = data.further_metrics.map((metric) => metric.name);
  byId("point-head").replaceChildren(cells("th", ["run", `test ${name}`, ...further.map((other) => `test ${other}`), `valid ${name}`, "at step", "after the last", "steps", "seconds", "tokens/s", "memory MB", "waited", "others"]));
  byId("point-runs").replaceChildren(...data.runs.filter((run) => point.runs.includes(run.name)).map((run) => cells("td", [
    run.name, short(run.metrics[name]), ...further.map((other) => short(run.metrics[other])), short(run.metrics[validKey]), run.best_step ?? "", short(run.last_metrics[name]), run.steps,
    ...(run.times === "left out" ? ["–", "–"] : [short(run.train_seconds), String(Math.round(run.tokens_per_second))]
      .map((time) => run.times === "doubtful" ? `${time} *` : time)),
    short(run.peak_memory_bytes / 1e6), percent(run.waited_share), percent(run.other_share)])));
  // The tables of the page, again: what the report has made once is not made a second time here.
  const classes = document.querySelector(`#classes-${index} .class-tables`);
  byId("point-classes").replaceChildren(...(classes ? [classes.cloneNode(true)] : []));
  byId("point-config").textContent = JSON.stringify(point.config, null, 2);
  const dialog = byId("point");
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
  shown = index;
  for (const curve of curves) {
    Chart.getChart(`point-${curve.id}`)?.destroy();
    drawCurves(curve, index);
  }
}

function drawAll() {
  for (const canvas of document.querySelectorAll("canvas")) Chart.getChart(canvas)?.destroy();
  for (const plot of data.plots) drawPlot(plot);
  for (const curve of curves) drawCurves(curve);
  if (document.getElementById("point").open) showPoint(shown);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-point]");
  if (button) showPoint(Number(button.dataset.point));
});
drawAll();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
