// Keys. An element says its own key: <button data-key="a">. Pressing the key clicks it (or focuses a
// field), so mouse, touch, screen reader and keyboard share one path, and the sheet that `?` opens is
// read from the page and cannot drift from it.
(() => {
  "use strict";

  const body = document.body;
  const enabled = () => body.dataset.keys !== "off";
  const visible = (element) => !element.disabled && element.getClientRects().length > 0;
  const keyed = () => [...document.querySelectorAll("[data-key]")].filter(visible);
  const rows = () => [...document.querySelectorAll("[data-row]")].filter(visible);
  const openRow = () => document.querySelector("[data-opens] [aria-current]")?.closest("[data-row]") ?? null;
  const currentRow = () => document.activeElement?.closest("[data-row]") ?? null;

  function typing(target) {
    const field = target.closest?.("input, textarea, select, [contenteditable]");
    // The field of a dialog that has just closed keeps the focus until the next frame.
    if (!field || !visible(field)) return false;
    return !["checkbox", "radio", "button", "submit"].includes(field.type);
  }

  // A key inside a row belongs to the row that holds the focus; a key outside rows belongs to the page.
  // The last one wins: the newest notice owns `u`.
  function owner(key) {
    const row = currentRow() ?? openRow();
    return keyed()
      .filter((element) => element.dataset.key === key)
      .filter((element) => [null, row].includes(element.closest("[data-row]")))
      .sort((a, b) => Boolean(a.closest("[data-row]")) - Boolean(b.closest("[data-row]")))
      .pop();
  }

  const takesText = (element) =>
    element?.matches("input:not([type=checkbox], [type=radio]), textarea, select") ?? false;

  function press(element) {
    if (takesText(element)) {
      element.focus();
      element.select?.();
    } else {
      element?.click();
    }
  }

  function focusRow(row) {
    const target = row?.matches("a, button, [tabindex]") ? row : row?.querySelector("a, button");
    target?.focus();
    row?.scrollIntoView({ block: "nearest" });
  }

  // In a list that opens what it points at, a step starts from what is open, and opens.
  function step(by) {
    const all = rows();
    const at = all.indexOf(currentRow() ?? openRow());
    const next = at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + by, 0), all.length - 1);
    focusRow(all[next]);
    if (next !== at && all[next]?.closest("[data-opens]")) document.activeElement.click();
    return all.length > 0;
  }

  document.addEventListener("keydown", (event) => {
    // While an input method composes, letters are not for us (229: the same, said the old way).
    if (event.defaultPrevented || event.isComposing || event.keyCode === 229) return;
    if ((event.ctrlKey || event.metaKey) && event.key === "Enter") {
      // Without a focus, the form of the page is meant if it is the only one, such as after a key has chosen one of its
      // options.
      const isFree = event.target === body && !document.querySelector("dialog[open]");
      const form = isFree ? body : event.target.closest?.("form");
      const buttons = keyed().filter((element) => element.dataset.key === "Mod+Enter" && form?.contains(element));
      const send = buttons[0];
      if (send && (!isFree || buttons.length === 1)) {
        event.preventDefault();
        send.click();
      }
      return;
    }
    if (!enabled() || event.ctrlKey || event.metaKey || event.altKey) return;
    if (typing(event.target) || document.querySelector("dialog[open]")) return;
    const moves = { j: 1, k: -1 };
    if (event.key in moves && step(moves[event.key])) {
      event.preventDefault();
      return;
    }
    if (event.repeat) return; // a held key decides once
    const element = owner(event.key);
    if (!element) return;
    event.preventDefault();
    // A field takes the focus at once: the letters typed next are meant for it.
    if (takesText(element)) press(element);
    else settled(() => press(owner(event.key)));
  });

  // What came in last is wired up some milliseconds after it is seen. Who is faster than that means
  // what they see, not what stood there before. Asked again rather than told by an event: what leaves
  // the page before it has settled tells nobody.
  function settled(act) {
    if (!document.querySelector(".htmx-settling")) act();
    else setTimeout(settled, 10, act);
  }

  // --- What assistive technology and the sheet are told -------------------------------------------

  function announce() {
    for (const element of document.querySelectorAll("[data-key]")) {
      if (enabled()) element.setAttribute("aria-keyshortcuts", element.dataset.key.replace(/Mod|Ctrl/, "Control"));
      else element.removeAttribute("aria-keyshortcuts");
    }
  }

  function label(element) {
    const said = element.dataset.keyLabel || element.getAttribute("aria-label");
    if (said) return said;
    const copy = element.cloneNode(true);
    copy.querySelectorAll("kbd, .icon").forEach((part) => part.remove());
    return copy.textContent.trim();
  }

  function line(keys, text) {
    const pair = document.createElement("div");
    const term = pair.appendChild(document.createElement("dt"));
    term.textContent = text;
    const value = pair.appendChild(document.createElement("dd"));
    for (const key of keys) {
      value.appendChild(document.createElement("kbd")).textContent = key;
      value.append(" ");
    }
    return pair;
  }

  document.addEventListener("click", (event) => {
    const opener = event.target.closest("[data-keys-sheet]");
    if (!opener) return;
    const sheet = document.getElementById("keys-sheet");
    const list = sheet.querySelector("dl");
    const lines = new Map(keyed().map((element) => [element.dataset.key, label(element)]));
    list.replaceChildren(...[...lines].map(([key, text]) => line([key], text)));
    if (rows().length) list.prepend(line(["j", "k"], list.dataset.rows));
    sheet.showModal();
  });

  announce();
  document.addEventListener("htmx:afterSettle", announce);
})();
