// Freshness. <div data-poll="/url" data-poll-seconds="15"> is asked for again while the page is looked at:
// an unchanged answer costs a 304, a failing server is said aloud with the time of what is still shown.
(() => {
  "use strict";

  const bar = document.getElementById("stale");
  const failing = new Set();

  function say(element, failed, since) {
    if (failed) failing.add(element);
    else failing.delete(element);
    bar.hidden = failing.size === 0;
    if (failed) bar.querySelector("time").textContent = since.toLocaleTimeString(document.documentElement.lang);
  }

  function watch(element) {
    if (element.dataset.polled) return;
    element.dataset.polled = "yes";
    const every = 1000 * Number(element.dataset.pollSeconds || 15);
    let etag = "";
    let since = new Date();
    let failures = 0;
    let timer = 0;

    // Nothing moves under the pointer or the focus: what is new is shown once they have left.
    let news = null;
    const held = () => element.matches(":hover, :focus-within");
    function show(text) {
      news = text;
      if (held()) setTimeout(() => news === text && element.isConnected && show(text), 1000);
      else window.htmx.swap(element, text, { swapStyle: "innerHTML" });
    }

    async function ask() {
      clearTimeout(timer);
      if (!element.isConnected) return say(element, false, since);
      if (document.hidden) return undefined; // becoming visible asks again
      try {
        const headers = { "HX-Request": "true", ...(etag && { "If-None-Match": etag }) };
        const answer = await fetch(element.dataset.poll, { headers, cache: "no-store" });
        if (!answer.ok && answer.status !== 304) throw new Error(String(answer.status));
        if (answer.status === 200) {
          etag = answer.headers.get("ETag") || "";
          show(await answer.text());
        }
        failures = 0;
        since = new Date();
      } catch {
        failures += 1;
      }
      say(element, failures > 1, since); // one lost answer is not news
      clearTimeout(timer);
      timer = setTimeout(ask, every * Math.min(2 ** failures, 8));
      return undefined;
    }

    document.addEventListener("visibilitychange", ask);
    timer = setTimeout(ask, every);
  }

  const watchAll = () => document.querySelectorAll("[data-poll]").forEach(watch);
  watchAll();
  document.addEventListener("htmx:afterSettle", watchAll);
})();
