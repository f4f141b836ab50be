// A base map from a file of the person's own (.pmtiles): read by the page, sent nowhere.
"use strict";

const PristeBase = (() => {
  const VECTOR = 1;
  const plain = (text) => new DOMParser().parseFromString(text || "", "text/html").body.textContent;

  async function open(file) {
    const archive = new pmtiles.PMTiles(new pmtiles.FileSource(file));
    let header;
    let about;
    try {
      header = await archive.getHeader();
      about = await archive.getMetadata();
    } catch {
      throw new Error(`${file.name} is not a map in the PMTiles format.`);
    }
    const dark = window.matchMedia("(prefers-color-scheme: dark)");
    const layer = () =>
      header.tileType === VECTOR
        ? protomapsL.leafletLayer({ url: archive, flavor: dark.matches ? "dark" : "light", maxDataZoom: header.maxZoom, attribution: "" })
        : pmtiles.leafletRasterLayer(archive, { maxNativeZoom: header.maxZoom, attribution: "" });
    return { layer, attribution: plain(about && about.attribution) };
  }

  return { open };
})();
