// Draws a run. Text of the program enters the page only through textContent, or plain() for plots.

async function unpacked(id) {
  const packed = Uint8Array.from(atob(document.getElementById(id).textContent.trim()), c => c.charCodeAt(0));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
}

const library = document.createElement("script");
library.textContent = await unpacked("plotly");
document.head.append(library);
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const at = id => document.getElementById(id);
const plain = text => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
const known = value => value !== null && value !== undefined;
const three = x => x >= 100 ? x.toFixed(0) : x >= 10 ? x.toFixed(1) : x.toFixed(2);

function make(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "family") node.style.background = tint(value);
    else if (name === "width") node.style.width = value;
    else node.setAttribute(name, value);
  }
  node.append(...children.filter(known));
  return node;
}

function scaled(value, units) {
  if (!known(value)) return "–";
  for (const [size, unit] of units) if (value >= size) return `${three(value / size)} ${unit}`;
  return `${value.toFixed(0)} ${units.base}`;
}
const time = ns => scaled(ns, Object.assign([[1e9, "s"], [1e6, "ms"], [1e3, "µs"]], { base: "ns" }));
const bytes = n => scaled(n, Object.assign([[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]], { base: "B" }));
const percent = x => known(x) ? `${(100 * x).toFixed(x < 0.1 ? 1 : 0)} %` : "–";
const spread = v => percent(v.spread) + (v.noisy ? " noisy" : "");
const times = x => known(x) ? `${three(x)}×` : "–";
const rate = v => known(operations) && v.time_ns ? operations / v.time_ns : null;
const rateText = v => known(rate(v)) ? three(rate(v)) : "–";
const sci = x => known(x) ? x.toExponential(1) : "–";
const loss = v => v.known_error ? sci(v.known_error) : "–"; // of laws and sums, beside the rounding of floats
const roof = v => known(run.bounds.roofline_ns) && v.time_ns ? run.bounds.roofline_ns / v.time_ns : null;
const over = (v, least) => known(least) && known(v.traffic_bytes) ? v.traffic_bytes / least : null;
const surplus = v => over(v, v.least_traffic);
const beside = (v, bytes_) => known(over(v, bytes_)) ? `${times(over(v, bytes_))} of ${bytes(bytes_)}` : "–";

let run, byId, onFront, ran, predicted, compiled, groups, operations, rateUnit;
let details = unpacked("details").then(indexed); // of the variants, by id; null where they are not known yet

function indexed(text) {
  const found = JSON.parse(text), written = unshared(found.texts);
  const stage = s => ({ ...s, before: written(s.before), after: written(s.after) });
  const step = s => ({ law: written(s.law), place: written(s.place), term: written(s.term), stages: (s.stages || []).map(stage) });
  const derivations = found.derivations.map(steps => steps.map(step));
  const sourced = v => ({ ...v, get source() { return written(v.source); } }); // made when it is looked at
  return { derivations, variants: new Map(found.variants.map(v => [v.id, sourced(v)])) };
}

function unshared({ new: fresh, texts }) { // texts by their numbers, from the lines that they share
  const lines = [], ends = [0];
  let next = 0;
  for (const runs of texts) {
    for (let i = 0; i < runs.length; i += 3) { // new lines, repeated lines, how far back these begin
      for (let n = runs[i]; n; n--) lines.push(fresh[next++]);
      for (let n = runs[i + 1], from = lines.length - runs[i + 2]; n; n--) lines.push(lines[from++]);
    }
    ends.push(lines.length);
  }
  return number => number === null ? null : lines.slice(ends[number], ends[number + 1]).join("\n");
}

