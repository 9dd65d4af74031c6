// The palette: Ctrl+K or ⌘K opens a search over everything. The focus stays in the text field, which
// names the active option (aria-activedescendant); the dialog traps the focus and closes with Escape.
// Without this file, the search box of the head leads to the results page.
(() => {
  "use strict";

  const palette = document.getElementById("palette");
  if (!palette) return;
  const form = palette.querySelector("form");
  const field = form.elements.q;
  const results = palette.querySelector("[data-results]");
  const PAUSE = 120; // milliseconds after the last key
  const account = document.body.dataset.account; // that the page shows, as in app.js
  const shown = account ? { "X-Page-Account": account } : {};
  let timer = 0; // until a text is sent; 0: none is due
  let request = null; // until its results are there
  let entered = false; // Enter was pressed before they were

  const options = () => [...results.querySelectorAll("[role=option]")];
  const active = () => results.querySelector("[aria-selected=true]");

  function activate(option) {
    active()?.setAttribute("aria-selected", "false");
    if (!option) return field.removeAttribute("aria-activedescendant");
    option.setAttribute("aria-selected", "true");
    option.scrollIntoView({ block: "nearest" });
    field.setAttribute("aria-activedescendant", option.id);
    return undefined;
  }

  function choose() {
    entered = false;
    if (active()) active().click();
    else form.requestSubmit(); // to the results page
  }

  async function load() {
    clearTimeout(timer);
    timer = 0;
    request?.abort();
    const mine = (request = new AbortController());
    const url = `${palette.dataset.palette}?${new URLSearchParams({ q: field.value })}`;
    try {
      const headers = { "HX-Request": "true", "HX-Current-URL": location.href, ...shown };
      const answer = await fetch(url, { signal: mine.signal, headers });
      const elsewhere = answer.headers.get("HX-Redirect"); // signed out meanwhile
      if (elsewhere) return location.assign(elsewhere);
      const isExplained = answer.ok || answer.headers.has("HX-Retarget"); // results or a refusal
      if (!isExplained) throw new Error(String(answer.status));
      window.htmx.swap(results, await answer.text(), { swapStyle: "innerHTML" });
    } catch (error) {
      if (error.name === "AbortError") return undefined;
      entered = false;
      const line = document.createElement("p");
      line.className = "field-error";
      line.textContent = document.body.dataset.sayOffline;
      results.replaceChildren(line);
    }
    request = null;
    field.setAttribute("aria-expanded", String(options().length > 0));
    activate(field.value.trim() ? options()[0] : null);
    if (entered) choose();
    return undefined;
  }

  function open() {
    if (document.querySelector("dialog[open]")) return;
    palette.showModal();
    field.select();
    load();
  }

  function remember() {
    if (!field.value.trim()) return;
    const headers = { ...JSON.parse(document.body.getAttribute("hx-headers")), ...shown };
    fetch(palette.dataset.remember, {
      method: "POST",
      keepalive: true,
      headers,
      body: new URLSearchParams({ q: field.value }),
    });
  }

  document.addEventListener("keydown", (event) => {
    const mod = event.ctrlKey !== event.metaKey && !event.altKey && !event.shiftKey;
    if (!mod || event.key.toLowerCase() !== "k" || event.isComposing) return;
    event.preventDefault();
    if (palette.open) palette.close();
    else open();
  });
  document.addEventListener("click", ({ target }) => {
    if (target.closest("[data-open-palette]")) open();
  });

  // What is shown no longer answers what is typed.
  field.addEventListener("input", () => {
    entered = false;
    activate(null);
    request?.abort();
    clearTimeout(timer);
    timer = setTimeout(load, PAUSE);
  });
  field.addEventListener("keydown", (event) => {
    if (event.isComposing || event.keyCode === 229) return;
    const all = options();
    const steps = { ArrowDown: 1, ArrowUp: -1 };
    if (event.key in steps && all.length) {
      event.preventDefault();
      const at = all.indexOf(active());
      const next = at < 0 && steps[event.key] < 0 ? all.length - 1 : at + steps[event.key];
      activate(all[(next + all.length) % all.length]);
    } else if (event.key === "Enter") {
      event.preventDefault();
      entered = true;
      if (active() || !(timer || request)) choose();
    }
  });
  palette.addEventListener("close", () => (entered = false));
  results.addEventListener("click", ({ target }) => {
    if (target.closest("[role=option]")) remember();
  });
})();
