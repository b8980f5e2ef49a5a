// Sets the chosen theme before the page is drawn. Without a choice the system's holds.

(() => {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const chosen = () => {
    try {
      return localStorage.getItem("theme");
    } catch {
      return null; // Storage is off.
    }
  };
  const current = () => chosen() ?? (system.matches ? "dark" : "light");
  const set = () => {
    document.documentElement.dataset.theme = current();
    const button = document.getElementById("theme");
    if (button) button.textContent = current() === "dark" ? "Light" : "Dark";
  };
  set();
  system.addEventListener("change", set);
  addEventListener("DOMContentLoaded", () => {
    set();
    document.getElementById("theme").addEventListener("click", () => {
      const next = current() === "dark" ? "light" : "dark";
      try {
        localStorage.setItem("theme", next);
      } catch {
        // Storage is off: the choice holds until the page is left.
      }
      document.documentElement.dataset.theme = next;
      document.getElementById("theme").textContent = next === "dark" ? "Light" : "Dark";
    });
  });
})();
