// What the pages need beyond htmx: notices, visible errors, forms that are sent once and from their own
// account, dialogs, copy buttons, menus, focus that survives a swap. Every word shown comes from a data attribute, so that it is translated.
(() => {
  "use strict";

  const body = document.body;
  const notices = document.getElementById("notices");

  // --- The time zone of the browser, which the server uses unless the person chose one -------------

  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (zone) document.cookie = `kmapp_zone=${zone}; path=/; max-age=31536000; samesite=lax`;

  // --- Notices ---------------------------------------------------------------------------------------

  // Behind an open dialog, a refusal is neither announced nor within reach: the dialog shows it.
  function placeOfRefusals() {
    const dialog = document.querySelector("#dialog[open]");
    if (!dialog) return notices;
    dialog.querySelector(".dialog-notices")?.remove();
    const place = document.createElement("div");
    place.className = "dialog-notices";
    return dialog.appendChild(place);
  }

  function warn(text) {
    const template = document.getElementById("notice-error");
    const notice = template.content.firstElementChild.cloneNode(true);
    notice.querySelector("[data-text]").textContent = text;
    placeOfRefusals().append(notice);
  }

  // A notice leaves by itself, except an error, or while it holds the focus or the pointer.
  function retire(notice) {
    const seconds = Number(notice.dataset.seconds);
    if (!seconds || notice.dataset.timed) return;
    notice.dataset.timed = "yes";
    const leave = () => {
      if (notice.matches(":hover, :focus-within")) setTimeout(leave, 2000);
      else notice.remove();
    };
    setTimeout(leave, seconds * 1000);
  }
  new MutationObserver(() => notices.querySelectorAll(".notice").forEach(retire)).observe(notices, {
    childList: true,
    subtree: true,
  });
  notices.querySelectorAll(".notice").forEach(retire);

  // --- A request names the account that its page shows: another tab may have switched since ----------

  const { account } = body.dataset;
  document.addEventListener("htmx:configRequest", ({ detail }) => {
    if (account) detail.headers["X-Page-Account"] = account;
  });
  document.addEventListener("formdata", ({ target, formData }) => {
    if (account && target.method === "post") formData.set("page_account", account);
  });

  // --- Errors of htmx become words --------------------------------------------------------------------

  document.addEventListener("htmx:beforeSwap", ({ detail }) => {
    // A refusal that says where it belongs is shown there, whatever its status.
    if (detail.xhr.getResponseHeader("HX-Retarget")) detail.shouldSwap = true;
  });
  document.addEventListener("htmx:responseError", ({ detail }) => {
    if (!detail.xhr.getResponseHeader("HX-Retarget")) warn(`${body.dataset.sayError} (${detail.xhr.status})`);
  });
  const onLost = ({ detail }) => {
    const onlyReads = detail.requestConfig.verb === "get"; // a change may be saved before the connection breaks
    warn(onlyReads ? body.dataset.sayOffline : body.dataset.sayTimeout);
  };
  document.addEventListener("htmx:sendError", onLost);
  document.addEventListener("htmx:timeout", onLost);

  // --- A form in a part of the page asks before another part takes its place and what was typed is lost --

  const isChanged = (field) =>
    field.matches("select")
      ? [...field.options].some((option) => option.selected !== option.defaultSelected)
      : field.value !== field.defaultValue;
  document.addEventListener("htmx:beforeRequest", (event) => {
    const { target } = event.detail;
    const place = target.closest(".notice") ? body : target; // an undo opens what it restores
    const form = place.querySelector("form[data-asks]");
    if (!form || form.contains(event.detail.requestConfig.elt)) return;
    const fields = [...form.querySelectorAll("input:not([type=hidden]), textarea, select")];
    const isTyped = form.dataset.asks === "always" || fields.some(isChanged);
    if (!isTyped || window.confirm(body.dataset.sayDiscard)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  });

  // --- A form that is being sent shows it, and is not sent again ----------------------------------------

  const PATIENCE = 15_000; // milliseconds, as those of htmx; a person may have stopped the next page
  const UPLOAD_PATIENCE = 600_000;
  const timers = new WeakMap();
  function release(form) {
    clearTimeout(timers.get(form));
    form.removeAttribute("aria-busy");
  }

  const onRepeat = (event) => {
    if (!event.target.matches("[aria-busy]")) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  document.addEventListener("submit", onRepeat, { capture: true }); // before htmx hears of it
  document.addEventListener("submit", ({ target, defaultPrevented }) => {
    // A download leaves the page as it is, and forms that only read may be sent again.
    if (defaultPrevented || target.method !== "post" || target.matches("[data-download]")) return;
    target.setAttribute("aria-busy", "true");
    const patience = target.enctype === "multipart/form-data" ? UPLOAD_PATIENCE : PATIENCE;
    timers.set(target, setTimeout(release, patience, target));
  });
  window.addEventListener("pageshow", () => document.querySelectorAll("form[aria-busy]").forEach(release));
  document.addEventListener("htmx:beforeRequest", ({ detail: { requestConfig } }) => {
    const sends = requestConfig.verb !== "get" && requestConfig.elt.matches("form");
    if (sends) requestConfig.elt.setAttribute("aria-busy", "true");
  });
  document.addEventListener("htmx:afterRequest", ({ detail }) => {
    const { elt, verb } = detail.requestConfig;
    if (verb !== "get" && !detail.keepIndicators) release(elt); // those of a redirect stay
  });

  // --- The second click of a double click is not meant for what the first one brought --------------------

  let isAnswered = false; // since the first click
  document.addEventListener("htmx:beforeSwap", () => (isAnswered = true));
  const onClick = (event) => {
    if (event.detail < 2) isAnswered = false;
    // Whoever turns pages quickly clicks links in the same place.
    if (!isAnswered || event.target.closest("a[rel=next], a[rel=prev]")) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  document.addEventListener("click", onClick, { capture: true });

  // --- Dialogs: the server renders them into #dialog; links keep working without this -------------------

  let valuesAtFirst = "";
  const valuesOf = (dialog) =>
    JSON.stringify(
      [...dialog.querySelectorAll("input:not([type=hidden]), textarea, select")].map((field) => [
        field.value,
        field.checked,
      ]),
    );
  const mayClose = (dialog) =>
    dialog.id !== "dialog" || valuesOf(dialog) === valuesAtFirst || window.confirm(body.dataset.sayDiscard);

  // Shown once it is wired up: whoever is fast would send the form the slow way.
  document.addEventListener("htmx:afterSettle", ({ detail }) => {
    if (detail.target?.id !== "dialog" || detail.target.open) return;
    valuesAtFirst = valuesOf(detail.target);
    const heading = detail.target.querySelector("h2"); // names the dialog
    if (heading) detail.target.setAttribute("aria-label", heading.textContent);
    detail.target.showModal();
  });
  document.addEventListener("htmx:beforeSwap", ({ detail }) => {
    const dialog = document.getElementById("dialog");
    const fromDialog = dialog?.open && dialog.contains(detail.requestConfig.elt);
    const overtaken = detail.xhr.status === 409 && detail.target !== notices; // nothing left to ask
    const kept = detail.xhr.status >= 400 && !overtaken;
    if (fromDialog && detail.target !== dialog && !kept) dialog.close();
    if (detail.target === notices) detail.target = placeOfRefusals();
  });
  // A click on the backdrop begins there: a selection that ends there does not close what it began in.
  let pressed = null;
  document.addEventListener("pointerdown", ({ target }) => (pressed = target));
  document.addEventListener("click", ({ target }) => {
    const closer = target.closest("[data-close]");
    const closed = closer?.closest(closer.dataset.close || "dialog");
    if (closed?.matches("dialog")) closed.close();
    else closed?.remove();
    if (target.matches("dialog") && target === pressed && mayClose(target)) target.close();
  });
  document.addEventListener("keydown", (event) => {
    const dialog = document.getElementById("dialog");
    if (event.key !== "Escape" || event.isComposing || !dialog?.open) return;
    event.preventDefault(); // browsers close a dialog whose cancel event was prevented before
    if (mayClose(dialog)) dialog.close();
  });
  const onCancel = (event) => {
    if (event.target.matches("dialog") && !mayClose(event.target)) event.preventDefault();
  };
  document.addEventListener("cancel", onCancel, { capture: true }); // it does not bubble

  // --- Menus close like menus ---------------------------------------------------------------------------

  document.addEventListener("click", ({ target }) => {
    for (const menu of document.querySelectorAll("details.menu[open]")) {
      if (!menu.contains(target)) menu.open = false;
    }
  });
  document.addEventListener("keydown", (event) => {
    const menu = event.key === "Escape" && document.querySelector("details.menu[open]");
    if (!menu) return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });

  // --- Collapsed groups of the navigation are remembered in a cookie, which the server reads --------------

  document.addEventListener("click", ({ target }) => {
    const group = target.closest("summary")?.closest("details[data-nav-group]");
    if (!group) return;
    const cookie = document.cookie.split("; ").find((one) => one.startsWith("kmapp_nav="));
    const names = new Set((cookie ?? "").replace("kmapp_nav=", "").split(".").filter(Boolean));
    if (group.open) names.add(group.dataset.navGroup); // it closes after this event
    else names.delete(group.dataset.navGroup);
    const secure = location.protocol === "https:" ? "; Secure" : "";
    document.cookie = `kmapp_nav=${[...names].join(".")}; Path=/; Max-Age=31536000; SameSite=Lax${secure}`;
  });

  // --- A box that marks all the boxes of its list ------------------------------------------------------------

  document.addEventListener("change", ({ target }) => {
    if (!target.matches("[data-picks-all]")) return;
    document.querySelectorAll("input[name=pick]").forEach((box) => (box.checked = target.checked));
  });

  // --- Copy -------------------------------------------------------------------------------------------------

  document.addEventListener("click", async ({ target }) => {
    const button = target.closest("[data-copy]");
    if (!button) return;
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
    } catch {
      warn(body.dataset.sayNotCopied); // no permission, or a page without TLS
      return;
    }
    button.dataset.copied = "yes";
    document.getElementById("said").textContent = body.dataset.sayCopied;
    setTimeout(() => delete button.dataset.copied, 1500);
  });

  // --- When the focused row is swapped away, the row now in its place takes the focus -------------------------
  // In a list that opens what it points at, the focus goes from the open row to the one that is open now, because
  // keys act on the row with the focus. What opens is brought into view, and takes the focus of a form that closed.

  let place = -1;
  let openBefore = ""; // the id of the open link, if its row has the focus
  let formBefore = null; // the form with the focus, which the next swap may remove
  let partBefore = ""; // the id of what is open
  const rows = () => [...document.querySelectorAll("[data-row]")];
  const openPart = () => document.querySelector("[data-opened]");
  const openLink = () => document.querySelector("[data-opens] [aria-current]");
  document.addEventListener("htmx:beforeSwap", () => {
    const row = document.activeElement?.closest("[data-row]");
    place = rows().indexOf(row);
    openBefore = row?.contains(openLink()) ? openLink().id : "";
    formBefore = document.activeElement?.closest("form[data-asks]");
    partBefore = openPart()?.dataset.opened ?? "";
  });
  document.addEventListener("htmx:afterSettle", () => {
    place = -1; // the focused row is still there
    const part = openPart();
    const top = part?.getBoundingClientRect().top ?? 0;
    const isElsewhere = top < 0 || top > window.innerHeight * 0.75;
    if (part && partBefore && part.dataset.opened !== partBefore && isElsewhere) part.scrollIntoView();
  });
  new MutationObserver(() => {
    const open = openLink();
    const { activeElement } = document;
    if (formBefore && !formBefore.isConnected && open && activeElement === body) {
      open.focus({ preventScroll: true });
      formBefore = null;
    }
    const isOvertaken = openBefore && open && open.id !== openBefore;
    if (isOvertaken && (activeElement === body || activeElement?.closest("[data-opens]"))) {
      open.focus();
      place = -1;
      openBefore = "";
    }
    if (place < 0 || activeElement !== body) return;
    const row = rows()[Math.min(place, rows().length - 1)];
    (row?.querySelector("a, button") ?? document.getElementById("content")).focus();
    place = -1;
  }).observe(document.getElementById("content"), { childList: true, subtree: true });
})();
