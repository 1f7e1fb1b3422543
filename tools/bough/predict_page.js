"use strict";
// data: {labels: [name...], pairs, steps: [[layer, stage, cross]...], texts: [{label, scores: [of each label],
//        leftOut: words that were not read, sentences: [[[word, known]...]...],
//        nodes: [[kind, level, sentence, begin, end]...] where begin and end count words,
//        readouts: [{nodes: [node...], rollout: [of each node], steps: [[of each node]...]} of each sentence]}...]}
const data = JSON.parse(document.getElementById("data").textContent);
const view = document.getElementById("view"), side = document.getElementById("side");
const main = document.querySelector("main");
const percent = (share) => `${(100 * share).toFixed(share < 0.0995 || (share >= 0.995 && share < 0.9995) ? 1 : 0)}%`;
const shown = (word) => (word === "" ? "∅" : word);

function make(name, className, text) {
  const element = document.createElement(name);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

function addOption(select, value, text) {
  const option = make("option", "", text);
  option.value = value;
  select.append(option);
}

const stages = 1 + Math.max(0, ...data.steps.map(([, stage]) => stage));
const hasCross = data.steps.some(([, , cross]) => cross);
addOption(view, "rollout", "all layers together (rollout)");
data.steps.forEach(([layer, stage, cross], step) => {
  const part = cross ? ", the other sentence" : hasCross && stages === 2 ? ", its own sentence"
    : stages > 1 ? `, stage ${stage + 1}` : "";
  addOption(view, step, `layer ${layer + 1}${part}`);
});
for (const [value, text] of [["both", "both sentences"], ["0", "the first sentence"], ["1", "the second sentence"]]) {
  addOption(side, value, text);
}
document.getElementById("side-choice").hidden = !data.pairs;

// The weight of each node in what is shown now.
function weightsOf(text) {
  const chosen = side.value === "both" ? text.readouts : [text.readouts[Number(side.value)]];
  const vectors = chosen.map((readout) => (view.value === "rollout" ? readout.rollout : readout.steps[Number(view.value)]));
  return text.nodes.map((_, node) => vectors.reduce((sum, vector) => sum + vector[node], 0) / vectors.length);
}

// Nodes that alone stand for a sentence.
function rootsOf(text) {
  return new Set(text.readouts.filter((readout) => readout.nodes.length === 1).flatMap((readout) => readout.nodes));
}

// Nodes of a sentence: those of each word, and for each other node a bar in one of the rows above.
function arrange(text, sentence) {
  const words = text.sentences[sentence].map(() => []), bars = [];
  text.nodes.forEach(([kind, level, of, begin, end], node) => {
    if (of !== sentence) return;
    if ((kind === "token" || kind === "input") && end === begin + 1) words[begin].push(node);
    else bars.push({ node, kind, level, begin, end: Math.max(end, begin + 1) });
  });
  bars.sort((a, b) => a.level - b.level || a.begin - b.begin);
  let rows = 0, first = 0, level = null, ends = [];
  for (const bar of bars) {
    if (bar.level !== level) [first, level, ends] = [rows, bar.level, []];
    let place = ends.findIndex((end) => end <= bar.begin);
    if (place < 0) place = ends.length;
    ends[place] = bar.end;
    bar.row = first + place;
    rows = Math.max(rows, bar.row + 1);
  }
  return { words, bars, rows };
}

// Rows of as many words as fit, each with the part of the bars that stands above them.
function layOut(card) {
  const { text, places } = card;
  const roots = rootsOf(text);
  card.painted = [];
  places.forEach((place, sentence) => {
    const { words, bars, rows } = arrange(text, sentence);
    const elements = text.sentences[sentence].map(([word, known]) =>
      make("div", known ? "node word" : "node word unknown", shown(word)));
    const measure = make("div", "measure");
    measure.append(...elements.map((element) => { element.style.display = "inline-block"; return element; }));
    place.replaceChildren(measure);
    const width = place.clientWidth;
    const widths = elements.map((element) => Math.min(width, Math.ceil(element.getBoundingClientRect().width)));
    elements.forEach((element) => element.style.removeProperty("display"));
    const lines = [];
    for (let begin = 0, end; begin < elements.length; begin = end) {
      let used = widths[begin];
      for (end = begin + 1; end < elements.length && used + 3 + widths[end] <= width; ++end) used += 3 + widths[end];
      const line = make("div", "row");
      line.style.gridTemplateColumns = widths.slice(begin, end).map((one) => `${one}px`).join(" ");
      for (const bar of bars) {
        const from = Math.max(bar.begin, begin), to = Math.min(bar.end, end);
        if (from >= to) continue;
        const element = make("div", "node span");
        element.classList.toggle("from-before", bar.begin < from);
        element.classList.toggle("goes-on", bar.end > to);
        element.classList.toggle("root", roots.has(bar.node));
        element.style.gridArea = `${rows - bar.row} / ${from - begin + 1} / auto / ${to - begin + 1}`;
        line.append(element);
        const several = bar.end - bar.begin > 1;
        const name = `${roots.has(bar.node) ? "read-out, " : ""}${bar.kind} over ${several ? `words ${bar.begin + 1} to ${bar.end}` : `word ${bar.end}`}`;
        card.painted.push({ element, nodes: [bar.node], name });
      }
      for (let word = begin; word < end; ++word) {
        elements[word].style.gridArea = `${rows + 1} / ${word - begin + 1}`;
        line.append(elements[word]);
        const [name, known] = text.sentences[sentence][word];
        card.painted.push({ element: elements[word], nodes: words[word], name: known ? name : `${name} (unknown)`, word: name });
      }
      lines.push(line);
    }
    place.replaceChildren(...lines);
  });
}

// The strongest colour is that of the largest weight. A root keeps much of itself in a rollout: it does not count.
function paint(card) {
  const weights = weightsOf(card.text);
  const roots = rootsOf(card.text);
  const sum = (nodes) => nodes.reduce((total, node) => total + weights[node], 0);
  const most = Math.max(1e-9, ...card.painted.filter(({ nodes }) => !nodes.some((node) => roots.has(node))).map(({ nodes }) => sum(nodes)));
  for (const { element, nodes, name } of card.painted) {
    const weight = sum(nodes);
    element.style.setProperty("--share", Math.min(1, weight / most).toFixed(3));
    element.title = `${name}: ${percent(weight)}`;
  }
  const words = card.painted.filter(({ word }) => word !== undefined).map(({ nodes, word }) => [sum(nodes), word]);
  const strongest = words.filter(([weight]) => weight > 0).sort((a, b) => b[0] - a[0]).slice(0, 5);
  const onWords = words.reduce((total, [weight]) => total + weight, 0);
  card.strongest.textContent = strongest.length === 0
    ? "Nothing of this goes to words directly."
    : `Of this ${percent(onWords)} goes to words, most to ${strongest.map(([weight, word]) => `“${shown(word)}” ${percent(weight)}`).join(", ")}.`;
}

function addCard(text, index) {
  const card = { text, places: [], painted: null };
  const article = make("article");
  const heading = make("h2", "", text.label + " ");
  const best = Math.max(...text.scores);
  heading.append(make("span", "", `${percent(best)} · text ${index + 1}`));
  const scores = make("div", "scores");
  const order = data.labels.map((_, label) => label).sort((a, b) => text.scores[b] - text.scores[a]).slice(0, 6);
  for (const label of order) {
    const bar = make("i");
    bar.style.setProperty("--score", percent(text.scores[label]));
    scores.append(make("span", "", data.labels[label]), bar, make("b", "", percent(text.scores[label])));
  }
  article.append(heading, scores);
  text.sentences.forEach((sentence, i) => {
    if (data.pairs) article.append(make("h3", "", i === 0 ? "First sentence" : "Second sentence"));
    const place = make("div", "", sentence.map(([word]) => word).join(" "));
    card.places.push(place);
    article.append(place);
  });
  card.strongest = make("p", "note");
  article.append(card.strongest);
  if (text.leftOut > 0) {
    article.append(make("p", "note", `${text.leftOut} word${text.leftOut === 1 ? "" : "s"} at the end ${text.leftOut === 1 ? "was" : "were"} not read: the model reads no more.`));
  }
  main.append(article);
  return [article, card];
}

function describeView() {
  document.getElementById("meaning").textContent = view.value === "rollout"
    ? "How much of the read-out comes from each word and span, if each layer keeps half of a node and takes half by its attention. Underlined words are unknown to the model."
    : "How much the read-out attends to each word and span in this layer, mean over the heads. Underlined words are unknown to the model.";
}

const cards = new Map(data.texts.map(addCard));
// Texts far below are laid out when they come near.
const observer = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    const card = cards.get(target);
    if (!isIntersecting || card.painted !== null) continue;
    layOut(card);
    paint(card);
  }
}, { rootMargin: "1500px" });
[...cards].forEach(([article, card], index) => {
  if (index >= 10) return observer.observe(article);
  layOut(card);
  paint(card);
});

for (const select of [view, side]) {
  select.addEventListener("change", () => {
    describeView();
    for (const card of cards.values()) if (card.painted !== null) paint(card);
  });
}
let width = main.clientWidth;
addEventListener("resize", () => {
  if (main.clientWidth === width) return;
  width = main.clientWidth;
  for (const card of cards.values()) {
    if (card.painted === null) continue;
    layOut(card);
    paint(card);
  }
});
describeView();
