// The hours of a week, painted one by one: with a pointer, or with arrows and the space bar.
"use strict";

const PristeWeek = (() => {
  const DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
  const NAMES = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
  const { element } = PristeViews;
  const two = (hour) => String(hour).padStart(2, "0");

  const office = () => DAYS.map((_, day) => (day < 5 ? [9, 10, 11, 12, 13, 14, 15, 16] : []));
  const always = () => DAYS.map(() => [...Array(24).keys()]);
  const nothing = () => DAYS.map(() => []);

  function stretches(hours) {
    const found = [];
    for (const hour of [...hours].sort((a, b) => a - b)) {
      const last = found[found.length - 1];
      if (last && last[1] === hour) last[1] = hour + 1;
      else found.push([hour, hour + 1]);
    }
    return found;
  }

  function inWords(week) {
    const groups = new Map();
    week.forEach((hours, day) => {
      const said = stretches(hours).map(([from, to]) => (from === 0 && to === 24 ? "all day" : `${two(from)}:00–${two(to)}:00`)).join(" and ");
      if (said) groups.set(said, [...(groups.get(said) || []), day]);
    });
    const days = (list) => {
      if (list.length === 7) return "every day";
      const runs = stretches(list);
      return runs.map(([from, to]) => (to - from > 2 ? `${DAYS[from]}–${DAYS[to - 1]}` : DAYS.slice(from, to).join(", "))).join(", ");
    };
    const said = [...groups].map(([hours, list]) => `${days(list)} ${hours}`);
    return said.length ? said.join("; ") : "no hours yet";
  }

  // a grid to paint on; `changed` hears of every stroke when it ends
  function paint(week, label, changed) {
    const painted = week.map((hours) => new Set(hours));
    const cells = DAYS.map((_, day) => [...Array(24).keys()].map((hour) => {
      const cell = element("td", { role: "gridcell", tabindex: "-1" });
      cell.dataset.day = day;
      cell.dataset.hour = hour;
      return cell;
    }));
    const words = element("p", { class: "faint", role: "status" });
    const show = (day, hour) => {
      const on = painted[day].has(hour);
      cells[day][hour].setAttribute("aria-selected", String(on));
      cells[day][hour].setAttribute("aria-label", `${NAMES[day]} ${two(hour)}:00`);
    };
    const result = () => painted.map((hours) => [...hours].sort((a, b) => a - b));
    const set = (day, hour, on) => {
      if (on) painted[day].add(hour);
      else painted[day].delete(hour);
      show(day, hour);
    };
    const done = () => {
      words.textContent = inWords(result());
      changed(result());
    };
    const table = element("table", { class: "week", role: "grid", "aria-label": label, "aria-multiselectable": "true" },
      element("thead", {}, element("tr", { role: "row" }, element("th", { class: "name", role: "columnheader" }, element("span", { class: "away" }, "Day")),
        ...[0, 6, 12, 18].map((hour) => element("th", { colSpan: 6, role: "columnheader" }, `${two(hour)}:00`)))),
      element("tbody", {}, ...DAYS.map((name, day) => element("tr", { role: "row" }, element("th", { role: "rowheader", class: "name" }, name), ...cells[day]))));
    let stroke = null;
    let at = [0, 9];
    const focus = (day, hour, move = true) => {
      cells[at[0]][at[1]].tabIndex = -1;
      at = [(day + 7) % 7, (hour + 24) % 24];
      cells[at[0]][at[1]].tabIndex = 0;
      if (move) cells[at[0]][at[1]].focus();
    };
    const over = (event) => {
      const cell = document.elementFromPoint(event.clientX, event.clientY);
      return cell && table.contains(cell) && cell.dataset.day !== undefined ? [Number(cell.dataset.day), Number(cell.dataset.hour)] : null;
    };
    table.addEventListener("pointerdown", (event) => {
      const found = over(event);
      if (!found) return;
      event.preventDefault();
      stroke = { on: !painted[found[0]].has(found[1]), from: found, before: result() };
      table.setPointerCapture(event.pointerId);
      set(...found, stroke.on);
      focus(...found);
    });
    table.addEventListener("pointermove", (event) => {
      const found = stroke && over(event);
      if (!found) return;
      // a rectangle from where the stroke began
      const [days, hours] = [0, 1].map((i) => [Math.min(stroke.from[i], found[i]), Math.max(stroke.from[i], found[i])]);
      for (let day = 0; day < 7; day++) {
        for (let hour = 0; hour < 24; hour++) {
          const inside = day >= days[0] && day <= days[1] && hour >= hours[0] && hour <= hours[1];
          set(day, hour, inside ? stroke.on : stroke.before[day].includes(hour));
        }
      }
    });
    const end = () => {
      if (stroke) done();
      stroke = null;
    };
    table.addEventListener("pointerup", end);
    table.addEventListener("pointercancel", end);
    table.addEventListener("keydown", (event) => {
      const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      if (step) {
        event.preventDefault();
        const on = painted[at[0]].has(at[1]);
        focus(at[0] + step[0], at[1] + step[1]);
        if (event.shiftKey) {
          set(...at, on);
          done();
        }
      } else if (event.key === " " || event.key === "Enter") {
        event.preventDefault();
        set(...at, !painted[at[0]].has(at[1]));
        done();
      }
    });
    for (let day = 0; day < 7; day++) for (let hour = 0; hour < 24; hour++) show(day, hour);
    focus(0, 9, false);
    words.textContent = inWords(result());
    const choose = (name, make) => element("button", { type: "button", class: "remove", onclick: () => {
      make().forEach((hours, day) => { for (let hour = 0; hour < 24; hour++) set(day, hour, hours.includes(hour)); });
      done();
    } }, name);
    return element("div", {}, element("div", { class: "week-scroll" }, table), words,
      element("p", {}, choose("Office hours", office), " ", choose("Always", always), " ", choose("None", nothing)));
  }

  return { paint, inWords, office, always };
})();
