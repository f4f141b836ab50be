// The views of a day: where an observer thinks the person is, the odds on each secret, the errors.
// Used by the studio and by reports; it draws what a picture says and computes nothing.
"use strict";

const PristeViews = (() => {
  const COLOURS = { raw: "--raw", silent: "--silent", noise: "--noise", protected: "--protected" };
  const ROOM = 30; // how far beyond the band odds are drawn; those further off lie on the edge

  const palette = new Map(); // to ask the page for a colour makes it compute its styles anew
  const repainting = []; // what to do when colours change: by day, by night, on paper
  for (const query of ["(prefers-color-scheme: dark)", "print"]) {
    window.matchMedia(query).addEventListener("change", () => {
      palette.clear();
      repainting.forEach((repaint) => repaint());
    });
  }

  function colour(name) {
    if (!palette.has(name)) palette.set(name, getComputedStyle(document.documentElement).getPropertyValue(name).trim());
    return palette.get(name);
  }

  function element(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
      else if (name in made && typeof value !== "string") made[name] = value;
      else made.setAttribute(name, value);
    }
    made.append(...children);
    return made;
  }

  const km = (distance) =>
    distance === null ? "–" : distance < 0.9995 ? `${Math.round(1000 * distance)} m` : `${distance.toFixed(2)} km`;

  // cells of the map as one canvas: heat, secret places and the lines of the grid
  const Cells = L.Layer.extend({
    initialize(place) {
      this._place = place;
      this._heat = [[], []];
      this._secret = [];
    },
    onAdd(map) {
      this._canvas = L.DomUtil.create("canvas", "priste-cells leaflet-zoom-hide");
      this.getPane().appendChild(this._canvas);
      map.on("moveend resize viewreset", this._reset, this);
      this._reset();
    },
    onRemove(map) {
      map.off("moveend resize viewreset", this._reset, this);
      this._canvas.remove();
    },
    heat(cells, shares) {
      this._heat = [cells, shares];
      this._draw();
    },
    secret(cells) {
      this._secret = cells;
      this._draw();
    },
    _reset() {
      const map = this._map;
      const size = map.getSize();
      const ratio = window.devicePixelRatio || 1;
      L.DomUtil.setPosition(this._canvas, map.containerPointToLayerPoint([0, 0]));
      this._canvas.width = Math.round(size.x * ratio);
      this._canvas.height = Math.round(size.y * ratio);
      this._canvas.style.width = `${size.x}px`;
      this._canvas.style.height = `${size.y}px`;
      this._pen = this._canvas.getContext("2d");
      this._pen.setTransform(ratio, 0, 0, ratio, 0, 0);
      this._points = this._place.lattice.map((row) => row.map((corner) => map.latLngToContainerPoint(corner)));
      this._draw();
    },
    _trace(cell) {
      const row = Math.floor(cell / this._place.columns);
      const column = cell % this._place.columns;
      const [below, above] = [this._points[row], this._points[row + 1]];
      if (!above) return; // elsewhere is nowhere on the map
      const pen = this._pen;
      pen.moveTo(below[column].x, below[column].y);
      pen.lineTo(below[column + 1].x, below[column + 1].y);
      pen.lineTo(above[column + 1].x, above[column + 1].y);
      pen.lineTo(above[column].x, above[column].y);
      pen.closePath();
    },
    _draw() {
      if (!this._pen) return;
      const pen = this._pen;
      pen.clearRect(0, 0, this._canvas.width, this._canvas.height);
      const [cells, shares] = this._heat;
      pen.fillStyle = colour("--heat");
      cells.forEach((cell, i) => {
        pen.globalAlpha = 0.08 + 0.87 * Math.sqrt(Math.min(shares[i], 1));
        pen.beginPath();
        this._trace(cell);
        pen.fill();
      });
      pen.globalAlpha = 1;
      pen.strokeStyle = colour("--grid");
      pen.lineWidth = 0.6;
      pen.beginPath();
      const points = this._points;
      for (const row of points) {
        row.forEach((p, i) => (i ? pen.lineTo(p.x, p.y) : pen.moveTo(p.x, p.y)));
      }
      for (let column = 0; column < points[0].length; column++) {
        points.forEach((row, i) => (i ? pen.lineTo(row[column].x, row[column].y) : pen.moveTo(row[column].x, row[column].y)));
      }
      pen.stroke();
      pen.strokeStyle = colour("--secret");
      pen.lineWidth = 2;
      for (const cell of this._secret) {
        pen.beginPath();
        this._trace(cell);
        pen.stroke();
      }
    },
    redraw() {
      this._draw();
    },
  });

  function bounds(place) {
    const first = place.lattice[0][0];
    const last = place.lattice[place.rows][place.columns];
    return L.latLngBounds(first, last);
  }

  function centre(place, cell) {
    const row = Math.floor(cell / place.columns);
    const column = cell % place.columns;
    if (row >= place.rows) return null;
    const [a, b] = [place.lattice[row][column], place.lattice[row + 1][column + 1]];
    return [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2];
  }

  // a map without tiles: land, cells, and whatever is put on it
  function baseMap(box, label, options = {}) {
    const map = L.map(box, {
      attributionControl: false,
      zoomAnimation: false,
      fadeAnimation: false,
      markerZoomAnimation: false,
      scrollWheelZoom: false,
      zoomSnap: 0.25,
      ...options,
    });
    box.setAttribute("role", "region");
    box.setAttribute("aria-label", label);
    L.control.scale({ imperial: false, maxWidth: 90 }).addTo(map);
    return map;
  }

  let background = null; // makes the layer of a base map, if the person gave one

  function addLand(map, land) {
    if (background) return background().addTo(map);
    return L.geoJSON(land, {
      interactive: false,
      pane: "tilePane", // under everything else
      pmIgnore: true,
      style: () => ({ className: "priste-land", color: colour("--border"), fillColor: colour("--land"), fillOpacity: 1, weight: 1 }),
    }).addTo(map);
  }

  function path(fixes) {
    const parts = [[]];
    for (const fix of fixes) {
      if (fix) parts[parts.length - 1].push(fix);
      else if (parts[parts.length - 1].length) parts.push([]);
    }
    return parts;
  }

  // one of the maps side by side
  class WayMap {
    constructor(box, picture, way) {
      this.box = box;
      this.map = baseMap(box, `${way.name}: where an observer thinks you are`, { zoomControl: false, keyboard: false });
      this.map.fitBounds(bounds(picture.place), { padding: [4, 4] });
      this.land = addLand(this.map, picture.place.land);
      this.cells = new Cells(picture.place).addTo(this.map);
      this.line = L.polyline([], { interactive: false }).addTo(this.map);
      this.gap = L.polyline([], { interactive: false, dashArray: "4 4", weight: 1.5 }).addTo(this.map);
      this.shown = L.circleMarker([0, 0], { interactive: false, radius: 8, fill: false, weight: 3 });
      this.true = L.circleMarker([0, 0], { interactive: false, radius: 4.5, weight: 2, fillOpacity: 1 });
      this.update(picture, way);
    }
    update(picture, way) {
      this.picture = picture;
      this.way = way;
      this.cells.secret([...new Set(picture.secrets.flatMap((secret) => secret.cells))]);
      this.paint();
    }
    paint() {
      this.line.setStyle({ color: colour("--true"), weight: 1.2, opacity: 0.45 });
      this.gap.setStyle({ color: colour("--ink") });
      this.shown.setStyle({ color: colour("--ink") });
      this.true.setStyle({ color: colour("--paper"), fillColor: colour("--true") });
      this.cells.redraw();
    }
    at(step) {
      const { picture, way } = this;
      this.cells.heat(...way.where[step]);
      const fix = picture.track[step];
      const cell = way.cells[step];
      const shown = cell === null ? null : way.exact ? fix : centre(picture.place, cell);
      this.line.setLatLngs(path(picture.track.slice(0, step + 1)));
      this.gap.setLatLngs(fix && shown && !way.exact ? [fix, shown] : []);
      this.place(this.true, fix);
      this.place(this.shown, shown);
    }
    place(marker, where) {
      if (where) marker.setLatLng(where).addTo(this.map);
      else marker.remove();
    }
  }

  function synchronise(maps) {
    let busy = false;
    for (const map of maps) {
      map.on("move", () => {
        if (busy) return;
        busy = true;
        for (const other of maps) if (other !== map) other.setView(map.getCenter(), map.getZoom(), { animate: false });
        busy = false;
      });
    }
  }

  // an axis of odds: powers of ten, and the edges where somebody is certain
  function oddsAxis(secret, found) {
    const numbers = found.filter((odds) => typeof odds === "number" && odds > 0);
    const band = (secret.band || []).filter((odds) => odds > 0);
    const reach = band.length ? band : [1];
    const low = Math.max(Math.min(...reach, ...numbers) / 1.3, Math.min(...reach) / ROOM);
    const high = Math.min(Math.max(...reach, ...numbers) * 1.3, Math.max(...reach) * ROOM);
    const isCertain = found.includes("certain");
    const range = [found.includes(0) ? low / 3 : low, isCertain ? high * 3 : high];
    const ticks = [];
    for (let power = -12; power <= 12; power++) {
      if (10 ** power >= low && 10 ** power <= high) ticks.push(10 ** power);
    }
    if (secret.words) ticks.push(...(ticks.some((tick) => Math.abs(Math.log(tick / secret.before)) < 0.7) ? [] : [secret.before]));
    const words = new Map(ticks.map((tick) => [tick, tick < 1 ? `1:${Math.round(1 / tick)}` : tick > 1 ? `${Math.round(tick)}:1` : "even"]));
    if (secret.words && words.has(secret.before)) words.set(secret.before, secret.words[1]);
    if (isCertain) words.set(range[1], "certain");
    if (found.includes(0)) words.set(range[0], "no");
    const drawn = (odds) => (odds === null ? null : odds === "certain" ? range[1] : Math.min(Math.max(odds, range[0]), range[1]));
    return { range, drawn, splits: [...words.keys()].sort((a, b) => a - b), words: (tick) => words.get(tick) || "" };
  }

  function axes(zone, { splits, words }) {
    const style = {
      stroke: colour("--ink"),
      grid: { stroke: colour("--grid"), width: 1 },
      ticks: { stroke: colour("--grid"), width: 1 },
      font: "12px system-ui, sans-serif",
    };
    const hour = new Intl.DateTimeFormat("en-GB", { timeZone: zone, hour: "2-digit", minute: "2-digit" });
    return [
      { ...style, values: (plot, ticks) => ticks.map((tick) => hour.format(new Date(1e3 * tick))) },
      { ...style, size: 64, filter: (plot, ticks) => ticks, ...(splits ? { splits: () => splits } : {}), values: (plot, ticks) => ticks.map(words) },
    ];
  }

  function shadeSteps(plot, steps, length) {
    const { ctx, bbox } = plot;
    ctx.fillStyle = colour("--secret-soft");
    for (const time of steps) {
      const from = Math.max(plot.valToPos(time, "x", true), bbox.left);
      const to = Math.min(plot.valToPos(time + length, "x", true), bbox.left + bbox.width);
      if (to > from) ctx.fillRect(from, bbox.top, to - from + 0.5, bbox.height);
    }
  }

  function now(plot, time) {
    const { ctx, bbox } = plot;
    const x = plot.valToPos(time, "x", true);
    ctx.strokeStyle = colour("--ink");
    ctx.lineWidth = 1;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
  }

  const zoned = (zone) => (seconds) => uPlot.tzDate(new Date(seconds * 1e3), zone);

  class Curves {
    // curves over the steps of a day; shade(plot) draws under them
    constructor(box, picture, { label, axis, scale, height = 210, shade = () => {} }) {
      this.box = box;
      this.picture = picture;
      this.step = 0;
      const times = picture.times;
      const series = picture.ways.map((way) => ({
        label: way.name,
        stroke: colour(COLOURS[way.key]),
        width: way.key === "protected" ? 3 : 1.8,
        dash: { silent: [8, 4], noise: [2, 4] }[way.key],
        points: { show: false },
      }));
      box.setAttribute("role", "img");
      box.setAttribute("aria-label", label);
      this.plot = new uPlot(
        {
          width: Math.max(box.clientWidth, 200),
          height,
          tzDate: zoned(picture.zone),
          cursor: { drag: { x: false, y: false }, points: { show: false } },
          legend: { show: false },
          scales: { y: scale },
          series: [{}, ...series],
          axes: axes(picture.zone, axis),
          hooks: {
            drawClear: [(plot) => shade(plot)],
            draw: [(plot) => now(plot, times[this.step])],
          },
        },
        [times, ...picture.ways.map(() => times.map(() => null))],
        box,
      );
    }
    set(rows) {
      this.plot.setData([this.picture.times, ...rows]);
    }
    at(step) {
      this.step = step;
      this.plot.redraw(false, false);
    }
    resize() {
      this.plot.setSize({ width: Math.max(this.box.clientWidth, 200), height: this.plot.height });
    }
    destroy() {
      this.plot.destroy();
    }
  }

  function oddsCurves(box, picture, secret) {
    const axis = oddsAxis(secret, picture.ways.flatMap((way) => way.odds[secret.name]));
    const length = picture.times.length > 1 ? picture.times[1] - picture.times[0] : 3600;
    const curves = new Curves(box, picture, {
      label: `The odds on “${secret.name}” over the day, a curve for each way of sharing; the table above has the numbers.`,
      axis,
      scale: { distr: 3, range: () => axis.range },
      shade: (plot) => {
        shadeSteps(plot, secret.steps.map((step) => picture.times[step]).filter(Boolean), length);
        if (!secret.band) return;
        const { ctx, bbox } = plot;
        const [bottom, top] = secret.band.map((odds) => plot.valToPos(Math.max(odds, axis.range[0]), "y", true));
        ctx.fillStyle = colour("--band");
        ctx.fillRect(bbox.left, top, bbox.width, bottom - top);
      },
    });
    curves.set(picture.ways.map((way) => way.odds[secret.name].map(axis.drawn)));
    return curves;
  }

  function errorCurves(box, picture) {
    const far = Math.max(0.1, ...picture.ways.flatMap((way) => way.errors.filter((error) => error !== null)));
    const curves = new Curves(box, picture, {
      label: "The distance from where you were to what is shown, over the day, for each way of sharing.",
      axis: { words: km },
      scale: { range: () => [0, far * 1.1] },
      height: 160,
    });
    curves.set(picture.ways.map((way) => way.errors));
    return curves;
  }

  const share = (shares) => Math.round(100 * Math.max(0, ...shares));

  // the whole: maps side by side, a slider, the odds in a table and as curves, the errors
  class Day {
    constructor(box) {
      this.box = box;
      this.step = null;
      this.maps = new Map();
      this.curves = [];
      this.playing = null;
      window.addEventListener("resize", () => this.resize());
      repainting.push(() => this.show(this.picture));
    }
    show(picture) {
      if (!picture) return;
      this.stop();
      this.picture = picture;
      const last = picture.times.length - 1;
      const step = this.step === null ? this.first() : Math.min(this.step, last);
      this.clear();
      this.picture = picture;
      const sides = element("div", { class: "priste-ways" });
      this.captions = new Map();
      const boxes = picture.ways.map((way) => {
        const box = element("div", { class: "priste-map" });
        const caption = element("p", { class: "priste-caption" });
        this.captions.set(way.key, caption);
        const away = way.away ? `, and away ${way.away} ${way.away === 1 ? "time" : "times"}` : "";
        const price = way.mean_error === null ? "" : ` Mean error ${km(way.mean_error)}${away}.`;
        sides.append(
          element(
            "section",
            { class: `priste-way priste-${way.key}` },
            element("h3", {}, way.name),
            box,
            caption,
            element("p", { class: "priste-small" }, way.sentence + (way.exact ? "" : price)),
          ),
        );
        return box;
      });
      this.slider = element("input", {
        type: "range", min: "0", max: String(last), value: String(step), "aria-label": "Time of day",
        oninput: () => { this.stop(); this.at(Number(this.slider.value)); },
      });
      this.clock = element("output", { class: "priste-clock" });
      this.player = element("button", { type: "button", class: "priste-play", onclick: () => this.play() }, "Play");
      const legend = element(
        "p",
        { class: "priste-legend" },
        element("span", { class: "key-heat" }), "where the observer thinks you are ",
        element("span", { class: "key-true" }), "where you are ",
        element("span", { class: "key-shown" }), "what is shown ",
        element("span", { class: "key-secret" }), "secret places",
      );
      this.table = element("table", { class: "priste-odds" });
      const odds = picture.secrets.map((secret) => {
        const box = element("div", { class: "priste-curve" });
        return [secret, box, element("section", {}, element("h3", {}, `Odds on “${secret.name}”`), element("p", { class: "priste-small" }, this.promise(secret)), box)];
      });
      const errors = element("div", { class: "priste-curve" });
      this.box.append(
        sides,
        element("div", { class: "priste-time" }, this.player, this.slider, this.clock),
        legend,
        element("div", { class: "priste-scroll", tabindex: "0", role: "region", "aria-label": "The odds on each secret" }, this.table),
        ...odds.map(([, , section]) => section),
        element("section", {}, element("h3", {}, "Distance between where you were and what is shown"), errors),
        this.key(),
      );
      boxes.forEach((box, i) => this.maps.set(picture.ways[i].key, new WayMap(box, picture, picture.ways[i])));
      synchronise([...this.maps.values()].map((each) => each.map));
      this.curves = odds.map(([secret, box]) => oddsCurves(box, picture, secret));
      this.curves.push(errorCurves(errors, picture));
      this.at(step);
      this.draw(step); // at once, for a printer does not wait
    }
    clear() {
      this.stop();
      cancelAnimationFrame(this.frame);
      this.picture = null;
      for (const each of this.maps.values()) each.map.remove();
      this.maps.clear();
      this.curves.forEach((curve) => curve.destroy());
      this.curves = [];
      this.box.replaceChildren();
    }
    key() {
      const names = this.picture.ways.map((way) =>
        element("span", { class: `priste-key priste-${way.key}` }, element("i", {}), way.name));
      const band = this.picture.secrets.some((secret) => secret.band)
        ? [element("span", { class: "priste-key" }, element("i", { class: "key-band" }), "promised band"),
           element("span", { class: "priste-key" }, element("i", { class: "key-hours" }), "the secret’s hours")]
        : [];
      return element("p", { class: "priste-legend" }, ...names, ...band);
    }
    promise(secret) {
      if (!secret.words) return secret.promise;
      const [low, before, high] = secret.words;
      const promised = low === "never" ? `at most ${high}` : `between ${low} and ${high}`;
      return `Before anything is shared the observer gives ${before}. Protected with ε = ${secret.epsilon}, they end ${promised}, whatever is released.`;
    }
    first() {
      // begin where the person is in a secret place at its hours, or else in the middle of them
      const { secrets, ways, times } = this.picture;
      const raw = ways.find((way) => way.key === "raw");
      const steps = secrets.flatMap((secret) => secret.steps.filter((step) => step < times.length));
      const there = raw ? secrets.flatMap((secret) => secret.steps.filter((step) => secret.cells.includes(raw.cells[step]))) : [];
      const worth = there.length ? there : steps.length ? steps : times.map((_, step) => step);
      return worth[worth.length >> 1];
    }
    at(step) {
      this.step = step;
      this.slider.value = String(step);
      this.slider.setAttribute("aria-valuetext", this.picture.clock[step]);
      this.clock.textContent = this.picture.clock[step];
      cancelAnimationFrame(this.frame); // several moves within a frame are drawn once
      this.frame = requestAnimationFrame(() => this.draw(step));
    }
    draw(step) {
      const { picture } = this;
      for (const way of picture.ways) {
        this.maps.get(way.key).at(step);
        const [cells, shares] = way.where[step];
        const best = cells[shares.indexOf(Math.max(...shares))];
        const where = best === picture.place.elsewhere ? "off the map" : "the likeliest cell";
        this.captions.get(way.key).textContent = shares.length
          ? `The observer gives ${share(shares)} % to ${where}.`
          : "The observer has hardly an idea where you are.";
      }
      this.tell(step);
      this.curves.forEach((curve) => curve.at(step));
    }
    tell(step) {
      const { picture } = this;
      const last = picture.times.length - 1;
      const head = element("tr", {}, element("th", { scope: "col" }, "Odds that it happened"),
        ...picture.secrets.flatMap((secret) => [
          element("th", { scope: "col" }, `${secret.name}, at ${picture.clock[step]}`),
          element("th", { scope: "col" }, "after the whole day"),
        ]));
      const rows = picture.ways.map((way) => element("tr", {}, element("th", { scope: "row" }, way.name),
        ...picture.secrets.flatMap((secret) => [step, last].map((t) => {
          const words = way.words[secret.name][t];
          return element("td", { class: this.isOutside(secret, way.odds[secret.name][t]) ? "priste-beyond" : "" },
            { always: "certain", never: "certainly not" }[words] || words);
        }))));
      this.table.replaceChildren(element("thead", {}, head), element("tbody", {}, ...rows));
    }
    isOutside(secret, odds) {
      if (!secret.band || odds === null) return false;
      return odds === "certain" || odds > secret.band[1] * (1 + 1e-9) || odds < secret.band[0] * (1 - 1e-9);
    }
    play() {
      if (this.playing) return this.stop();
      this.player.textContent = "Pause";
      this.playing = setInterval(() => {
        const last = this.picture.times.length - 1;
        if (this.step >= last) return this.stop();
        this.at(this.step + 1);
      }, 120);
    }
    stop() {
      clearInterval(this.playing);
      this.playing = null;
      if (this.player) this.player.textContent = "Play";
    }
    resize() {
      if (!this.picture) return;
      for (const each of this.maps.values()) each.map.invalidateSize({ animate: false });
      this.curves.forEach((curve) => curve.resize());
    }
  }

  // what was released, for everybody: how often each cell was
  class Released {
    constructor(box) {
      this.box = box;
      repainting.push(() => this.show(this.found));
    }
    show(found) {
      if (!found) return;
      if (this.map) this.map.remove();
      this.found = found;
      const box = element("div", { class: "priste-map priste-large" });
      const total = found.counts.reduce((sum, count) => sum + count, 0);
      const most = Math.max(1, ...found.counts);
      this.box.replaceChildren(
        box,
        element("p", { class: "priste-legend" }, element("span", { class: "key-heat" }), "released, the stronger the more often ",
          ...(found.secret.length ? [element("span", { class: "key-secret" }), "secret places"] : [])),
      );
      const away = found.counts[found.cells.indexOf(found.place.elsewhere)] || 0;
      if (away) this.box.append(element("p", { class: "priste-small" }, `Released as away: ${away} of ${total} times.`));
      const map = baseMap(box, "The released places");
      this.map = map;
      map.fitBounds(bounds(found.place), { padding: [4, 4] });
      addLand(map, found.place.land);
      const cells = new Cells(found.place).addTo(map);
      cells.secret(found.secret);
      cells.heat(found.cells, found.counts.map((count) => count / most));
    }
  }

  return { Day, Released, Cells, onRepaint: (repaint) => repainting.push(repaint), useBackground: (make) => { background = make; }, baseMap, addLand, bounds, colour, element, km };
})();
