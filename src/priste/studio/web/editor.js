// The map to draw on: own tracks, cells, and places as circles and shapes.
"use strict";

const PristeEditor = (() => {
  const { baseMap, addLand, bounds, Cells, colour, element, onRepaint } = PristeViews;
  const TITLES = {
    drawPolyButton: "Draw a shape", drawCircleButton: "Draw a circle", drawRectButton: "Draw a rectangle",
    editButton: "Reshape places", dragButton: "Move places", deleteButton: "Remove places",
  };

  class Editor {
    // `changed(places)` hears of every place that is drawn, moved, reshaped or removed
    constructor(box, land, changed) {
      this.changed = changed;
      this.map = baseMap(box, "Map: draw the places that are secret", { zoomControl: true });
      this.map.setView([30, 10], 1.5);
      this.canvas = L.canvas({ padding: 0.3 });
      this.around = land;
      this.land = addLand(this.map, land);
      this.tracks = L.layerGroup().addTo(this.map);
      this.cells = null;
      this.layers = new Map();
      this.map.on("focus click", () => this.map.scrollWheelZoom.enable());
      this.map.on("blur", () => this.map.scrollWheelZoom.disable());
      this.map.pm.setLang("own", { buttonTitles: TITLES }, "en");
      this.map.pm.addControls({
        position: "topleft", drawMarker: false, drawCircleMarker: false, drawPolyline: false, drawText: false,
        cutPolygon: false, rotateMode: false,
      });
      for (const button of box.querySelectorAll(".leaflet-pm-toolbar .button-container")) {
        button.querySelector("a").setAttribute("aria-label", button.title || button.querySelector(".control-icon").parentNode.title);
      }
      this.map.pm.setGlobalOptions({ snappable: false, continueDrawing: false });
      this.map.on("pm:create", ({ layer }) => {
        layer.remove();
        this.changed("add", null, this.read(layer));
      });
      onRepaint(() => this.repaint());
    }

    style() {
      return { color: colour("--secret"), fillColor: colour("--secret"), fillOpacity: 0.15, weight: 2 };
    }

    read(layer) {
      if (layer instanceof L.Circle) {
        const { lat, lng } = layer.getLatLng();
        return { circle: { latitude: Number(lat.toFixed(6)), longitude: Number(lng.toFixed(6)), radius_km: Number((layer.getRadius() / 1000).toFixed(4)) } };
      }
      const ring = layer.getLatLngs()[0];
      return { polygon: ring.map(({ lat, lng }) => [Number(lng.toFixed(6)), Number(lat.toFixed(6))]) };
    }

    middle() {
      const { lat, lng } = this.map.getCenter();
      const view = this.map.getBounds();
      const width = this.map.distance(view.getNorthWest(), view.getNorthEast());
      const radius = Math.max(0.05, Math.min(width / 12000, 50));
      return { circle: { latitude: Number(lat.toFixed(6)), longitude: Number(lng.toFixed(6)), radius_km: Number(radius.toPrecision(2)) } };
    }

    places(places) {
      for (const layer of this.layers.values()) layer.remove();
      this.layers.clear();
      for (const place of places) {
        const layer = place.circle
          ? L.circle([place.circle.latitude, place.circle.longitude], { radius: 1000 * place.circle.radius_km, ...this.style() })
          : L.polygon(place.polygon.map(([longitude, latitude]) => [latitude, longitude]), this.style());
        layer.bindTooltip(element("span", {}, place.name), { permanent: true, direction: "top", className: "place-name" });
        layer.addTo(this.map);
        layer.on("pm:edit pm:dragend", () => this.changed("change", place.name, this.read(layer)));
        layer.on("pm:remove", () => this.changed("remove", place.name));
        this.layers.set(place.name, layer);
      }
    }

    show(lines, move) {
      this.tracks.clearLayers();
      const style = { color: colour("--true"), weight: 1.5, opacity: 0.55, interactive: false, renderer: this.canvas, pmIgnore: true };
      for (const line of lines) this.tracks.addLayer(L.polyline(line, style));
      if (!move) return;
      const points = lines.flat();
      if (points.length) this.map.fitBounds(L.latLngBounds(points), { padding: [20, 20], maxZoom: 16 });
    }

    grid(place) {
      const key = JSON.stringify([place.rows, place.columns, place.lattice[0][0], place.cell_km]);
      if (this.cells && this.key === key) return;
      if (this.cells) this.cells.remove();
      this.key = key;
      this.cells = new Cells(place).addTo(this.map);
      this.ground(place.land);
      this.map.fitBounds(bounds(place), { padding: [10, 10] });
    }

    // what lies under everything else: the land there is, or the base map that was given
    ground(land) {
      this.around = land || this.around;
      this.land.remove();
      this.land = addLand(this.map, this.around);
    }

    repaint() {
      this.ground();
      for (const layer of this.layers.values()) layer.setStyle(this.style());
      this.tracks.eachLayer((layer) => layer.setStyle({ color: colour("--true") }));
      if (this.cells) this.cells.redraw();
    }
  }

  return { Editor };
})();
