// Talking to the server, with the token that the page was opened with.
"use strict";

const PristeServer = (() => {
  const TOKEN = "priste-token";
  const POLL = 120; // milliseconds between two looks at a run

  // the token comes in the part of the address that no browser sends, and does not stay there
  if (location.hash.length > 20) {
    sessionStorage.setItem(TOKEN, location.hash.slice(1));
    history.replaceState(null, "", location.pathname);
  }

  const settings = { zone: "UTC", refused: () => {} };

  async function ask(path, { method = "GET", body, headers = {} } = {}) {
    let answer;
    try {
      answer = await fetch(`api/${path}`, {
        method,
        body: body !== undefined && !(body instanceof Blob) ? JSON.stringify(body) : body,
        headers: { Authorization: `Bearer ${sessionStorage.getItem(TOKEN) || ""}`, "X-Time-Zone": settings.zone, ...headers },
        credentials: "omit",
      });
    } catch {
      throw new Error("The studio does not answer. If it was closed, start it again.");
    }
    if (answer.ok) return answer;
    if (answer.status === 401) settings.refused();
    let problem = `The server answered ${answer.status}.`;
    try { problem = (await answer.json()).problem || problem; } catch { /* not ours */ }
    throw new Error(problem);
  }

  const json = async (path, options) => (await ask(path, options)).json();
  const pause = (time) => new Promise((resolve) => setTimeout(resolve, time));

  // Runs of one kind: a newer one takes the place of the one before, wherever that has come to.
  class Runs {
    constructor(kind, box) {
      this.kind = kind;
      this.box = box;
      this.turn = 0;
      this.name = null;
      box.querySelector(".stop").addEventListener("click", () => this.stop());
    }
    // begins a run, and hands on each result; tells whether it came to its end
    async run(body, told) {
      this.turn += 1;
      const turn = this.turn;
      this.box.hidden = false;
      try {
        const begun = await json(`begin/${this.kind}`, { method: "POST", body });
        if (turn !== this.turn) {
          ask(`runs/${begun.run}/stop`, { method: "POST" }).catch(() => null);
          return false;
        }
        this.name = begun.run;
        let revision = 0;
        for (let status = begun; ; status = await json(`runs/${begun.run}`)) {
          if (turn !== this.turn) return false;
          this.box.querySelector("progress").value = status.progress;
          this.box.querySelector("[role=status]").textContent = status.phase ? `${status.phase} …` : "";
          if (status.revision > revision) {
            revision = status.revision;
            const result = await json(`runs/${begun.run}/result`);
            if (turn !== this.turn || result === null) return false;
            told(result, begun.run);
          }
          if (status.state === "failed") throw new Error(status.problem);
          if (status.state !== "running") return status.state === "done";
          await pause(POLL);
        }
      } catch (error) {
        if (turn === this.turn) throw error;
        return false;
      } finally {
        if (turn === this.turn) this.box.hidden = true;
      }
    }
    stop() {
      this.turn += 1;
      this.box.hidden = true;
      const { name } = this;
      this.name = null;
      if (name) ask(`runs/${name}/stop`, { method: "POST" }).catch(() => null);
    }
  }

  function enter(token) {
    sessionStorage.setItem(TOKEN, token);
    location.reload();
  }

  return { ask, json, Runs, enter, settings };
})();
