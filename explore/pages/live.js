// The page while its run goes on: the server tells the state, and the page fetches what is new.
// What is here are functions, which report.js calls: `run`, `at`, `make` and their kind are its own.

const live = document.querySelector("main").dataset.live === "true";
let ended = false, shown = 0, newest = null, fetching = null;

function opened() { // the details of variants, fetched when they are first needed
  details ??= fetch("details").then(answer => answer.text()).then(indexed);
  return details;
}

function listen() {
  const states = new EventSource("states");
  states.onmessage = event => {
    newest = JSON.parse(event.data);
    if (newest.finished) states.close();
    fetching ??= update().catch(gone).finally(() => { fetching = null; });
  };
  states.onerror = gone;
}

function gone() {
  if (!ended) at("state").textContent = "The run does not answer any more; what it stored is in its folder: explore report " + run.folder;
}

async function update() { // up to the newest state, which may come while an older one is fetched
  while (shown !== newest.number) {
    const state = newest;
    const tell = () => at("state").replaceChildren(make("b", {}, state.finished ? "finished" : "live"), " ", state.says);
    if (!state.finished) tell();
    const data = await (await fetch("run")).json();
    ended = state.finished;
    const before = chosen && JSON.stringify([byId.get(chosen), onFront.has(chosen)]);
    take(data);
    details = null;
    if (ended) await opened(); // the server leaves now
    const focus = document.activeElement, id = focus && (focus.dataset.id || focus.dataset.variant), kind = focus && focus.dataset.id ? "data-id" : "data-variant";
    showAll();
    showVariants();
    if (id) [...document.querySelectorAll(`tr[${kind}]`)].find(row => row.getAttribute(kind) === id)?.focus({ preventScroll: true });
    if (!chosen && run.front.length) await select(run.front[0]);
    else if (chosen && before !== JSON.stringify([byId.get(chosen), onFront.has(chosen)])) await again(chosen);
    if (state.finished) tell(); // only now the page holds all
    shown = state.number;
  }
}

async function again(id) { // the same variant, at the same line of its tab
  const from = at("detail").querySelector(".body")?.scrollTop ?? 0;
  await select(id);
  at("detail").querySelector(".body").scrollTop = from;
}
