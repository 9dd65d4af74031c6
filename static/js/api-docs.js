// Swagger UI over our own schema. Keys typed here stay in this page's memory.
const {theme} = document.documentElement.dataset;
const night = matchMedia("(prefers-color-scheme: dark)").matches;
const dark = theme === "dark" || (theme === "auto" && night);
document.documentElement.classList.toggle("dark-mode", dark);

const place = document.getElementById("api-docs");
SwaggerUIBundle({
  url: place.dataset.schema,
  domNode: place,
  // The page has a heading of its own; the one of Swagger UI skips levels.
  plugins: [() => ({components: {InfoContainer: () => null}})],
  // A link inside the button that opens an operation is out of reach for the keyboard.
  deepLinking: false,
  // Every schema stands with the operation that uses it.
  defaultModelsExpandDepth: -1,
  tryItOutEnabled: true,
  persistAuthorization: false,
  validatorUrl: null,
});

// What Swagger UI leaves without a name, or out of the keyboard's reach.
new MutationObserver(() => {
  for (const area of place.querySelectorAll("textarea:not([aria-label])")) {
    area.setAttribute("aria-label", "Request body");
  }
  for (const choice of place.querySelectorAll("[data-param-name] select:not([aria-label])")) {
    choice.setAttribute("aria-label", choice.closest("[data-param-name]").dataset.paramName);
  }
  for (const code of place.querySelectorAll("pre.microlight:not([tabindex])")) code.tabIndex = 0;
}).observe(place, {childList: true, subtree: true});
