"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
// Colour, dash and shape together tell the lines apart; the same palette as in quality.svg.
const styles = [
  ["#0072B2", [], "circle"], ["#D55E00", [7, 4], "crossRot"], ["#009E73", [2, 3], "triangle"],
  ["#CC79A7", [9, 3, 2, 3], "rect"], ["#E69F00", [12, 4], "rectRot"], ["#56B4E9", [4, 2, 1, 2], "star"],
  ["#7A7A7A", [1, 2], "cross"], ["#6A3D9A", [10, 2, 2, 2], "rectRounded"],
];
const patterns = [...new Set(data.points.map((point) => point.pattern))];
const lengths = [...new Set(data.points.map((point) => point.length))];
const charts = [];

/// From the ninth line on a colour comes again with another dash and shape.
function look(index) {
  const [colour] = styles[index % styles.length];
  const [, dash, shape] = styles[(index + 3 * Math.floor(index / styles.length)) % styles.length];
  return {borderColor: colour, backgroundColor: colour, borderDash: dash, pointStyle: shape, radius: 6, hoverRadius: 9, borderWidth: 2};
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

function describe(dataset, value) {
  const name = value.label ?? dataset.label;
  const spread = value.deviation ? ` ± ${value.deviation.toPrecision(2)}` : "";
  return `${name}: ${Number(value.y.toPrecision(5))}${spread} at ${Number(value.x.toPrecision(4))}`;
}

/// Arrow keys walk through the points and say what they are.
function walkWithKeys(canvas, chart) {
  let at = -1;
  canvas.onkeydown = (event) => {  // not one listener more for each time that the charts are drawn
    const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
    if (!step) return;
    event.preventDefault();
    const all = chart.data.datasets.flatMap((dataset, datasetIndex) =>
      chart.isDatasetVisible(datasetIndex) && !dataset.isBound ? dataset.data.map((value, index) => ({datasetIndex, index})) : []);
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

function draw(id, datasets, x, y) {
  const canvas = document.getElementById(id);
  const page = getComputedStyle(document.documentElement);
  const text = page.getPropertyValue("--text"), line = page.getPropertyValue("--line");
  // Error bars are drawn by us, so the axis has to be told of their ends.
  const ends = datasets.flatMap((set) => set.data.flatMap((value) => value.deviation ? [value.y - value.deviation, value.y + value.deviation] : []));
  const reach = ends.length > 0 ? {suggestedMin: Math.min(...ends), suggestedMax: Math.max(...ends)} : {};
  const axis = (options) => ({
    type: options.logarithmic ? "logarithmic" : "linear",
    title: {display: true, text: options.title, color: text},
    ticks: {color: text, callback: shortNumber},
    afterBuildTicks: options.logarithmic ? powersOfTwo : undefined,
    grid: {color: line},
  });
  const chart = new Chart(canvas, {
    type: "line",
    data: {datasets},
    plugins: [errorBars],
    options: {
      animation: false,
      responsive: true,
      maintainAspectRatio: false,
      interaction: {mode: "nearest", intersect: false},
      scales: {x: axis(x), y: {...axis(y), ...reach}},
      plugins: {
        legend: {onClick: togglePattern, labels: {color: text, usePointStyle: true, filter: firstOfItsPattern, generateLabels: patternLabels}},
        tooltip: {callbacks: {title: () => "", label: (item) => describe(item.dataset, item.raw)}},
      },
    },
  });
  walkWithKeys(canvas, chart);
  charts.push(chart);
}

/// Lines of one pattern share an entry of the legend and come and go together.
function patternLabels(chart) {
  return Chart.defaults.plugins.legend.labels.generateLabels(chart)
    .map((label) => ({...label, text: chart.data.datasets[label.datasetIndex].pattern ?? label.text}));
}
function firstOfItsPattern(label, data) {
  const pattern = data.datasets[label.datasetIndex].pattern;
  return !pattern || data.datasets.findIndex((set) => set.pattern === pattern) === label.datasetIndex;
}
function togglePattern(event, label, legend) {
  const sets = legend.chart.data.datasets, show = !legend.chart.isDatasetVisible(label.datasetIndex);
  sets.forEach((set, index) => {
    const together = index === label.datasetIndex || (set.pattern && set.pattern === sets[label.datasetIndex].pattern);
    if (together) legend.chart.setDatasetVisibility(index, show);
  });
  legend.chart.update();
}

/// Powers of two, or steps between them where there are too few.
function powersOfTwo(axis) {
  for (const parts of [1, 2, 4, 8]) {
    axis.ticks = [];
    for (let at = Math.ceil(parts * Math.log2(axis.min)); at <= parts * Math.log2(axis.max); ++at) {
      const value = 2 ** (at / parts);
      axis.ticks.push({value: parts === 1 ? value : Number(value.toPrecision(3))});
    }
    if (axis.ticks.length > 2) return;
  }
}
/// Steps of 0.05 add up to 0.9500000000000002.
function shortNumber(value) { return String(Number(value.toPrecision(6))); }

function byDegree(value) {
  return patterns.map((pattern, index) => ({
    label: pattern,
    ...look(index),
    data: data.points.filter((point) => point.pattern === pattern)
      .map((point) => ({x: point.degree, label: point.label, ...value(point)})),
  }));
}

function bounds(values) {
  if (values.length === 0) return [];
  const low = Math.min(...values), high = Math.max(...values);
  return data.bounds.map((bound) => ({
    label: bound.name, isBound: true, borderColor: "#888888", backgroundColor: "#888888", borderDash: [3, 3],
    borderWidth: 1.5, radius: 0, data: [{x: low, y: bound.value, label: bound.name}, {x: high, y: bound.value, label: bound.name}],
  }));
}

function curveSets() {
  const key = `valid_${data.metric.name}`;
  const shown = data.curves.map((curve) => ({...curve, points: curve.points.filter((point) => point[key] != null)}))
    .filter((curve) => curve.points.length > 0);
  const patternOf = new Map(data.points.flatMap((point) => point.runs.map((run) => [run, point.pattern])));
  return shown.map((curve) => ({
    label: curve.run,
    pattern: patternOf.get(curve.run),
    ...look(Math.max(0, patterns.indexOf(patternOf.get(curve.run)))),
    radius: 2,
    borderWidth: 1.2,
    data: curve.points.map((point) => ({x: point.step, y: point[key], label: curve.run})),
  }));
}

function byLength(value) {
  const labels = [...new Set(data.points.map((point) => point.label))];
  return labels.map((label, index) => ({
    label,
    ...look(index),
    data: data.points.filter((point) => point.label === label).map((point) => ({x: point.length, label, ...value(point)})),
  }));
}

function drawAll() {
  for (const chart of charts.splice(0)) chart.destroy();
  const degree = {title: "attention degree", logarithmic: true}, length = {title: "context length", logarithmic: true};
  const quality = (point) => ({y: point.metric.mean, deviation: point.metric.deviation});
  const speed = (point) => ({y: point.tokens_per_second.mean, deviation: point.tokens_per_second.deviation});
  const memory = (point) => ({y: point.memory_bytes.mean / 1e6, deviation: point.memory_bytes.deviation / 1e6});
  draw("quality", [...byDegree(quality), ...bounds(data.points.map((point) => point.degree))], degree, {title: data.metric.label});
  draw("curves", curveSets(), {title: "step"}, {title: `${data.metric.label}, validation`});
  draw("speed", byDegree(speed), degree, {title: "tokens a second"});
  draw("memory", byDegree(memory), degree, {title: "peak memory, MB"});
  if (lengths.length < 2) return;
  document.getElementById("length-part").hidden = false;
  draw("quality-by-length", [...byLength(quality), ...bounds(lengths)], length, {title: data.metric.label});
  draw("speed-by-length", byLength(speed), length, {title: "tokens a second"});
  draw("memory-by-length", byLength(memory), length, {title: "peak memory, MB"});
}

drawAll();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
