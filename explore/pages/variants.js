"use strict";
// All variants as a table to search and sort, two of them side by side, texts with colours, and copying.
// What is here are functions, which report.js calls: `run`, `byId`, `make` and their kind are its own.

const COLUMNS = [["id", v => v.id], ["time", v => v.time_ns, v => time(v.time_ns)], ["memory", v => v.memory_bytes, v => bytes(v.memory_bytes)],
  ["workspace", v => v.workspace_bytes, v => bytes(v.workspace_bytes)], ["error", v => v.error, v => sci(v.error)],
  ["status", v => v.status === "failed" ? `failed to ${v.stage}` : v.status], ["form", v => v.form], ["parameters", v => v.parameters]];
const PAGE = 20; // rows that are shown at once
let sorted = { column: 1, down: false }, sought = "", rows = PAGE, pinned = null;

// ---- all variants

function found() {
  const words = sought.toLowerCase().split(/\s+/).filter(Boolean);
  const said = v => [v.id, v.family, v.form, v.parameters, v.status, v.stage, v.reason].filter(Boolean).join(" ").toLowerCase();
  const value = COLUMNS[sorted.column][1], sign = sorted.down ? -1 : 1;
  const compared = (a, b) => {
    const [x, y] = [value(a), value(b)], [noX, noY] = [x === null || x === undefined, y === null || y === undefined];
    if (noX || noY) return noX - noY; // those without a value come last
    return sign * (typeof x === "string" ? x.localeCompare(y) : x - y);
  };
  return run.variants.filter(v => words.every(w => said(v).includes(w))).sort(compared);
}

function allVariants() {
  const box = make("input", { type: "search", "aria-label": "search variants", placeholder: "words of a form, v=16, failed, …",
    oninput: e => { sought = e.target.value; rows = PAGE; showVariants(); } });
  at("variants").append(box, make("span", { class: "hint", role: "status", id: "counted" }),
    make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "all variants" }, make("table", { id: "everyone" })), make("button", { class: "link", id: "more", onclick: () => { rows += 4 * PAGE; showVariants(); } }, "show more"));
  showVariants();
}

function showVariants() {
  const all = found(), shown = all.slice(0, rows);
  at("counted").textContent = all.length === 1 ? "1 variant" : `${all.length} variants`;
  at("more").hidden = shown.length === all.length;
  const heads = COLUMNS.map(([name], i) => make("th", { "aria-sort": i !== sorted.column ? "none" : sorted.down ? "descending" : "ascending" },
    make("button", { class: "head", onclick: () => { sorted = { column: i, down: i === sorted.column && !sorted.down }; showVariants(); at("everyone").querySelectorAll(".head")[i].focus(); } },
      name + (i !== sorted.column ? "" : sorted.down ? " ↓" : " ↑"))));
  at("everyone").replaceChildren(make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...shown.map(v => {
    const row = make("tr", { "data-variant": v.id, tabindex: "0", onclick: () => select(v.id), onkeydown: e => { if (e.key === "Enter") select(v.id); } },
      ...COLUMNS.map(([, value, text]) => make("td", {}, (text ? text(v) : value(v)) || "–")));
    row.firstChild.prepend(make("span", { class: "dot", family: v.family }), " ");
    return row;
  })));
}

// ---- texts

const TOKEN = /(\/\/[^\n]*|\/\*[\s\S]*?\*\/|--[^\n]*)|\b(__\w+|const|restrict|if|else|for|while|return|let|where|void|reqd_work_group_size)\b|\b((?:u?(?:int|char|short|long)|float|half|bfloat|double|bool)\d*|__global|__local)\b|\b(\d[\w.]*)\b/g;

function coloured_text(text) { // as spans, none of which holds markup
  const parts = [];
  let last = 0;
  for (const match of text.length < 300000 ? text.matchAll(TOKEN) : []) {
    const kind = ["comment", "word", "type", "number"][match.slice(1).findIndex(part => part !== undefined)];
    parts.push(text.slice(last, match.index), make("span", { class: `t-${kind}` }, match[0]));
    last = match.index + match[0].length;
  }
  return [...parts, text.slice(last)];
}

function listing(text) { // with the numbers of lines beside it, which are not copied
  const count = text.split("\n").length;
  return make("div", {}, copying(text), make("div", { class: "listing" },
    make("pre", { class: "lines", "aria-hidden": "true" }, Array.from({ length: count }, (_, i) => i + 1).join("\n")),
    make("pre", { tabindex: "0" }, ...coloured_text(text))));
}

