// Sends a form that only passes on what another site sent. Without scripts, its button does.
document.querySelector("form[data-submit]").submit();
