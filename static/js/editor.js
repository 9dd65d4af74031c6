// The editor of a document: the place of the cursor for an inserted image, images that are pasted or dropped into
// the text, and links to memories. Drafts and the preview are htmx; saving needs none of this.
(() => {
  "use strict";

  const form = document.querySelector("[data-editor]");
  if (!form) return;
  const text = form.elements.text;
  const file = form.elements.image;

  // What is typed while the form is sent would be lost with this page.
  new MutationObserver(() => {
    text.readOnly = form.matches("[aria-busy]");
  }).observe(form, { attributeFilter: ["aria-busy"] });

  // Without a cursor, an image is added at the end.
  text.addEventListener("blur", () => {
    form.elements.cursor.value = text.selectionStart;
  });

  function insert(event, data) {
    // Office programs add a picture of the text that they copy.
    if (["text/plain", "text/html"].every((type) => data.types.includes(type))) return;
    const image = [...data.files].find((each) => each.type.startsWith("image/"));
    if (!image) return;
    event.preventDefault();
    const chosen = new DataTransfer();
    chosen.items.add(image);
    file.files = chosen.files;
    form.elements.cursor.value = text.selectionStart;
    form.requestSubmit(form.querySelector("[value=image]"));
  }
  form.addEventListener("click", (event) => {
    const link = event.target.closest("[data-insert]")?.dataset.insert;
    if (!link) return;
    text.setRangeText(link, text.selectionStart, text.selectionEnd, "end");
    text.dispatchEvent(new Event("input", { bubbles: true }));
    text.focus();
  });
  text.addEventListener("paste", (event) => insert(event, event.clipboardData));
  text.addEventListener("drop", (event) => insert(event, event.dataTransfer));
})();
