// The account of a stream in the gateway: what is live, what was released, who may ask.
"use strict";

const PristeAccount = (() => {
  const { element, Released } = PristeViews;

  function table(head, rows, empty) {
    if (!rows.length) return element("p", { class: "faint" }, empty);
    return element("div", { class: "priste-scroll", tabindex: "0", role: "region", "aria-label": head[0] },
      element("table", { class: "plain" },
        element("thead", {}, element("tr", {}, ...head.map((name) => element("th", { scope: "col" }, name)))),
        element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row.map((cell) => element("td", {}, cell)))))));
  }

  const WORDS = { waiting: "waits for its time", live: "live", settled: "settled: nothing can break it any more" };

  async function show(box, ask, download, safely) {
    const get = async (path, options) => (await ask(`../../${path}`, options)).json();
    const draw = safely(async () => {
      const [account, certificates, receivers, tokens, released] = await Promise.all(
        ["account", "certificates", "receivers", "tokens", "released"].map((path) => get(path)));
      const events = account.events.map((event) => [
        event.name, WORDS[event.state] || event.state, String(event.epsilon), event.charged.toFixed(4), event.left.toFixed(4), event.moved === null ? "–" : event.moved.toFixed(4),
      ]);
      const letters = receivers.map((each) => [each.name, each.kind, String(each.waiting), String(each["given up"]), each.problem || (each.waiting ? "on its way" : "well")]);
      const days = certificates.map((each) => [
        `stream ${each.stream}, day ${each.number}`, `steps ${each.first_step} to ${each.stop_step - 1}`,
        element("button", { type: "button", class: "remove", onclick: safely(async () =>
          download(await ask(`../../certificates/${each.stream}/${each.number}`), `stream-${each.stream}-${each.number}.certificate.json`)) }, "Download"),
      ]);
      const who = tokens.map((each) => [each.id, each.role, each.label || "–", each.created, each.revoked ? `revoked ${each.revoked}` : "good"]);
      const map = element("div", {});
      const dead = receivers.reduce((sum, each) => sum + each["given up"], 0);
      box.replaceChildren(
        element("p", {}, `Step ${account.step} ends next. `, element("button", { type: "button", class: "remove", onclick: draw }, "Look again")),
        element("h3", {}, "Promises"),
        table(["Secret", "State", "ε", "charged", "left", "moved so far, at most"], events, "Nothing is promised yet."),
        element("h3", {}, "Released"),
        map,
        element("h3", {}, "Receivers"),
        table(["Receiver", "Kind", "waiting", "given up", "State"], letters, "There is no receiver."),
        ...(dead ? [element("p", {}, element("button", { type: "button", onclick: safely(async () => {
          await ask("../../dead-letters/revive", { method: "POST" });
          await draw();
        }) }, `Send the ${dead} that were given up again`))] : []),
        element("h3", {}, "Certificates"),
        table(["Day", "Steps", "File"], days, "The first comes after midnight."),
        element("h3", {}, "Tokens"),
        table(["Number", "Role", "Label", "Made", "State"], who, "There are no tokens."),
        element("p", { class: "faint" }, "Make and revoke tokens with the command: priste token."),
      );
      if (released.cells.length) new Released(map).show(released);
      else map.append(element("p", { class: "faint" }, "Nothing has been released yet."));
    });
    await draw();
  }

  return { show };
})();
