// Pictures of the tiling: which work-item of a group makes which results, and how many load a cell.
// What is here are functions, which report.js calls: `make` and its kind are its own.

const SVG = "http://www.w3.org/2000/svg";
const NAMES = 12; // pixels of a side from which on a cell has its number in it

function svg(tag, attributes, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

const one = (n, what) => `${n} ${what}${n === 1 ? "" : "s"}`;
const span = ([low, high]) => low === high ? String(low) : `${low} to ${high}`;
const place = (p, d) => p.at[d] === null ? (p.extents[d] === 1 ? String(p.from[d]) : `${p.from[d]} … ${p.from[d] + p.extents[d] - 1}`) : String(p.at[d]);
const region = p => p.shape.map((_, d) => `[${place(p, d)}]`).join("");
const itemColour = value => `hsl(${(value * 137.508) % 360} 62% ${46 + 18 * (value % 3) / 2}%)`;
const countColour = (value, most) => `color-mix(in srgb, var(--accent) ${Math.round(25 + 75 * value / most)}%, var(--card))`;

function picture(p, colour, words, told) { // the cells of p, a square each; `words` are what its number means
  const rows = p.picture, wide = rows[0].length, side = Math.max(4, Math.min(18, Math.floor(430 / Math.max(wide, rows.length)))), most = Math.max(1, ...rows.flat());
  const cells = rows.flatMap((row, r) => row.map((value, c) => value < 0 ? null :
    svg("rect", { x: c * side, y: r * side, width: side - 1, height: side - 1, style: `fill: ${colour(value, most)}` }, svg("title", {}, words(value)))));
  const names = side >= NAMES ? rows.flatMap((row, r) => row.map((value, c) => value < 0 ? null :
    svg("text", { x: c * side + (side - 1) / 2, y: r * side + side * 0.68 }, String(value)))) : [];
  return svg("svg", { class: "tiles-of", width: wide * side, height: rows.length * side, role: "img", "aria-label": told }, ...[...cells, ...names].filter(known));
}

function madeBy(k, m) {
  const items = k.items.reduce((a, b) => a * b) * k.around, block = m.block.length ? `, a block of ${m.block.join(" × ")}` : "";
  const who = k.around > 1 ? `the work-items of ${k.around} neighbouring groups` : one(items, "work-item");
  const told = `${m.buffer}${region(m)}: ${who} ${items === 1 ? "makes" : "make"} ${one(m.cells, "result")}${items === 1 ? "" : `, ${span(m.each)} each`}${block}`;
  return make("figure", {}, make("figcaption", {}, told), picture(m, itemColour, item => `work-item ${item}`, told));
}

function readBy(k, r) {
  const where = r.local ? `local memory ${r.buffer}` : `${r.buffer}${region(r)}`;
  const shared = r.by[1] === 1 ? "each by one work-item" : `each by ${span(r.by)} work-items`;
  const told = `${where}: ${one(r.cells, "element")} read ${shared}`;
  return make("figure", {}, make("figcaption", {}, told), picture(r, countColour, n => `read by ${one(n, "work-item")}`, told));
}

function tilingOf(kernels) {
  return make("div", {}, ...kernels.map(k => make("section", {}, make("h3", {}, `${k.kernel}: group ${k.group.join(", ")} of ${k.groups.join(" × ")}, of ${k.items.join(" × ")} work-items`),
      ...k.made.map(m => madeBy(k, m)), ...k.read.map(r => readBy(k, r)),
      ...(k.left.length ? [make("p", { class: "hint" }, `${k.left.join(", ")}: read too often to be counted here`)] : []))),
    make("p", { class: "hint" }, "One group in the middle of each kernel's launch, read from the kernel's text; where it has one work-item, what its neighbours make too. Colours and numbers of results tell work-items apart; those of reads tell how many work-items read an element. Of more than two dimensions the two that tell most are drawn, at the place that is told."));
}
