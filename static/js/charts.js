// Charts: a tooltip that follows the pointer or the arrow keys, and a legend that hides series.
// The data are read from the chart's table, so that the picture and the table cannot differ.
(() => {
  const WIDTH = 1000;
  const HEIGHT = 160;
  const GAP = 0.2;
  const SVG = "http://www.w3.org/2000/svg";

  const read = (figure) => {
    const columns = [...figure.querySelectorAll("thead th[data-colour]")];
    return {
      names: columns.map((cell) => cell.textContent),
      colours: columns.map((cell) => cell.dataset.colour),
      rows: [...figure.querySelectorAll("tbody tr")].map((row) => ({
        label: row.cells[0].textContent,
        texts: [...row.cells].slice(1).map((cell) => cell.textContent),
        values: [...row.cells].slice(1).map((cell) => (cell.dataset.value === "" ? null : Number(cell.dataset.value))),
      })),
    };
  };

  // The same scale as kmapp/web/charts.py: 1, 2 or 5 times a power of ten.
  const roundUp = (value) => {
    if (value <= 0) return 1;
    const power = 10 ** Math.floor(Math.log10(value));
    return ([1, 2, 5, 10].find((step) => value <= step * power) || 10) * power;
  };

  const element = (name, attributes) => {
    const created = document.createElementNS(SVG, name);
    Object.entries(attributes).forEach(([key, value]) => created.setAttribute(key, value));
    return created;
  };

  const draw = (figure) => {
    const { colours, rows } = read(figure);
    const buttons = [...figure.querySelectorAll("[data-series]")];
    const shown = colours.map((_, index) => !buttons[index] || buttons[index].getAttribute("aria-pressed") === "true");
    const visible = rows.map((row) => row.values.map((value, index) => (shown[index] ? value : null)));
    const stacked = figure.dataset.chart === "columns";
    const peaks = visible.map((values) => (stacked ? values.reduce((sum, value) => sum + (value || 0), 0) : Math.max(0, ...values.map((value) => value || 0))));
    const maximum = roundUp(Math.max(0, ...peaks));
    const width = WIDTH / rows.length;
    const marks = figure.querySelector(".chart-marks");
    marks.replaceChildren();
    if (stacked) {
      visible.forEach((values, column) => {
        let y = HEIGHT;
        values.forEach((value, index) => {
          if (!value) return;
          const height = (HEIGHT * value) / maximum;
          y -= height;
          marks.append(element("rect", { class: `part-${colours[index]}`, x: width * (column + GAP / 2), y, width: width * (1 - GAP), height }));
        });
      });
    } else {
      colours.forEach((colour, index) => {
        let path = "";
        let points = "";
        const known = (column) => visible[column] && visible[column][index] !== null;
        visible.forEach((values, column) => {
          const value = values[index];
          if (value === null) return;
          const joined = known(column - 1);
          const point = `${width * (column + 0.5)} ${HEIGHT * (1 - value / maximum)}`;
          path += joined ? `L${point}` : `M${point}h0`;
          if (!joined && !known(column + 1)) points += `M${point}h0`;
        });
        marks.append(element("path", { class: `chart-line line-${colour}`, d: path }));
        if (points) marks.append(element("path", { class: `chart-line is-point line-${colour}`, d: points }));
      });
    }
    const language = document.documentElement.lang;
    figure.querySelectorAll(".chart-scale li").forEach((label, index) => {
      const value = maximum * (1 - index / 2);
      label.textContent = value.toLocaleString(language, value < 1 ? { maximumSignificantDigits: 3 } : { maximumFractionDigits: 2 });
    });
  };

  const point = (figure, column) => {
    const { names, colours, rows } = read(figure);
    const tip = figure.querySelector(".chart-tip");
    const cursor = figure.querySelector(".chart-cursor");
    const row = rows[column];
    if (!row) return;
    const title = document.createElement("strong");
    title.textContent = row.label;
    const lines = names.map((name, index) => {
      const line = document.createElement("span");
      const swatch = document.createElement("i");
      swatch.className = `swatch part-${colours[index]}`;
      line.append(swatch, `${name} `, row.texts[index]);
      return line;
    });
    tip.replaceChildren(title, ...lines);
    tip.hidden = false;
    const share = (column + 0.5) / rows.length;
    cursor.setAttribute("transform", `translate(${WIDTH * share} 0)`);
    cursor.removeAttribute("hidden");
    // The tip stays inside the chart: it hangs to the left of the cursor in the right half.
    tip.classList.toggle("is-left", share > 0.5);
    tip.style.left = share > 0.5 ? "" : `${share * 100}%`;
    tip.style.right = share > 0.5 ? `${(1 - share) * 100}%` : "";
    figure.dataset.column = column;
  };

  const leave = (figure) => {
    figure.querySelector(".chart-tip").hidden = true;
    figure.querySelector(".chart-cursor").setAttribute("hidden", "");
    delete figure.dataset.column;
  };

  const setUp = (figure) => {
    const svg = figure.querySelector("svg");
    if (!svg || figure.dataset.ready) return;
    figure.dataset.ready = "true";
    svg.setAttribute("tabindex", "0");
    const count = figure.querySelectorAll("tbody tr").length;
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect();
      point(figure, Math.min(count - 1, Math.floor((count * (event.clientX - box.left)) / box.width)));
    });
    svg.addEventListener("pointerleave", () => leave(figure));
    svg.addEventListener("blur", () => leave(figure));
    svg.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (event.key === "Escape") leave(figure);
      if (!step) return;
      event.preventDefault();
      const current = figure.dataset.column === undefined ? (step > 0 ? -1 : count) : Number(figure.dataset.column);
      point(figure, Math.min(count - 1, Math.max(0, current + step)));
    });
    figure.querySelectorAll("[data-series]").forEach((button) =>
      button.addEventListener("click", () => {
        button.setAttribute("aria-pressed", button.getAttribute("aria-pressed") !== "true");
        draw(figure);
      }),
    );
  };

  const setUpAll = (root) => root.querySelectorAll(".chart").forEach(setUp);
  document.addEventListener("htmx:load", (event) => setUpAll(event.detail.elt));
  setUpAll(document);
})();
