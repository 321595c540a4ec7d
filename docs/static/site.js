"use strict";
// Both work without a network; without a server, the list of versions stays hidden.

// A page of links has the anchors of the document that it stands for: an old address leads to the section's page.
addEventListener("DOMContentLoaded", () => {
  const anchor = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const item = anchor instanceof HTMLSpanElement && !anchor.textContent && anchor.closest("li");
  const link = item && item.querySelector("a.reference.internal");
  if (link) location.replace(link.href);
});

// The versions are those of versions.json: that of a deployment, one folder up, or that of this site.
addEventListener("DOMContentLoaded", async () => {
  const box = document.querySelector(".site-version");
  const top = new URL(document.documentElement.dataset.content_root || "./", location.href);
  if (!box || !location.protocol.startsWith("http")) return;
  for (const place of ["../versions.json", "versions.json"]) {
    const address = new URL(place, top);
    const answer = await fetch(address).catch(() => null);
    if (!answer || !answer.ok) continue;
    const versions = await answer.json().catch(() => null);
    if (!Array.isArray(versions)) continue;
    const select = box.querySelector("select");
    for (const { name, commit, url } of versions) {
      const at = new URL(url, address);
      // Only pages of the web, wherever the list comes from.
      if (!at.protocol.startsWith("http")) continue;
      const option = new Option(commit ? `${name} (${commit})` : name, at.href);
      option.selected = at.href === top.href;
      select.append(option);
    }
    if (select.options.length < 2) return;
    select.addEventListener("change", () => location.assign(select.value));
    box.querySelector("label").hidden = false;
    return;
  }
});
