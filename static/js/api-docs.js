// Swagger UI over our own schema. Keys typed here stay in this page's memory.
const place = document.getElementById("api-docs");
SwaggerUIBundle({
  url: place.dataset.schema,
  domNode: place,
  deepLinking: true,
  tryItOutEnabled: true,
  persistAuthorization: false,
  validatorUrl: null,
});
