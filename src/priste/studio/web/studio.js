// The studio's page: what the person says goes to the server, what it computes is shown.
"use strict";

(() => {
  const { Day, element, km, colour, onRepaint } = PristeViews;
  const { ask, json, Runs, settings } = PristeServer;
  const $ = (id) => document.getElementById(id);
  const SIMULATED = "simulated";

  const state = {
    start: null,
    desk: { sources: [], days: [], track: [] },
    day: "", step: 10, cells: 400, observer: "near", noise: "district", habits: "quick",
    shown: null, // the run whose picture is on the page
    isProtected: false,
    points: null, // of the price
  };

  function complain(error) {
    $("problem").textContent = error ? (error.message || String(error)) : "";
    $("problem").hidden = !error;
  }

  // what a person does clears the last complaint; what runs by itself only complains
  const safely = (work, { quiet = false } = {}) => async (...given) => {
    try {
      if (!quiet) complain(null);
      return await work(...given);
    } catch (error) {
      complain(error);
    }
    return undefined;
  };

  const view = new Day($("view"));
  const watching = new Runs("watch", $("watching"));
  const protecting = new Runs("protect", $("protecting"));
  const pricing = new Runs("price", $("pricing"));
  let editor = null;
  let secrets = null;
  let timer = null;

  const question = () => ({
    time_zone: settings.zone, step: state.step, cells: state.cells, day: state.day,
    observer: state.observer, noise: state.noise, habits: state.habits,
    document: secrets.asked(settings.zone),
  });

  // what is shown

  function show(result, name) {
    $("no-view").hidden = $("old").hidden = true;
    $("remarks").replaceChildren(...result.remarks.map((remark) => element("li", {}, remark)));
    state.shown = name;
    editor.grid(result.picture.place);
    view.show(result.picture);
    for (const button of document.querySelectorAll("[data-file]")) {
      if (button.dataset.file !== "events.toml") button.disabled = !result.files.includes(button.dataset.file);
    }
    $("protected").hidden = !result.sentences;
    state.isProtected = Boolean(result.sentences);
    if (!result.sentences) return;
    $("sentences").replaceChildren(...result.sentences.map((sentence) => element("li", {}, sentence)));
    fill($("accuracy"), result.accuracy);
  }

  function blank() {
    view.clear();
    state.shown = null;
    state.isProtected = false;
    state.points = null;
    for (const id of ["old", "old-price", "protected", "price", "opened"]) $(id).hidden = true;
    $("no-view").hidden = false;
    $("remarks").replaceChildren();
    for (const button of document.querySelectorAll("[data-file]")) button.disabled = button.dataset.file !== "events.toml";
  }

  const watch = safely(async () => {
    if (!state.day) return;
    await watching.run(question(), show);
  }, { quiet: true });

  async function preview() {
    clearTimeout(timer);
    watching.stop();
    if (!state.day) throw new Error("Load a track first.");
    await protecting.run(question(), show);
  }

  const price = safely(async () => {
    const named = secrets.asked(settings.zone).secrets.map((secret) => secret.name);
    if (!named.length) throw new Error("Draw a place and paint its hours first.");
    const wanted = $("priced").value;
    $("priced").replaceChildren(...named.map((name) => element("option", { value: name }, name)));
    if (named.includes(wanted)) $("priced").value = wanted;
    $("price").hidden = false;
    $("old-price").hidden = true;
    await pricing.run({ ...question(), secret: $("priced").value }, ({ price: points }) => {
      state.points = points;
      drawPrice();
      fill($("price-table"), [["ε", "mean error"], ...points.map((point) => [String(point.epsilon), km(point.km)])]);
    });
  });

  let curve = null;

  function drawPrice() {
    const box = $("price-curve");
    if (curve) curve.destroy();
    curve = null;
    if (!state.points) return;
    const lines = { stroke: colour("--grid"), width: 1 };
    const style = { stroke: colour("--ink"), grid: lines, ticks: lines };
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
    }, [state.points.map((point) => point.epsilon), state.points.map((point) => point.km)], box);
  }

  onRepaint(drawPrice);

  function fill(table, rows) {
    table.replaceChildren(...rows.map((row) => element("tr", {}, ...row.map((cell, i) => element(i ? "td" : "th", i ? {} : { scope: "row" }, String(cell))))));
  }

  // A change asks anew, a moment after the last one. With `again` a protected day is protected
  // anew; else it takes the button, for that may take long.
  function changed({ again = false } = {}) {
    $("old").hidden = !view.picture;
    $("old-price").hidden = !state.points;
    clearTimeout(timer);
    timer = setTimeout(() => {
      protecting.stop();
      if (again && state.isProtected) safely(preview, { quiet: true })();
      else watch();
    }, 250);
  }

  // days

  async function take(file) {
    const name = file.name.toLowerCase();
    if (name.endsWith(".toml")) {
      await adopt(await json("events/read", { method: "POST", body: file }));
    } else if (name.endsWith(".pmtiles")) {
      const base = await PristeBase.open(file);
      PristeViews.useBackground(base.layer);
      $("attribution").textContent = base.attribution ? `Base map: ${base.attribution}` : "";
      editor.ground();
      view.show(view.picture);
    } else if (name.endsWith(".npz")) {
      lay(await json("model", { method: "POST", body: file }));
    } else if (name.endsWith(".json") && (await file.slice(0, 4000).text()).includes('"made_by"')) {
      opened(await json("certificate", { method: "POST", body: file }));
    } else {
      lay(await json("tracks", { method: "POST", body: file, headers: { "X-File-Name": encodeURIComponent(file.name) } }), { fresh: true });
    }
  }

  const takeAll = safely(async (files) => {
    const problems = [];
    for (const file of files) {
      $("loading").textContent = `reading ${file.name} …`;
      try {
        await take(file);
      } catch (error) {
        problems.push(error.message);
      }
    }
    $("loading").textContent = "";
    if (problems.length) throw new Error(problems.join("\n"));
  });

  function lay(desk, { fresh = false } = {}) {
    const before = state.desk.edition;
    state.desk = desk;
    const hasTracks = desk.sources.length > 0;
    if (desk.model) setZone(desk.model.zone);
    $("loaded").hidden = !hasTracks && !desk.model;
    $("clear").hidden = !hasTracks && !desk.model;
    $("given").hidden = !desk.model;
    for (const id of ["zone", "step", "cells"]) $(id).disabled = Boolean(desk.model);
    $("given-model").textContent = desk.model ? `A model from a file is used: ${desk.model.words}.` : "";
    $("sources").replaceChildren(...desk.sources.map((source) =>
      element("li", {}, `${source.name}: ${source.fixes.toLocaleString("en")} fixes${source.read ? `, read as ${source.read}` : ""}`)));
    fill($("account-of-fixes"), desk.account || []);
    const days = desk.days.map(({ day, fixes }) => element("option", { value: day }, `${day} (${fixes} fixes)`));
    $("day").replaceChildren(...days, element("option", { value: SIMULATED }, "a simulated day"));
    if (fresh || (state.day !== SIMULATED && !desk.days.some(({ day }) => day === state.day))) {
      const most = Math.max(0, ...desk.days.map(({ fixes }) => fixes));
      const good = desk.days.filter(({ fixes }) => fixes >= 0.7 * most);
      state.day = good.length ? good[good.length - 1].day : desk.model ? SIMULATED : "";
      state.step = desk.step || state.step;
    }
    $("day").value = state.day;
    $("step").value = String(state.step);
    editor.show(desk.track, fresh);
    if ((hasTracks || desk.model) && desk.edition !== before) changed({ again: false });
  }

  function opened(found) {
    $("opened").hidden = false;
    $("opened-sentences").replaceChildren(...found.sentences.map((sentence) => element("li", {}, sentence)));
    const remedy = found.checkable
      ? "To check it, open the model that it was made with (model.npz) first, then the certificate again."
      : "It leaves out the secrets, or belongs to a stream: it cannot be checked here. The command priste audit checks streams.";
    $("opened-verdict").textContent = found.verdicts
      ? found.verdicts.map((verdict) => `“${verdict.name}”: largest loss ${verdict.largest.toFixed(4)} of ε = ${verdict.epsilon}; an observer who believes the model had ${verdict.before} before and ${verdict.after} after. ${verdict.largest <= verdict.epsilon ? "The promise is kept." : "The promise is NOT kept."}`).join(" ")
      : remedy;
    $("opened").scrollIntoView({ block: "nearest" });
  }

  async function adopt(found) {
    secrets.use(found);
    if (found.time_zone && !state.desk.model) setZone(found.time_zone);
    lay(await json("desk"));
    changed();
  }

  function setZone(zone) {
    settings.zone = zone;
    $("zone").value = zone;
  }

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

  const NAMES = { "certificate.json": "full.certificate.json", "hidden.certificate.json": "day.certificate.json", "track.gpx": "day.gpx", "track.csv": "day.csv" };

  async function save(name) {
    const answer = name === "events.toml"
      ? await ask("events/write", { method: "POST", body: secrets.asked(settings.zone) })
      : await ask(`runs/${state.shown}/files/${name}`);
    await download(answer, NAMES[name] || name);
  }

  // begin

  const begin = safely(async () => {
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    settings.refused = () => { $("door").hidden = false; };
    state.start = await json("start");
    const { start } = state;
    $("version").textContent = start.version;
    secrets = new PristeSecrets.Secrets(
      { places: $("places"), secrets: $("list-of-secrets"), noPlaces: $("no-places"), noSecrets: $("no-secrets"), kept: $("kept"), add: $("add-secret"), undo: $("undo") },
      { epsilons: start.epsilons, sides: start.sides }, changed, complain);
    editor = new PristeEditor.Editor($("map"), start.land, (...what) => secrets.onMap(...what));
    secrets.editor = editor;
    $("zones").append(...start.zones.map((each) => element("option", { value: each })));
    setZone(start.zones.includes(zone) ? zone : "UTC");
    $("step").append(...start.steps.map((step) => element("option", { value: String(step) }, step === 60 ? "hour" : `${step} minutes`)));
    $("cells").append(...start.cells.map((cells) => element("option", { value: String(cells), selected: cells === state.cells }, String(cells))));
    levels($("observers"), start.observers, "observer");
    levels($("noises"), start.noises, "noise");
    levels($("habits"), start.habits, "habits");
    secrets.restore();
    if (start.document && secrets.isEmpty) {
      secrets.use(start.document);
      if (start.document.time_zone) setZone(start.document.time_zone);
    }
    lay(await json("desk"), { fresh: true });
    if (start.account) {
      $("stream").hidden = $("to-stream").hidden = false;
      PristeAccount.show($("stream-content"), ask, download, safely);
    }
    document.body.dataset.ready = "true";
  });

  $("door").addEventListener("submit", (event) => {
    event.preventDefault();
    PristeServer.enter($("token").value.trim());
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
  function stopAll() {
    clearTimeout(timer);
    for (const runs of [watching, protecting, pricing]) runs.stop();
  }

  $("example").addEventListener("click", safely(async () => {
    stopAll();
    $("loading").textContent = "making up sixty days …";
    try {
      const found = await json("example", { method: "POST" });
      blank();
      secrets.use(found.document);
      setZone(found.document.time_zone);
      lay(found, { fresh: true });
    } finally {
      $("loading").textContent = "";
    }
  }));
  $("clear").addEventListener("click", safely(async () => {
    stopAll();
    const desk = await json("clear", { method: "POST" });
    state.day = "";
    lay(desk);
    blank();
  }));
  $("zone").addEventListener("change", safely(async (event) => {
    if (!state.start.zones.includes(event.target.value)) {
      setZone(settings.zone);
      throw new Error("Choose a time zone from the list, such as Europe/Berlin.");
    }
    setZone(event.target.value);
    lay(await json("desk"));
    changed();
  }));
  $("day").addEventListener("change", (event) => { state.day = event.target.value; changed({ again: true }); });
  $("step").addEventListener("change", (event) => { state.step = Number(event.target.value); changed(); });
  $("cells").addEventListener("change", (event) => { state.cells = Number(event.target.value); changed(); });
  $("add-circle").addEventListener("click", () => secrets.addPlace(editor.middle()));
  $("run-protect").addEventListener("click", safely(preview));
  $("run-price").addEventListener("click", price);
  $("priced").addEventListener("change", price);
  $("forget-model").addEventListener("click", safely(async () => lay(await json("model/forget", { method: "POST" }), { fresh: true })));
  $("downloads").addEventListener("click", safely(async (event) => {
    const name = event.target.dataset.file;
    if (name) await save(name);
  }));
  begin();
})();
