"use strict";
// data: {bipartite, chosen, tokens: [node...], relations: [name...], colours: [...], columns: n,
//        sources: [[description, level, begin, end]...], nodes: [description...], in: [[source, relation, ...]...]}
const data = JSON.parse(document.getElementById("data").textContent);
const svg = document.querySelector("#structure svg");
const canvas = document.getElementById("matrix");
const kind = data.bipartite ? "source" : "node";
const colour = (source) => data.colours[data.sources[source][1] % data.colours.length];
const element = (name, id) => svg.querySelector(`[data-${name}="${id}"]`);
let chosen = data.chosen;

// The in-edges of a node as pairs of source and relation.
function* inEdges(node) {
  const flat = data.in[node];
  for (let i = 0; i < flat.length; i += 2) yield [flat[i], flat[i + 1]];
}

// The same curves as the static picture: below the row between nodes of one row, straight down otherwise.
function arc(from, to) {
  const a = from.querySelector("rect").getBBox();
  const b = to.querySelector("rect").getBBox();
  const ax = a.x + a.width / 2, bx = b.x + b.width / 2;
  if (a.y === b.y) {
    const y = a.y + a.height;
    if (ax === bx) return `M${ax},${y} c-9,16 9,16 0,0`;
    return `M${ax},${y} Q${(ax + bx) / 2},${y + Math.min(60, 12 + 0.4 * Math.abs(ax - bx))} ${bx},${y}`;
  }
  const down = a.y < b.y;
  const ay = down ? a.y + a.height : a.y, by = down ? b.y : b.y + b.height, middle = (ay + by) / 2;
  return `M${ax},${ay} C${ax},${middle} ${bx},${middle} ${bx},${by}`;
}

function choose(node) {
  chosen = node;
  for (const old of svg.querySelectorAll(".attended, .chosen")) old.classList.remove("attended", "chosen");
  const target = element("node", node);
  target.classList.add("chosen");
  const arcs = document.getElementById("arcs");
  arcs.replaceChildren();
  const rows = [];
  for (const [source, relation] of inEdges(node)) {
    const box = element(kind, source);
    box.classList.add("attended");
    box.style.setProperty("--level", colour(source));
    const path = document.createElementNS(svg.namespaceURI, "path");
    path.setAttribute("d", arc(box, target));
    path.setAttribute("stroke", colour(source));
    arcs.append(path);
    const row = document.createElement("tr");
    const key = document.createElement("span");
    key.className = "key";
    key.style.background = colour(source);
    const name = document.createElement("td");
    name.append(key, data.sources[source][0]);
    const relationCell = document.createElement("td");
    relationCell.textContent = relation < 0 ? "" : data.relations[relation];
    row.append(name, relationCell);
    rows.push(row);
  }
  document.getElementById("chosen").textContent =
    `${data.nodes[node]} attends to ${rows.length} node${rows.length === 1 ? "" : "s"}`;
  document.getElementById("sources").replaceChildren(...rows);
  drawMatrix();
}

// Row i of the matrix: the tokens that token i sees, directly or through a span, coloured by level, finest on top.
let image = null;
function matrixImage() {
  const count = data.tokens.length;
  const result = new ImageData(Math.max(1, data.columns), Math.max(1, count));
  for (let i = 0; i < count; ++i) {
    const edges = [...inEdges(data.tokens[i])].sort((a, b) => data.sources[b[0]][1] - data.sources[a[0]][1]);
    for (const [source] of edges) {
      const [, , begin, end] = data.sources[source];
      const rgb = parseInt(colour(source).slice(1), 16);
      for (let j = begin; j < end; ++j) {
        result.data.set([rgb >> 16, (rgb >> 8) & 255, rgb & 255, 255], 4 * (i * result.width + j - data.firstColumn));
      }
    }
  }
  return result;
}

function drawMatrix() {
  image ??= matrixImage();
  canvas.width = image.width;
  canvas.height = image.height;
  const context = canvas.getContext("2d");
  context.putImageData(image, 0, 0);
  const row = data.tokens.indexOf(chosen);
  if (row >= 0) {
    context.globalAlpha = 0.35;
    context.fillStyle = getComputedStyle(document.body).color;
    context.fillRect(0, row, image.width, 1);
    context.globalAlpha = 1;
  }
}

function nodeOf(event) {
  const box = event.target.closest("[data-node]");
  return box === null ? null : Number(box.dataset.node);
}

// Scrolls the picture, not the page, so that the chosen node is in view; one that is already is left where it is.
function bringIntoView() {
  const view = svg.parentElement.getBoundingClientRect(), box = element("node", chosen).getBoundingClientRect();
  if (box.left >= view.left && box.right <= view.right) return;
  svg.parentElement.scrollLeft += (box.left + box.right) / 2 - (view.left + view.right) / 2;
}

for (const type of ["pointerover", "pointerdown", "focusin"]) {
  svg.addEventListener(type, (event) => {
    const node = nodeOf(event);
    if (node !== null) choose(node);
  });
}

svg.addEventListener("keydown", (event) => {
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  const next = step === undefined ? null : element("node", chosen + step);
  if (next === null) return;
  event.preventDefault();
  next.focus();
});

canvas.addEventListener("pointermove", (event) => {
  const row = Math.floor((event.offsetY / canvas.clientHeight) * data.tokens.length);
  if (row < 0 || row >= data.tokens.length || data.tokens[row] === chosen) return;
  choose(data.tokens[row]);
  bringIntoView();
});

const levels = [...new Set(data.sources.map((source) => source[1]))].sort((a, b) => a - b);
document.getElementById("legend").replaceChildren(...levels.flatMap((level) => {
  const key = document.createElement("span");
  key.className = "key";
  key.style.background = data.colours[level % data.colours.length];
  return [key, `level ${level}  `];
}));

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawMatrix);
if (data.nodes.length > 0) {
  choose(chosen);
  bringIntoView();
}
