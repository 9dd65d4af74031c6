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
          window.htmx.swap(element, await answer.text(), { swapStyle: "innerHTML" });
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
