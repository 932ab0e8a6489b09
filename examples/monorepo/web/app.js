document.addEventListener("DOMContentLoaded", () => {
  document.body.textContent = "Hello from web";
});
