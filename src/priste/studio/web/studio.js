// The studio's page: what the person says goes to the server, what it computes is shown.
"use strict";

(() => {
  const { Day, element, km, colour } = PristeViews;
  const $ = (id) => document.getElementById(id);
  const TOKEN = "priste-token";

  // the token comes in the part of the address that no browser sends, and does not stay there
  if (location.hash.length > 20) {
    sessionStorage.setItem(TOKEN, location.hash.slice(1));
    history.replaceState(null, "", location.pathname);
  }

  const state = {
    start: null,
    desk: { sources: [], days: [], track: [] },
    zone: Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC",
    document: { places: [], secrets: [], kept: "" },
    day: "", step: 10, cells: 400, observer: "near", noise: "district", habits: "quick",
    runs: {}, // the newest run of each kind
    shown: null, // the run whose picture is on the page
    isProtected: false,
  };

  // talking to the server

  async function ask(path, { method = "GET", body, headers = {} } = {}) {
    const answer = await fetch(`api/${path}`, {
      method,
      body: body !== undefined && !(body instanceof Blob) && typeof body !== "string" ? JSON.stringify(body) : body,
      headers: { Authorization: `Bearer ${sessionStorage.getItem(TOKEN) || ""}`, "X-Time-Zone": state.zone, ...headers },
      credentials: "omit",
    });
    if (answer.ok) return answer;
    if (answer.status === 401) $("door").hidden = false;
    let problem = `the server answered ${answer.status}`;
    try { problem = (await answer.json()).problem || problem; } catch { /* not ours */ }
    throw new Error(problem);
  }

  const json = async (path, options) => (await ask(path, options)).json();

  function complain(error) {
    $("problem").textContent = error ? (error.message || String(error)) : "";
    $("problem").hidden = !error;
  }

  const safely = (work) => async (...given) => {
    try {
      complain(null);
      return await work(...given);
    } catch (error) {
      complain(error);
    }
    return undefined;
  };

  function later(work, wait) {
    let timer = null;
    return () => {
      clearTimeout(timer);
      timer = setTimeout(work, wait);
    };
  }

  // runs in the background

  const BOXES = { watch: "watching", protect: "protecting", price: "pricing" };

  async function run(kind, body, told) {
    const begun = await json(`begin/${kind}`, { method: "POST", body });
    state.runs[kind] = begun.run;
    const box = $(BOXES[kind]);
    box.hidden = false;
    let revision = 0;
    const pause = (time) => new Promise((resolve) => setTimeout(resolve, time));
    for (let status = begun; ; status = await json(`runs/${begun.run}`)) {
      if (state.runs[kind] !== begun.run) return false; // a newer one took its place
      box.querySelector("progress").value = status.progress;
      box.querySelector("[role=status]").textContent = status.phase ? `${status.phase} …` : "";
      if (status.revision > revision) {
        revision = status.revision;
        const result = await json(`runs/${begun.run}/result`);
        if (state.runs[kind] !== begun.run) return false;
        told(result, begun.run);
      }
      if (status.state !== "running") {
        box.hidden = true;
        if (status.state === "failed") throw new Error(status.problem);
        return status.state === "done";
      }
      await pause(120);
    }
  }

  const question = () => ({
    time_zone: state.zone, step: state.step, cells: state.cells, day: state.day,
    observer: state.observer, noise: state.noise, habits: state.habits,
    document: { time_zone: state.zone, ...state.document, secrets: state.document.secrets.filter((secret) => secret.week.some((day) => day.length)) },
  });

  const view = new Day($("view"));

  function show(result, name) {
    $("no-view").hidden = true;
    $("remarks").replaceChildren(...result.remarks.map((remark) => element("li", {}, remark)));
    state.shown = name;
    editor.grid(result.picture.place);
    view.show(result.picture);
    for (const button of document.querySelectorAll("[data-file]")) {
      if (button.dataset.file !== "events.toml") button.disabled = !result.files.includes(button.dataset.file);
    }
  }

  const watch = safely(async () => {
    if (!state.day) return;
    await run("watch", question(), (result, name) => {
      state.isProtected = false;
      $("protected").hidden = true;
      show(result, name);
    });
  });

  const protect = safely(async () => {
    if (!state.day) throw new Error("Load a track first.");
    stop("watch");
    $("stale").hidden = true;
    await run("protect", question(), (result, name) => {
      state.isProtected = true;
      show(result, name);
      $("protected").hidden = false;
      $("sentences").replaceChildren(...result.sentences.map((sentence) => element("li", {}, sentence)));
      fill($("accuracy"), result.accuracy);
    });
  });

  let curve = null;
  const price = safely(async () => {
    const secret = state.document.secrets[0];
    if (!secret) throw new Error("Draw a place and paint its hours first.");
    $("price").hidden = false;
    $("priced").textContent = secret.name;
    await run("price", { ...question(), secret: secret.name }, ({ price: points }) => {
      drawPrice(points);
      fill($("price-table"), [["ε", "mean error"], ...points.map((point) => [String(point.epsilon), km(point.km)])]);
    });
  });

  function drawPrice(points) {
    const box = $("price-curve");
    if (curve) curve.destroy();
    const style = { stroke: colour("--ink"), grid: { stroke: colour("--grid"), width: 1 }, ticks: { stroke: colour("--grid"), width: 1 } };
    box.setAttribute("role", "img");
    box.setAttribute("aria-label", "The mean error against ε; the table has the numbers.");
    curve = new uPlot({
      width: Math.max(box.clientWidth, 200), height: 190, legend: { show: false }, cursor: { show: false },
      scales: { x: { time: false, distr: 3 }, y: { range: (plot, low, high) => [0, (high || 1) * 1.1] } },
      series: [{}, { stroke: colour("--protected"), width: 2, points: { show: true, size: 7 } }],
      axes: [
        { ...style, splits: () => state.start.epsilons.map((each) => each.epsilon), filter: (plot, ticks) => ticks, values: (plot, ticks) => ticks.map(String) },
        { ...style, size: 64, values: (plot, ticks) => ticks.map(km) },
      ],
    }, [points.map((point) => point.epsilon), points.map((point) => point.km)], box);
  }

  async function stop(kind) {
    const name = state.runs[kind];
    delete state.runs[kind];
    $(BOXES[kind]).hidden = true;
    if (name) await ask(`runs/${name}/stop`, { method: "POST" }).catch(() => null);
  }

  function fill(table, rows) {
    table.replaceChildren(...rows.map((row) => element("tr", {}, ...row.map((cell, i) => element(i ? "td" : "th", i ? {} : { scope: "row" }, String(cell))))));
  }

  // what changes asks anew, a moment after the last change; nothing waits for an older run

  const look = later(() => watch(), 250);
  const lookAgain = later(() => (state.isProtected ? protect() : watch()), 350);

  function changed({ again = false } = {}) {
    if (state.isProtected && !again) $("stale").hidden = false;
    (again ? lookAgain : look)();
  }

  // days

  async function take(file) {
    const name = file.name.toLowerCase();
    $("loading").textContent = `reading ${file.name} …`;
    try {
      if (name.endsWith(".toml")) {
        adopt(await json("events/read", { method: "POST", body: file }));
      } else if (name.endsWith(".pmtiles")) {
        const base = await PristeBase.open(file);
        PristeViews.useBackground(base.layer);
        $("attribution").textContent = base.attribution ? `Base map: ${base.attribution}` : "";
        editor.ground();
        view.show(view.picture);
      } else if (name.endsWith(".npz")) {
        lay(await json("model", { method: "POST", body: file }));
      } else if (name.includes("certificate") && name.endsWith(".json")) {
        opened(await json("certificate", { method: "POST", body: file }));
      } else {
        lay(await json("tracks", { method: "POST", body: file, headers: { "X-File-Name": encodeURIComponent(file.name) } }), { fresh: true });
      }
    } finally {
      $("loading").textContent = "";
    }
  }

  const takeAll = safely(async (files) => {
    for (const file of files) await take(file);
  });

  function lay(desk, { fresh = false } = {}) {
    const before = state.desk.edition;
    state.desk = desk;
    const isThere = desk.sources.length > 0;
    $("loaded").hidden = !isThere;
    $("clear").hidden = !isThere;
    $("given").hidden = !desk.model;
    $("given-model").textContent = desk.model ? `A model from a file is used: ${desk.model}.` : "";
    $("sources").replaceChildren(...desk.sources.map((source) =>
      element("li", {}, `${source.name}: ${source.fixes.toLocaleString("en")} fixes${source.read ? `, read as ${source.read}` : ""}`)));
    fill($("account-of-fixes"), desk.account || []);
    const days = desk.days.map(({ day, fixes }) => element("option", { value: day }, `${day} (${fixes} fixes)`));
    $("day").replaceChildren(...days, element("option", { value: "simulated" }, "a simulated day"));
    if (fresh || !desk.days.some(({ day }) => day === state.day)) {
      const most = Math.max(0, ...desk.days.map(({ fixes }) => fixes));
      const good = desk.days.filter(({ fixes }) => fixes >= 0.7 * most);
      state.day = good.length ? good[good.length - 1].day : "";
      state.step = desk.step || state.step;
    }
    $("day").value = state.day;
    $("step").value = String(state.step);
    editor.show(desk.track, fresh);
    if (isThere && desk.edition !== before) look();
  }

  function opened(found) {
    $("opened").hidden = false;
    $("opened-sentences").replaceChildren(...found.sentences.map((sentence) => element("li", {}, sentence)));
    $("opened-verdict").textContent = found.verdicts
      ? found.verdicts.map((verdict) => `“${verdict.name}”: largest loss ${verdict.largest.toFixed(4)} of ε = ${verdict.epsilon}; an observer who believes the model had ${verdict.before} before and ${verdict.after} after. ${verdict.largest <= verdict.epsilon ? "The promise is kept." : "The promise is NOT kept."}`).join(" ")
      : "To check it, open the model that it was made with (model.npz) first, then the certificate again.";
    $("opened").scrollIntoView({ block: "nearest" });
  }

  // places and secrets

  const taken = (list, name) => list.some((each) => each.name === name);

  function fresh(list, base) {
    let name = base;
    for (let i = 2; taken(list, name); i++) name = `${base} ${i}`;
    return name;
  }

  function onMap(what, name, shape) {
    const { places, secrets } = state.document;
    if (what === "add") {
      const place = { name: fresh(places, "place"), ...shape };
      places.push(place);
      secrets.push({ name: fresh(secrets, `at ${place.name}`), place: place.name, week: PristeWeek.office(), epsilon: 1 });
    } else if (what === "remove") {
      state.document.places = places.filter((place) => place.name !== name);
      state.document.secrets = secrets.filter((secret) => secret.place !== name);
    } else {
      const place = places.find((each) => each.name === name);
      delete place.circle;
      delete place.polygon;
      Object.assign(place, shape);
    }
    list();
    changed();
  }

  function field(label, input) {
    return element("label", {}, label, input);
  }

  function rename(place, name) {
    const { places, secrets } = state.document;
    if (!name || (name !== place.name && taken(places, name))) return list();
    for (const secret of secrets) {
      if (secret.place !== place.name) continue;
      if (secret.name === `at ${place.name}`) secret.name = fresh(secrets, `at ${name}`);
      secret.place = name;
    }
    place.name = name;
    list();
    return changed();
  }

  function listPlaces() {
    const { places } = state.document;
    $("no-places").hidden = places.length > 0;
    $("places").replaceChildren(...places.map((place) => {
      const name = element("input", { value: place.name, maxlength: "60", onchange: (event) => rename(place, event.target.value.trim()) });
      const number = (key, factor, digits) => element("input", {
        type: "number", step: "any", class: "number", value: String(Number((place.circle[key] * factor).toFixed(digits))),
        onchange: (event) => {
          const value = Number(event.target.value);
          if (Number.isFinite(value) && event.target.value !== "") place.circle[key] = value / factor;
          editor.places(places);
          changed();
        },
      });
      const shape = place.circle
        ? [field("Latitude", number("latitude", 1, 6)), field("Longitude", number("longitude", 1, 6)), field("Radius in metres", number("radius_km", 1000, 1))]
        : [element("span", { class: "faint" }, `a shape of ${place.polygon.length} corners`)];
      return element("li", {}, element("div", { class: "fields" }, field("Name", name), ...shape,
        element("button", { type: "button", class: "remove", "aria-label": `Remove ${place.name}`, onclick: () => onMap("remove", place.name) }, "Remove")));
    }));
    editor.places(places);
  }

  function listSecrets() {
    const { places, secrets } = state.document;
    $("no-secrets").hidden = secrets.length > 0;
    $("add-secret").hidden = places.length === 0;
    $("list-of-secrets").replaceChildren(...secrets.map((secret) => {
      const name = element("input", {
        value: secret.name, maxlength: "60",
        onchange: (event) => {
          const wanted = event.target.value.trim();
          if (wanted && (wanted === secret.name || !taken(secrets, wanted))) secret.name = wanted;
          listSecrets();
          changed();
        },
      });
      const place = element("select", { onchange: (event) => { secret.place = event.target.value; changed(); } },
        ...places.map((each) => element("option", { value: each.name, selected: each.name === secret.place }, each.name)));
      return element("li", {},
        element("div", { class: "fields" }, field("Secret", name), field("Being at", place),
          element("button", { type: "button", class: "remove", "aria-label": `Remove ${secret.name}`, onclick: () => {
            state.document.secrets = secrets.filter((each) => each !== secret);
            listSecrets();
            changed();
          } }, "Remove")),
        PristeWeek.paint(secret.week, `Hours of ${secret.name}`, (week) => { secret.week = week; changed(); }),
        epsilon(secret));
    }));
    $("kept").hidden = !state.document.kept;
    $("kept").textContent = state.document.kept ? "The events file also has parts that cannot be drawn here. They are kept, and protected all the same." : "";
  }

  function epsilon(secret) {
    const { epsilons } = state.start;
    const nearest = () => epsilons.reduce((best, each, i) => (Math.abs(Math.log(each.epsilon / secret.epsilon)) < Math.abs(Math.log(epsilons[best].epsilon / secret.epsilon)) ? i : best), 0);
    const words = element("output", {});
    const tell = () => { words.textContent = `ε = ${secret.epsilon}. ${epsilons[nearest()].words}`; };
    const slider = element("input", {
      type: "range", min: "0", max: String(epsilons.length - 1), value: String(nearest()),
      oninput: () => {
        secret.epsilon = epsilons[Number(slider.value)].epsilon;
        slider.setAttribute("aria-valuetext", `ε = ${secret.epsilon}`);
        tell();
        changed({ again: true });
      },
    });
    tell();
    return element("div", { class: "epsilon" }, field("How much an observer may learn: little to much", slider), words);
  }

  function list() {
    listPlaces();
    listSecrets();
  }

  function adopt(found) {
    if (found.time_zone) setZone(found.time_zone);
    state.document = { places: found.places, secrets: found.secrets, kept: found.kept };
    list();
    changed();
  }

  function setZone(zone) {
    state.zone = zone;
    $("zone").value = zone;
  }

  // choices

  function levels(box, choices, key) {
    for (const level of choices) {
      const radio = element("input", { type: "radio", name: key, value: level.key, checked: state[key] === level.key, onchange: () => { state[key] = level.key; changed({ again: true }); } });
      box.append(element("label", { class: "level" }, radio, element("span", {}, level.name), element("small", {}, level.sentence)));
    }
  }

  // files

  async function download(answer, name) {
    const link = element("a", { href: URL.createObjectURL(await answer.blob()), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  }

  async function save(name) {
    const answer = name === "events.toml"
      ? await ask("events/write", { method: "POST", body: question().document })
      : await ask(`runs/${state.shown}/files/${name}`);
    await download(answer, name === "certificate.json" ? "day.certificate.json" : name);
  }

  // begin

  let editor = null;

  const begin = safely(async () => {
    state.start = await json("start");
    const { start } = state;
    $("version").textContent = start.version;
    editor = new PristeEditor.Editor($("map"), start.land, onMap);
    $("zones").append(...start.zones.map((zone) => element("option", { value: zone })));
    setZone(start.zones.includes(state.zone) ? state.zone : "UTC");
    $("step").append(...start.steps.map((step) => element("option", { value: String(step) }, step === 60 ? "hour" : `${step} minutes`)));
    $("cells").append(...start.cells.map((cells) => element("option", { value: String(cells), selected: cells === state.cells }, String(cells))));
    levels($("observers"), start.observers, "observer");
    levels($("noises"), start.noises, "noise");
    levels($("habits"), start.habits, "habits");
    list();
    lay(await json("desk"));
    if (start.account) {
      $("stream").hidden = $("to-stream").hidden = false;
      PristeAccount.show($("stream-content"), ask, download, safely);
    }
    document.body.dataset.ready = "true";
  });

  $("door").addEventListener("submit", (event) => {
    event.preventDefault();
    sessionStorage.setItem(TOKEN, $("token").value.trim());
    location.reload();
  });
  $("open").addEventListener("change", async (event) => {
    const files = [...event.target.files];
    event.target.value = "";
    await takeAll(files);
  });
  for (const kind of ["dragover", "dragenter"]) {
    document.addEventListener(kind, (event) => { event.preventDefault(); $("drop").classList.add("over"); });
  }
  document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) $("drop").classList.remove("over"); });
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    $("drop").classList.remove("over");
    takeAll([...event.dataTransfer.files]);
  });
  $("example").addEventListener("click", safely(async () => {
    $("loading").textContent = "making up sixty days …";
    const found = await json("example", { method: "POST" });
    $("loading").textContent = "";
    setZone(found.document.time_zone);
    state.document = { places: found.document.places, secrets: found.document.secrets, kept: found.document.kept };
    list();
    lay(found, { fresh: true });
  }));
  $("clear").addEventListener("click", safely(async () => {
    for (const kind of Object.keys(BOXES)) stop(kind);
    view.box.replaceChildren();
    $("no-view").hidden = false;
    $("protected").hidden = true;
    state.isProtected = false;
    lay(await json("clear", { method: "POST" }));
  }));
  $("zone").addEventListener("change", safely(async (event) => {
    if (!state.start.zones.includes(event.target.value)) {
      setZone(state.zone);
      throw new Error("Choose a time zone from the list, such as Europe/Berlin.");
    }
    setZone(event.target.value);
    lay(await json("desk"));
    changed();
  }));
  $("day").addEventListener("change", (event) => { state.day = event.target.value; changed({ again: true }); });
  $("step").addEventListener("change", (event) => { state.step = Number(event.target.value); changed(); });
  $("cells").addEventListener("change", (event) => { state.cells = Number(event.target.value); changed(); });
  $("add-circle").addEventListener("click", () => onMap("add", null, editor.middle()));
  $("add-secret").addEventListener("click", () => {
    const { places, secrets } = state.document;
    secrets.push({ name: fresh(secrets, `at ${places[0].name}`), place: places[0].name, week: PristeWeek.office(), epsilon: 1 });
    listSecrets();
    changed();
  });
  $("run-protect").addEventListener("click", () => protect());
  $("run-price").addEventListener("click", () => price());
  for (const [kind, box] of Object.entries(BOXES)) {
    $(box).querySelector(".stop").addEventListener("click", () => stop(kind));
  }
  $("forget-model").addEventListener("click", safely(async () => lay(await json("model", { method: "POST", body: "" }))));
  $("downloads").addEventListener("click", safely(async (event) => {
    const name = event.target.dataset.file;
    if (name) await save(name);
  }));
  begin();
})();
