// Places and secrets: what is drawn, as lists to name, move and paint.
"use strict";

const PristeSecrets = (() => {
  const { element } = PristeViews;
  const KEPT = "priste-document"; // for a page that is loaded again, in this tab alone
  const MOST_UNDONE = 30;

  const taken = (list, name) => list.some((each) => each.name === name);

  function fresh(list, base) {
    let name = base;
    for (let i = 2; taken(list, name); i++) name = `${base} ${i}`;
    return name;
  }

  // a list is drawn anew when the focus has moved on, so that it finds its way back
  const afterwards = (work) => (event) => {
    const value = event.target.value.trim();
    setTimeout(() => work(value));
  };

  const field = (label, input) => element("label", {}, label, input);

  class Secrets {
    // `boxes` are the elements of the lists, `offers` the ε and sides to choose from; `changed` hears of
    // every change, `complain` of what is refused
    constructor(boxes, offers, changed, complain) {
      Object.assign(this, { boxes, ...offers, changed, complain });
      this.document = { places: [], secrets: [], kept: "" };
      this.before = [];
      this.editor = null;
      boxes.add.addEventListener("click", () => this.addSecret());
      boxes.undo.addEventListener("click", () => this.undo());
    }

    get isEmpty() {
      return !this.document.places.length && !this.document.secrets.length && !this.document.kept;
    }

    // the document as it is asked about: secrets without hours say nothing
    asked(zone) {
      const secrets = this.document.secrets.filter((secret) => secret.week.some((day) => day.length));
      return { time_zone: zone, ...this.document, secrets: secrets.map(({ words, ...secret }) => secret) };
    }

    use(document) {
      this.remember();
      const last = this.document;
      this.document = { places: document.places, secrets: document.secrets, kept: document.kept };
      try {
        this.list();
      } catch (error) {
        this.document = last;
        this.before.pop();
        this.list();
        throw error;
      }
    }

    restore() {
      try {
        const kept = JSON.parse(sessionStorage.getItem(KEPT));
        if (kept) this.document = kept;
        this.list();
      } catch {
        this.document = { places: [], secrets: [], kept: "" };
        this.list();
      }
    }

    remember() {
      this.before.push(JSON.stringify(this.document));
      if (this.before.length > MOST_UNDONE) this.before.shift();
    }

    undo() {
      if (!this.before.length) return;
      this.document = JSON.parse(this.before.pop());
      this.list();
      this.changed();
    }

    // does something to the document that can be undone
    change(work, options) {
      this.remember();
      work(this.document);
      this.list();
      this.changed(options);
    }

    addPlace(shape) {
      this.change(({ places, secrets }) => {
        const place = { name: fresh(places, "place"), ...shape };
        places.push(place);
        secrets.push(this.secretAt(place.name));
      });
    }

    addSecret() {
      this.change(({ places, secrets }) => secrets.push(this.secretAt(places[0].name)));
    }

    secretAt(place) {
      return { name: fresh(this.document.secrets, `at ${place}`), place, week: PristeWeek.office(), epsilon: 1, sides: "both" };
    }

    removePlace(name) {
      this.change((document) => {
        document.places = document.places.filter((place) => place.name !== name);
        document.secrets = document.secrets.filter((secret) => secret.place !== name);
      });
    }

    reshape(name, shape) {
      this.change(({ places }) => {
        const place = places.find((each) => each.name === name);
        delete place.circle;
        delete place.polygon;
        Object.assign(place, shape);
      });
    }

    onMap(what, name, shape) {
      if (what === "add") this.addPlace(shape);
      else if (what === "remove") this.removePlace(name);
      else this.reshape(name, shape);
    }

    isFree(list, old, name, what) {
      if (name && (name === old || !taken(list, name))) return true;
      this.complain(new Error(name ? `There is another ${what} named “${name}”.` : `A ${what} needs a name.`));
      this.list();
      return false;
    }

    renamePlace(place, name) {
      if (!this.isFree(this.document.places, place.name, name, "place")) return;
      this.change(({ secrets }) => {
        for (const secret of secrets) {
          if (secret.place !== place.name) continue;
          if (secret.name === `at ${place.name}`) secret.name = fresh(secrets, `at ${name}`);
          secret.place = name;
        }
        place.name = name;
      });
    }

    renameSecret(secret, name) {
      if (!this.isFree(this.document.secrets, secret.name, name, "secret")) return;
      this.change(() => { secret.name = name; });
    }

    list() {
      const focused = document.activeElement && document.activeElement.id;
      sessionStorage.setItem(KEPT, JSON.stringify(this.document));
      this.listPlaces();
      this.listSecrets();
      this.boxes.undo.hidden = !this.before.length;
      if (this.editor) this.editor.places(this.document.places);
      if (focused && document.getElementById(focused)) document.getElementById(focused).focus();
    }

    listPlaces() {
      const { places } = this.document;
      this.boxes.noPlaces.hidden = places.length > 0;
      this.boxes.places.replaceChildren(...places.map((place, i) => {
        const name = element("input", { id: `place-${i}-name`, value: place.name, maxlength: "60", onchange: afterwards((wanted) => this.renamePlace(place, wanted)) });
        const number = (key, factor, digits) => element("input", {
          id: `place-${i}-${key}`, type: "number", step: "any", class: "number", value: String(Number((place.circle[key] * factor).toFixed(digits))),
          onchange: afterwards((written) => {
            const value = Number(written);
            if (written === "" || !Number.isFinite(value) || (key === "radius_km" && value <= 0)) {
              this.complain(new Error("A circle needs a latitude, a longitude and a radius above zero."));
              return this.list();
            }
            return this.change(() => { place.circle[key] = value / factor; });
          }),
        });
        const shape = place.circle
          ? [field("Latitude", number("latitude", 1, 6)), field("Longitude", number("longitude", 1, 6)), field("Radius in metres", number("radius_km", 1000, 1))]
          : [element("span", { class: "faint" }, `a shape of ${place.polygon.length} corners`)];
        return element("li", {}, element("div", { class: "fields" }, field("Name", name), ...shape,
          element("button", { type: "button", class: "remove", "aria-label": `Remove ${place.name} and its secrets`, onclick: () => this.removePlace(place.name) }, "Remove")));
      }));
    }

    listSecrets() {
      const { places, secrets, kept } = this.document;
      this.boxes.noSecrets.hidden = secrets.length > 0;
      this.boxes.add.hidden = places.length === 0;
      this.boxes.secrets.replaceChildren(...secrets.map((secret, i) => {
        const name = element("input", { id: `secret-${i}-name`, value: secret.name, maxlength: "60", onchange: afterwards((wanted) => this.renameSecret(secret, wanted)) });
        const place = element("select", { id: `secret-${i}-place`, onchange: afterwards((wanted) => this.change(() => { secret.place = wanted; })) },
          ...places.map((each) => element("option", { value: each.name, selected: each.name === secret.place }, each.name)));
        return element("li", {},
          element("div", { class: "fields" }, field("Secret", name), field("Being at", place),
            element("button", { type: "button", class: "remove", "aria-label": `Remove ${secret.name}`, onclick: () =>
              this.change((document) => { document.secrets = document.secrets.filter((each) => each !== secret); }) }, "Remove")),
          PristeWeek.paint(secret.week, `Hours of ${secret.name}`, (week) => {
            this.remember();
            secret.week = week;
            sessionStorage.setItem(KEPT, JSON.stringify(this.document));
            this.changed();
          }),
          this.epsilon(secret, i),
          this.side(secret, i));
      }));
      this.boxes.kept.hidden = !kept;
      this.boxes.kept.textContent = kept ? "The events file also has parts that cannot be drawn here. They are kept, and protected all the same." : "";
    }

    epsilon(secret, i) {
      const { epsilons } = this;
      const far = (each) => Math.abs(Math.log(each.epsilon / secret.epsilon));
      const nearest = epsilons.reduce((best, each, k) => (far(each) < far(epsilons[best]) ? k : best), 0);
      const listed = () => epsilons.find((each) => each.epsilon === secret.epsilon);
      const words = element("output", {});
      const meaning = () => (listed() || secret).words || {};
      const tell = () => { words.textContent = `ε = ${secret.epsilon}. ${meaning()[secret.sides] || ""}`; };
      const slider = element("input", {
        id: `secret-${i}-epsilon`, type: "range", min: "0", max: String(epsilons.length - 1), value: String(nearest),
        oninput: () => {
          secret.epsilon = epsilons[Number(slider.value)].epsilon;
          slider.setAttribute("aria-valuetext", `ε = ${secret.epsilon}`);
          sessionStorage.setItem(KEPT, JSON.stringify(this.document));
          tell();
          this.changed({ again: true });
        },
      });
      tell();
      return element("div", { class: "epsilon" }, field("How much an observer may learn (ε): little to much", slider), words);
    }

    side(secret, i) {
      const chosen = this.sides.find((each) => each.key === secret.sides);
      const select = element("select", {
        id: `secret-${i}-sides`,
        onchange: afterwards((wanted) => this.change(() => { secret.sides = wanted; }, { again: true })),
      }, ...this.sides.map((each) => element("option", { value: each.key, selected: each === chosen }, each.name)));
      return element("div", { class: "sides" }, field("Nobody may become surer", select), element("output", {}, chosen.sentence));
    }
  }

  return { Secrets };
})();