function take(data) { // what is drawn
  run = data;
  byId = new Map(run.variants.map(v => [v.id, v]));
  onFront = new Set(run.front);
  ran = run.variants.filter(v => known(v.time_ns));
  predicted = ran.length > 0 && ran.every(v => v.status === "predicted");
  compiled = ran.filter(v => known(v.spills)).length;
  groups = Object.keys(run.families).map(f => [f, ran.filter(v => v.family === f)]).filter(g => g[1].length);
  [operations, rateUnit] = run.bounds.flops || !run.bounds.whole_operations ? [run.bounds.flops, "GFLOP/s"] : [run.bounds.whole_operations, "int GOP/s"];
}
take(JSON.parse(await unpacked("run")));

// ---- plots -------------------------------------------------------------------------------------

const SERIES = [[1], [1, 3], [1, 2, 5], [1, 1.5, 2, 3, 5, 7], [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9]];

function ticks([low, high]) {
  let chosen = [];
  for (const series of SERIES) {
    chosen = [];
    for (let k = Math.floor(low) - 1; k <= high + 1; k++) chosen.push(...series.map(m => m * 10 ** k));
    chosen = chosen.filter(t => Math.log10(t) >= low - 1e-9 && Math.log10(t) <= high + 1e-9);
    if (chosen.length >= 4) break;
  }
  return { tickvals: chosen, ticktext: chosen.map(t => t >= 1000 ? t.toLocaleString("en") : String(+t.toPrecision(3))) };
}

function logRange(values, margin) {
  const logs = values.filter(v => v > 0).map(Math.log10);
  const low = Math.min(...logs), high = Math.max(...logs);
  const room = margin * Math.max(high - low, 0.12);
  return [low - room, high + room];
}

function logAxis(title, values, margin = 0.07) {
  const range = logRange(values, margin);
  return { type: "log", title: { text: title, standoff: 8 }, range, ...ticks(range), gridcolor: css("--grid"),
    linecolor: css("--line"), zeroline: false, ticks: "outside", ticklen: 4, tickcolor: css("--line"), automargin: true };
}

function layout(xaxis, yaxis, more) {
  return { xaxis, yaxis, uirevision: "the same run", paper_bgcolor: "transparent", plot_bgcolor: "transparent", hovermode: "closest",
    font: { family: "system-ui, 'Liberation Sans', sans-serif", size: 12, color: css("--soft") },
    margin: { l: 58, r: 14, t: 8, b: 44 },
    legend: { orientation: "h", x: 0, yref: "container", y: 0, yanchor: "bottom", font: { color: css("--ink") } },
    modebar: { bgcolor: "transparent", color: css("--soft"), activecolor: css("--accent") },
    hoverlabel: { bgcolor: css("--card"), bordercolor: css("--line"), font: { color: css("--ink") }, align: "left" },
    ...more };
}