async function copied(text, button) {
  try { await navigator.clipboard.writeText(text); } catch {
    const area = make("textarea", { "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
    button.focus();
  }
  button.textContent = "copied";
  setTimeout(() => { button.textContent = "copy"; }, 1500);
}

const copying = text => make("button", { class: "copy", onclick: e => copied(text, e.currentTarget) }, "copy");
const quoted = word => /^[\w./+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
const picking = v => `explore pick ${quoted(run.folder)} --id ${quoted(v.id)} --export ${quoted(v.id)}`;
const command = v => make("div", { class: "command" }, make("code", { tabindex: "0" }, picking(v)), copying(picking(v)));

// ---- two variants side by side

function side_by_side(a, b, p, q, derivations) { // variants and their details
  const line = (name, x, y) => make("tr", { class: x === y ? "" : "differ" }, make("th", { scope: "row" }, name), make("td", {}, x), make("td", {}, y));
  const names = [...new Set([...Object.keys(p.parameters), ...Object.keys(q.parameters)])];
  const value = (d, name) => name in d.parameters ? String(d.parameters[name]) : "–";
  const outline = d => derivations[d.derivation].flatMap(step => (step.stages || []).map(s => s.name)).join(", ") || "–";
  const numbers = [["time", v => time(v.time_ns)], ["on the device", v => time(v.device_ns)], ["memory", v => bytes(v.memory_bytes)], ["workspace", v => bytes(v.workspace_bytes)],
    ["traffic", v => bytes(v.traffic_bytes)], ["error", v => sci(v.error)], ["known error", loss], ["prepack", v => time(v.prepack_ns)], ["family", v => v.family], ["form", v => v.form || "plain"]];
  return make("div", {}, make("table", { class: "two" }, make("thead", {}, make("tr", {}, make("td", {}), make("th", { scope: "col" }, a.id), make("th", { scope: "col" }, b.id))),
    make("tbody", {}, ...numbers.map(([name, of]) => line(name, of(a), of(b))), ...names.map(n => line(n, value(p, n), value(q, n))), line("derived by", outline(p), outline(q)))),
    make("h3", {}, "Source, line by line"), difference(p.source || "", q.source || ""));
}

function difference(one, other) { // the lines of both, those that only one has marked with - and +
  const a = one.split("\n"), b = other.split("\n");
  if (a.length * b.length > 4e6) return make("p", { class: "hint" }, "too long to compare here");
  const common = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) for (let j = b.length - 1; j >= 0; j--)
    common[i][j] = a[i] === b[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
  const lines = [];
  for (let i = 0, j = 0; i < a.length || j < b.length;) {
    if (i < a.length && j < b.length && a[i] === b[j]) { lines.push(["  ", a[i++]]); j++; }
    else if (j >= b.length || (i < a.length && common[i + 1][j] >= common[i][j + 1])) lines.push(["- ", a[i++]]);
    else lines.push(["+ ", b[j++]]);
  }
  return make("pre", { tabindex: "0" }, ...lines.map(([mark, text]) => make("span", { class: mark === "- " ? "gone" : mark === "+ " ? "new" : "" }, mark + text + "\n")));
}

// ---- keys

function goAlong(step) { // along the front, from the smallest to the fastest
  const ids = [...run.front].reverse(), at_ = marked ? ids.indexOf(marked.id) : -1;
  const next = ids[Math.min(ids.length - 1, Math.max(0, at_ + step))];
  if (next) select(next).then(() => { at("told").textContent = `${next}: ${time(byId.get(next).time_ns)}, ${bytes(byId.get(next).memory_bytes)}`; });
}

function keys() {
  const plane = at("plane"), steps = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };
  plane.addEventListener("keydown", e => { if (e.target === plane && e.key in steps) { e.preventDefault(); goAlong(steps[e.key]); } });
  at("detail").addEventListener("keydown", e => {
    if (e.target.getAttribute("role") !== "tab" || !(e.key in steps)) return;
    const tabs = [...at("detail").querySelectorAll("[role=tab]")], to = tabs.indexOf(e.target) + steps[e.key];
    e.preventDefault();
    tabs[Math.min(tabs.length - 1, Math.max(0, to))].click();
  });
}
