// Polling. <div data-poll="/url" data-poll-seconds="15"> is requested again while the page is visible.
// An unchanged part costs a 304. If the server fails, a bar shows the time of the data on the page.
// After a sign-out, the page redirects to the sign-in page once nobody types in it; a part that is refused is not polled again.
(() => {
  "use strict";

  const FINAL = [403, 404, 410]; // asking again changes nothing
  const OTHER_ACCOUNT = 409; // is selected, perhaps not for long
  const { account } = document.body.dataset;
  const bar = document.getElementById("stale");
  const failing = new Set();

  function say(element, failed, since) {
    if (failed) failing.add(element);
    else failing.delete(element);
    bar.hidden = failing.size === 0;
    if (failed) bar.querySelector("time").textContent = since.toLocaleTimeString(document.documentElement.lang);
  }

  // Leaving the page would lose what someone types.
  const isTyping = () =>
    document.activeElement?.matches("input, textarea, select") || document.querySelector("dialog[open]");

  const watched = new WeakSet();

  function watch(element) {
    if (watched.has(element)) return;
    watched.add(element);
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

    function stop() {
      document.removeEventListener("visibilitychange", ask);
      say(element, false, since);
    }

    async function ask() {
      clearTimeout(timer);
      if (!element.isConnected) return stop();
      if (document.hidden) return undefined; // becoming visible asks again
      try {
        const headers = {
          "HX-Request": "true",
          "HX-Current-URL": location.href, // where the sign-in leads back to
          ...(account && { "X-Page-Account": account }),
          // A morph of the page empties the element and removes the mark: all of it is needed again.
          ...(etag && element.dataset.shown && { "If-None-Match": etag }),
        };
        const answer = await fetch(element.dataset.poll, { headers, cache: "no-store" });
        const elsewhere = answer.headers.get("HX-Redirect");
        if (elsewhere && !isTyping()) return location.assign(elsewhere);
        const isOwn = answer.headers.has("HX-Retarget"); // a proxy's refusal ends with the outage
        if (isOwn && FINAL.includes(answer.status)) return stop();
        const isExpected = elsewhere || answer.status === 304 || (isOwn && answer.status === OTHER_ACCOUNT);
        if (!answer.ok && !isExpected) throw new Error(String(answer.status));
        if (answer.status === 200 && !elsewhere) {
          etag = answer.headers.get("ETag") || "";
          element.dataset.shown = "yes";
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