function draw(id, traces, shape) {
  const plot = at(id), before = Boolean(plot.data);
  if (!before) plot.replaceChildren();
  Plotly.react(id, traces, shape, { responsive: true, displaylogo: false, showSendToCloud: false, plotlyServerURL: "",
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"] });
  if (before) return;
  plot.on("plotly_click", event => { const id = event.points[0].customdata; if (byId.has(id)) select(id); });
  plot.on("plotly_relayout", change => {
    for (const axis of ["xaxis", "yaxis"]) {
      const moved = Object.keys(change).some(key => key.startsWith(axis + ".range") || key === axis + ".autorange");
      if (!moved || plot.layout[axis].type !== "log") continue;
      const wanted = ticks(plot.layout[axis].range);
      Plotly.relayout(plot, { [axis + ".tickvals"]: wanted.tickvals, [axis + ".ticktext"]: wanted.ticktext });
    }
  });
}

const hover = v => `<b>${plain(v.id)}</b><br>${time(v.time_ns)} · ${bytes(v.memory_bytes)}` +
  (known(rate(v)) ? ` · ${rateText(v)} ${rateUnit}` : "") + (known(v.error) ? ` · error ${sci(v.error)}` : "") + (v.stopped_early ? "<br>stopped early" : "") +
  `<br>${plain(v.parameters)}` + (v.form ? `<br>${plain(v.form)}` : "");

function dots(family, variants, x, y, size, opacity) {
  const { marker } = run.families[family];
  return { type: "scatter", mode: "markers", name: plain(family), x: variants.map(x), y: variants.map(y),
    customdata: variants.map(v => v.id), text: variants.map(hover), hovertemplate: "%{text}<extra></extra>",
    marker: { color: tint(family), size, opacity: Number(opacity), symbol: variants.map(v => v.stopped_early ? marker + "-open" : marker) } };
}

const STANDS_OUT = 3; // the least contrast of a point with what is behind it, as WCAG 1.4.11 counts it
let memoryUnit = [2 ** 20, "MiB"]; // of the axis: the one in which cards and tables tell the most
const channels = colour => [1, 3, 5].map(i => parseInt(colour.slice(i, i + 2), 16));
const hex = parts => "#" + parts.map(x => Math.round(x).toString(16).padStart(2, "0")).join("");
const linear = x => x / 255 <= 0.04045 ? x / 255 / 12.92 : ((x / 255 + 0.055) / 1.055) ** 2.4;
const luminance = parts => parts.reduce((sum, x, i) => sum + [0.2126, 0.7152, 0.0722][i] * linear(x), 0.05); // with glare

function tint(family) { // its colour, mixed with that of text until it stands out from a card
  const [own, ink, card] = [run.families[family].colour, css("--ink"), css("--card")].map(channels);
  const mixed = share => own.map((x, i) => x + share * (ink[i] - x));
  const contrast = parts => { const [a, b] = [luminance(parts), luminance(card)]; return Math.max(a, b) / Math.min(a, b); };
  return hex(mixed([0, 0.1, 0.2, 0.3, 0.4, 0.5].find(share => contrast(mixed(share)) >= STANDS_OUT) ?? 0.6));
}

const held = v => v.memory_bytes / memoryUnit[0], ms = v => v.time_ns / 1e6;

const digits = v => v.error > 0 ? Math.log10(v.error) : -99; // an exact result has no logarithm, and is drawn as the least
const COLOURED = {
  family: { ringed: "front", hint: "the front is of time and memory" },
  error: { ringed: "front_with_error", hint: "the marked front is of time, memory and error" },
};
let coloured = "family", marked = null; // the variant that is looked at, if it ran

function byError() {
  const shown = ran.filter(v => known(v.error)), tints = shown.map(digits);
  const low = Math.floor(Math.min(0, ...tints.filter(t => t > -99))), high = Math.max(low + 1, Math.ceil(Math.max(...tints)));
  const decades = Array.from({ length: high - low + 1 }, (_, i) => low + i);
  const scale = { cmin: low, cmax: high, colorscale: ["--exact", "--between", "--rough"].map((name, i) => [i / 2, css(name)]) };
  const bar = { title: { text: "error", side: "right" }, thickness: 10, outlinewidth: 0, tickvals: decades,
    ticktext: decades.map(d => `${d === low ? "≤ " : ""}1e${d}`) };
  const marker = { color: tints, size: 7, symbol: shown.map(v => v.stopped_early ? "circle-open" : "circle"), ...scale, colorbar: bar };
  const points = { type: "scatter", mode: "markers", showlegend: false, x: shown.map(held), y: shown.map(ms), customdata: shown.map(v => v.id),
    text: shown.map(hover), hovertemplate: "%{text}<extra></extra>", marker };
  return { traces: [points], fill: vs => ({ color: vs.map(digits), ...scale }) };
}

const byFamily = () => ({ traces: groups.map(([f, vs]) => dots(f, vs, held, ms, 7, css("--faint"))),
  fill: vs => ({ color: vs.map(v => tint(v.family)) }) });

function colouring() {
  if (!ran.some(v => known(v.error))) return;
  at("colouring").replaceChildren(...Object.entries(COLOURED).map(([name, { hint }]) => make("button",
    { role: "tab", title: hint, "aria-selected": String(name === coloured), onclick: () => { coloured = name; drawPlane(); } }, `by ${name}`)));
}

function drawPlane() {
  colouring();
  const most = Math.max(...[...ran, ...run.peers].map(v => v.memory_bytes || 0));
  memoryUnit = most < 2 ** 20 ? [2 ** 10, "KiB"] : most < 2 ** 30 ? [2 ** 20, "MiB"] : [2 ** 30, "GiB"];
  const { traces, fill } = coloured === "error" ? byError() : byFamily();
  const front = run.front.map(id => byId.get(id)).reverse(), ringed = run[COLOURED[coloured].ringed].map(id => byId.get(id));
  const peers = run.peers.filter(p => known(p.memory_bytes));
  const xs = [...ran.map(held), ...peers.map(held)], ys = [...ran.map(ms), ...run.peers.map(ms)];
  if (known(run.bounds.roofline_ns)) ys.push(run.bounds.roofline_ns / 1e6);
  const xaxis = logAxis(`memory (${memoryUnit[1]})`, xs), yaxis = logAxis("time (ms)", ys);
  const edge = 10 ** xaxis.range[1];
  traces.push({ type: "scatter", mode: "lines", showlegend: false, hoverinfo: "skip", line: { shape: "hv", color: css("--ink"), width: 1.6 },
    x: [...front.map(held), edge], y: [...front.map(ms), ms(front[front.length - 1])] });
  traces.push({ type: "scatter", mode: "markers", name: coloured === "error" ? "front of time, memory and error" : "front",
    x: ringed.map(held), y: ringed.map(ms), customdata: ringed.map(v => v.id), text: ringed.map(hover), hovertemplate: "%{text}<extra></extra>",
    marker: { size: 11, ...fill(ringed), line: { color: css("--ink"), width: 1.8 } } });
  if (peers.length) traces.push({ type: "scatter", mode: "markers", name: "peers", x: peers.map(held), y: peers.map(ms),
    customdata: peers.map(p => plain(`${p.name}: ${time(p.time_ns)}, ${bytes(p.memory_bytes)}${p.note ? " (" + p.note + ")" : ""}`)),
    hovertemplate: "%{customdata}<extra></extra>", marker: { symbol: "star", size: 16, color: css("--ink") } });
  traces.push({ type: "scatter", mode: "markers", name: "chosen", showlegend: false, hoverinfo: "skip", x: marked ? [held(marked)] : [], y: marked ? [ms(marked)] : [],
    marker: { symbol: "circle-open", size: 20, color: css("--accent"), line: { width: 2.5 } } });
  const shapes = [], annotations = [];
  const level = (y, text, dash, x = 1) => {
    shapes.push({ type: "line", xref: "paper", x0: 0, x1: 1, y0: y, y1: y, layer: "below", line: { color: css("--soft"), width: 1.2, dash } });
    annotations.push({ xref: "paper", x, xanchor: x ? "right" : "left", y: Math.log10(y), yanchor: "top", showarrow: false, text, font: { size: 11, color: css("--soft") } });
  };
  for (const p of peers) annotations.push({ x: Math.log10(held(p)), y: Math.log10(ms(p)), xanchor: "left", xshift: 11, showarrow: false,
    text: plain(p.name), font: { size: 12, color: css("--ink") }, bgcolor: css("--card"), borderpad: 1, opacity: 0.9 });
  if (known(run.bounds.roofline_ns)) level(run.bounds.roofline_ns / 1e6, "roofline", "dash");
  if (known(run.bounds.launch_ns) && run.bounds.launch_ns / 1e6 > 10 ** yaxis.range[0]) level(run.bounds.launch_ns / 1e6, "an empty launch", "dot", 0); // at the other end: both may be as high
  for (const p of run.peers.filter(p => !known(p.memory_bytes))) level(ms(p), plain(p.name), "dot");
  draw("plane", traces, layout(xaxis, yaxis, { shapes, annotations, margin: { l: 58, r: 14, t: 36, b: 44 } })); // the buttons are at the top, the legend at the bottom
}

function drawProgress() {
  const seen = ran.filter(v => known(v.elapsed_s));
  const traces = groups.map(([f, vs]) => ({ ...dots(f, vs, v => v.elapsed_s, ms, 5, css("--faint")), showlegend: false }));
  const last = Math.max(...run.variants.map(v => v.elapsed_s));
  const curve = [...run.curve, { elapsed_s: last, time_ns: run.curve[run.curve.length - 1].time_ns, id: null }];
  traces.push({ type: "scatter", mode: "lines", showlegend: false, line: { shape: "hv", color: css("--ink"), width: 1.8 },
    x: curve.map(p => p.elapsed_s), y: curve.map(ms), customdata: curve.map(p => p.id), hovertemplate: "best after %{x:.1f} s: %{y:.4g} ms<extra></extra>" });
  const xaxis = { title: { text: "seconds since the run began", standoff: 8 }, rangemode: "tozero", gridcolor: css("--grid"), zeroline: false };
  draw("progress", traces, layout(xaxis, logAxis("time (ms)", [...seen, ...curve].map(ms))));
}

function drawRoofline() {
  const { flops, peak_flops: peak, bandwidth } = run.bounds;
  const drawn = ran.filter(v => v.traffic_bytes);
  at("roofcard").hidden = !flops || !peak || !bandwidth || !drawn.length;
  if (at("roofcard").hidden) return;
  const intensity = v => flops / v.traffic_bytes, speed = v => rate(v);
  const traces = groups.map(([f, vs]) => ({ ...dots(f, vs.filter(v => v.traffic_bytes), intensity, speed, 6, css("--faint")), showlegend: false }));
  const ridge = peak / bandwidth;
  const xaxis = logAxis("operations per byte moved (modelled)", [...drawn.map(intensity), ridge], 0.12);
  const ends = [10 ** xaxis.range[0], ridge, 10 ** xaxis.range[1]];
  traces.push({ type: "scatter", mode: "lines", showlegend: false, hoverinfo: "skip", line: { color: css("--ink"), width: 1.6 },
    x: ends, y: ends.map(x => Math.min(peak, x * bandwidth) / 1e9) });
  draw("roofline", traces, layout(xaxis, logAxis("GFLOP/s", [...drawn.map(speed), peak / 1e9], 0.1)));
}

// ---- one variant -------------------------------------------------------------------------------

let tab = "parameters", chosen = null;

const table = (heads, rows) => make("table", {},
  make("thead", {}, make("tr", {}, ...heads.map(([text, kind]) => make("th", { class: kind || "" }, text)))),
  make("tbody", {}, ...rows.map(row => make("tr", {}, ...row.map((cell, i) => make("td", { class: heads[i][1] || "" }, cell))))));

const named = name => make("span", {}, ...name.split(/(?<=_)/).flatMap(part => [part, make("wbr", {})])); // may break after a _

const between = d => d.buffers.filter(b => !["input", "const", "output"].includes(b.role))
  .map(b => `${b.name} (${b.role}, ${bytes(b.bytes)})`).join(", ");

const lawOf = (s, i) => make("div", { class: "step" },
  make("b", { class: "mono" }, `${i + 1}. ${s.law}`), make("i", {}, s.place), make("pre", { tabindex: "0" }, s.term));
const stageOf = s => make("details", { class: "stage" }, make("summary", {}, make("b", {}, s.name),
  make("i", {}, s.steps === 1 ? "1 law" : `${s.steps} laws`), make("pre", { tabindex: "0" }, `${s.before}\n= ${s.after}`)));

function story(steps) { // the stages, each opening to those inside it and to its laws
  const whole = make("div", {}), around = [{ node: whole, end: Infinity }];
  steps.forEach((step, i) => {
    while (around[around.length - 1].end <= i) around.pop();
    for (const s of step.stages || []) {
      const node = stageOf(s);
      around[around.length - 1].node.append(node);
      around.push({ node, end: i + s.steps });
    }
    around[around.length - 1].node.append(lawOf(step, i));
  });
  return whole;
}

const TABS = {
  parameters: (v, d) => make("div", {}, command(v), table([["parameter"], ["value", "n"], ["counts"]], Object.entries(d.parameters).map(([n, x]) => [n, String(x), run.words[n] || ""])),
    make("p", { class: "hint" }, `form: ${v.form || "plain"}; beside inputs and output, global memory holds ${between(d) || "nothing"}`)),
  derivation: (v, d, derivations) => story(derivations[d.derivation]),
  memory: (v, d) => make("div", {}, table([["buffer", "name"], ["role"], ["elements"], ["bytes", "n"], ["from byte", "n"]],
    d.buffers.map(b => [named(b.name), b.role, `${b.scalar} ${b.shape.join(" × ")}`, bytes(b.bytes), b.offset === null ? "" : b.offset.toLocaleString("en")])),
    make("p", { class: "hint" }, `peak ${bytes(v.memory_bytes)}, of which temporaries ${bytes(v.workspace_bytes)}; temporaries lie in one arena from the byte told on; those that are not needed at once share bytes`)),
  kernels: (v, d) => {
    const each = (v.kernels_ns || []).slice();
    return make("div", {}, table([["kernel", "name"], ["global", "n"], ["local", "n"], ["when"], ["on the device", "n"]],
      d.kernels.map(k => [named(k.name), k.global_size.join(" × "), k.local_size.join(" × "), k.prepack ? "once (prepack)" : "each inference",
        k.prepack ? time(v.prepack_ns) : time(each.shift())])),
      make("p", { class: "hint" }, `kernels of an inference together: ${time(v.device_ns)} on the device; end to end: ${v.clock === "device" ? "not measured" : time(v.time_ns)}`));
  },
  tiling: (v, d) => tilingOf(d.tiling),
  source: (v, d) => d.source ? listing(d.source) : make("p", { class: "hint" }, "no source: it did not come so far"),
  compare: (v, d, derivations, variants) => side_by_side(byId.get(pinned), v, variants.get(pinned), d, derivations),
  log: (v, d) => make("pre", { tabindex: "0" }, d.detail),
};

// What a device's compiler made: sums over the kernels, and what all work-items carry out.
const compiledFigures = c => [["private memory of a work-item", bytes(c.private_bytes)], ["threads its registers leave room for", percent(c.threads)], ["code", bytes(c.bytes)],
  ...Object.entries(c.done).map(([name, n]) => [`all ${name.replaceAll("_", " ")}`, n.toPrecision(3)])];

function figures(v) {
  const cells = v.status === "failed" ? [["failed at", v.stage], ["memory", bytes(v.memory_bytes)]] :
    [["time", time(v.time_ns)], ["on the device", time(v.device_ns)], ["memory", bytes(v.memory_bytes)], [rateUnit, rateText(v)], ["of the roofline", percent(roof(v))],
      ["traffic", bytes(v.traffic_bytes)], [`I/O bound (${v.bound})`, beside(v, v.least_traffic)],
      ["io-optimal dataflow", beside(v, v.dataflow_traffic)], ["workspace", bytes(v.workspace_bytes)], ["error", sci(v.error)], ["known error", loss(v)],
      ["bank conflicts", known(v.bank_conflicts) ? v.bank_conflicts.toLocaleString("en") : "–"],
      ["prepack", time(v.prepack_ns)], ["spread", spread(v)], ["machine slower by", times(v.slowdown)],
      ...(known(v.spills) ? [["predicted between", `${time(v.least_ns)} and ${time(v.most_ns)}`], ["registers spilled", `${v.spills}`]] : []),
      ...(v.compiled ? compiledFigures(v.compiled) : [])];
  return make("div", { class: "figures" }, ...cells.map(([name, value]) => make("div", {}, make("span", {}, name), value)));
}

const BEYOND = "More than 100 % of the roofline: it counts the operations of the program as it is written, and this form needs fewer (Winograd's, Strassen's and Fourier's do), or what it reads was still in a cache, or the machine was slow when it was timed or when the device's peaks were.";

async function select(id) {
  const { derivations, variants } = await opened(), v = byId.get(id), d = variants.get(id);
  const comparable = pinned && pinned !== id;
  chosen = id;
  const tabs = Object.keys(TABS).filter(name => (name !== "log" || d.detail) && (name !== "compare" || comparable) && (name !== "tiling" || d.tiling?.length));
  const open = tabs.includes(tab) ? tab : "parameters";
  const show = async name => { tab = name; await select(id); at("detail").querySelector("[role=tab][aria-selected=true]").focus({ preventScroll: true }); };
  const pin = () => { pinned = pinned === id ? null : id; tab = pinned ? "compare" : open; select(id); };
  at("detail").replaceChildren(...[
    make("h2", {}, make("span", { class: "dot", family: v.family }), v.id,
      make("small", {}, onFront.has(id) ? "on the front" : v.stopped_early ? "stopped early" : v.status),
      make("button", { class: "copy", "aria-pressed": String(pinned === id), title: "hold this variant beside the next that is opened", onclick: pin },
        pinned === id ? "choose another to compare with this" : "compare")),
    v.status === "failed" ? make("p", { class: "warn" }, v.reason) : null,
    figures(v),
    make("div", { class: "tabs", role: "tablist" }, ...tabs.map(name =>
      make("button", { role: "tab", "aria-selected": String(name === open), onclick: () => show(name) }, name))),
    make("div", { class: "body", tabindex: "0", role: "tabpanel", "aria-label": open }, TABS[open](v, d, derivations, variants))].filter(known));
  if (roof(v) > 1) at("detail").querySelector(".figures").after(make("p", { class: "hint" }, BEYOND));
  for (const row of document.querySelectorAll("tr[data-id]")) row.classList.toggle("on", row.dataset.id === id);
  const plane = at("plane");
  marked = known(v.time_ns) ? v : null;
  if (plane.data) Plotly.restyle(plane, { x: [marked ? [held(v)] : []], y: [marked ? [ms(v)] : []] }, [plane.data.length - 1]);
  history.replaceState(null, "", "#" + encodeURIComponent(id));
}

// ---- the rest ----------------------------------------------------------------------------------

function tiles() {
  const front = run.front.map(id => byId.get(id)), fast = front[0], small = front[front.length - 1];
  const failed = run.variants.filter(v => v.status === "failed").length;
  const found = [[String(ran.length), predicted ? (compiled ? `predicted, none run; ${compiled} compiled` : "ranked by the model, not run") : `ran, of ${run.variants.length} variants`], [String(failed), "failed"]];
  if (fast) {
    const far = [known(rate(fast)) ? `${rateText(fast)} ${rateUnit}` : null, known(roof(fast)) ? `${percent(roof(fast))} of the roofline` : null];
    found.unshift([time(fast.time_ns), ["fastest", ...far.filter(known)].join(" · ")], [bytes(small.memory_bytes), "smallest · " + time(small.time_ns)], [String(front.length), "points on the front"]);
    for (const p of run.peers) found.push([times(p.time_ns / fast.time_ns), `${p.name}: ${time(p.time_ns)}, over the fastest`]);
  }
  at("tiles").replaceChildren(...found.map(([value, label]) => make("div", { class: "tile" }, make("b", {}, value), make("span", {}, label))));
}

function frontTable() {
  const heads = [["id"], ["time", "n"], ["±", "n"], ["on the device", "n"], [rateUnit, "n"], ["roofline", "n"], ["I/O bound", "n"], ["memory", "n"], ["workspace", "n"],
    ["prepack", "n"], ["error", "n"], ["known", "n"], ["form"], ["parameters"]];
  at("front").replaceChildren(make("thead", {}, make("tr", {}, ...heads.map(([text, kind]) => make("th", { class: kind || "" }, text)))), make("tbody", {}, ...run.front.map(id => byId.get(id)).map(v => {
    const cells = [v.id, time(v.time_ns), spread(v), time(v.device_ns), rateText(v), percent(roof(v)), times(surplus(v)), bytes(v.memory_bytes),
      bytes(v.workspace_bytes), time(v.prepack_ns), sci(v.error), loss(v), v.form || "–", v.parameters];
    const row = make("tr", { "data-id": v.id, tabindex: "0", onclick: () => select(v.id), onkeydown: e => { if (e.key === "Enter") select(v.id); } });
    row.append(...cells.map((cell, i) => make("td", { class: heads[i][1] || (i === 0 || i === heads.length - 1 ? "mono" : "") }, cell)));
    row.firstChild.prepend(make("span", { class: "dot", family: v.family }), " ");
    return row;
  })));
}

function lostForms() {
  const lost = run.lost_forms;
  at("lostcard").hidden = !lost.length;
  at("losthint").textContent = lost.length === 1 ? "one; none of its variants was tried" : `${lost.length}; none of their variants was tried`;
  at("lost").replaceChildren(make("div", { class: "reasons" }, ...lost.map(f => make("div", {},
    make("b", {}, f.name), make("span", { title: f.reason }, f.reason)))));
}

function failures() {
  const most = Math.max(1, ...run.failures.map(f => f.count));
  lostForms();
  at("failures").replaceChildren();
  at("failhint").textContent = run.failures.length ? "and the commonest reasons; click one to see a variant that it befell" : "none";
  for (const { stage, count, reasons } of run.failures) {
    at("failures").append(make("div", { class: "failed" }, make("span", {}, stage),
      make("div", { class: "bar" }, make("div", { width: `${100 * count / most}%` })), make("span", { class: "n" }, String(count))));
    at("failures").append(make("div", { class: "reasons" }, ...reasons.map(r => make("div", {},
      make("button", { class: "link", onclick: () => select(r.id) }, `${r.count} ×`), make("span", { title: r.reason }, r.reason)))));
  }
}

function heading() {
  at("name").textContent = run.name;
  at("where").textContent = [run.device, run.driver, `convlift ${run.version}`, `seed ${run.seed}`, run.started].filter(Boolean).join("  ·  ");
  if (predicted) at("where").append(" · ", make("span", { class: "warn" },
    `predicted ${compiled ? `from what the device's compiler made of ${compiled} of the variants` : "by the cost model"}: nothing was run on this device`));
  at("program").replaceChildren(...coloured_text(run.program));
  at("times").replaceChildren(...run.times.map(words => make("div", {}, words)));
  at("planehint").textContent = ran.some(v => v.stopped_early) ? "down and left is better; hollow points were stopped early" : "down and left is better";
  at("roofhint").textContent = ran.some(v => roof(v) > 1) ? BEYOND.replace("this form needs", "some forms need").replace("what it reads", "what they read") : "";
}

function drawAll() {
  if (run.front.length) { drawPlane(); drawProgress(); drawRoofline(); return; }
  at("plane").textContent = live && !ended ? "No variant has run yet." : "No variant ran to the end.";
  at("roofcard").hidden = true;
}

function showAll() {
  heading();
  tiles();
  frontTable();
  failures();
  drawAll();
}

at("detail").append(make("p", { class: "hint" }, "Click a point to see how it was made."));
showAll();
allVariants();
keys();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  showAll();
  showVariants();
  if (chosen) again(chosen);
});
const asked = decodeURIComponent(location.hash.slice(1));
if (byId.has(asked)) await select(asked); else if (run.front.length) await select(run.front[0]);
await details; // a click is answered at once from here on
if (live) listen();
document.querySelector("main").ariaBusy = "false";
