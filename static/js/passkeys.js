// Passkeys: the browser creates or uses one, and the form submits it. Texts are in the page.
(() => {
  "use strict";

  const kinds = window.PublicKeyCredential;
  // An address of digits is no name for which a browser stores a passkey.
  const named = !/^[\d.]+$|:/.test(location.hostname);
  const supported = Boolean(window.isSecureContext && named && kinds?.parseRequestOptionsFromJSON);

  async function loadOptions(form) {
    const inPage = form.querySelector("script[type='application/json']");
    if (inPage) return JSON.parse(inPage.textContent);
    const answer = await fetch(form.action, { headers: { Accept: "application/json" } });
    if (!answer.ok) throw new Error(`${answer.status}`);
    return answer.json();
  }

  async function create(form, options) {
    const publicKey = structuredClone(options.creation_options.publicKey);
    const alone = form.elements.passwordless?.checked ?? false;
    publicKey.authenticatorSelection = {
      ...publicKey.authenticatorSelection,
      residentKey: alone ? "required" : "discouraged",
      requireResidentKey: alone,
      userVerification: alone ? "required" : "preferred",
    };
    return navigator.credentials.create({ publicKey: kinds.parseCreationOptionsFromJSON(publicKey) });
  }

  async function use(options) {
    const publicKey = kinds.parseRequestOptionsFromJSON(options.request_options.publicKey);
    return navigator.credentials.get({ publicKey });
  }

  function show(form, name) {
    for (const error of form.querySelectorAll("[data-passkey-error]")) {
      error.hidden = error.dataset.passkeyError !== name;
    }
  }

  async function start(form) {
    show(form, supported ? "" : "unsupported");
    if (!supported) return;
    try {
      const options = await loadOptions(form);
      const made = form.dataset.passkey === "create";
      const credential = made ? await create(form, options) : await use(options);
      form.elements.credential.value = JSON.stringify(credential.toJSON());
      form.submit();
    } catch {
      show(form, "failed"); // cancelled, timed out, no passkey of this site, or no answer
    }
  }

  for (const form of document.querySelectorAll("form[data-passkey]")) {
    const button = form.querySelector("[data-passkey-start]");
    let isAsking = false; // a second request would fail, or end the first one
    button.hidden = false;
    button.addEventListener("click", async () => {
      if (isAsking) return;
      isAsking = true;
      await start(form);
      isAsking = false;
    });
  }
})();
