// Builds the one script and the one style sheet that the Python package ships. The head of each says
// from which sources it was built (sha256 over their paths and contents), so that a test can tell, without
// Node, whether the committed files are up to date, and it carries uPlot's licence.

import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig, type Plugin } from "vite";

const root = fileURLToPath(new URL(".", import.meta.url));
const out = join(root, "../python/windtunnel/report/assets");

/** Everything that determines the result of the build. */
function sources(): string[] {
  const inSrc = (readdirSync(join(root, "src"), { recursive: true, withFileTypes: true }) as import("node:fs").Dirent[])
    .filter((e) => e.isFile())
    .map((e) => join(e.parentPath, e.name).slice(root.length).replaceAll("\\", "/"));
  return [...inSrc, "package-lock.json", "vite.config.ts"].sort();
}

function digest(): string {
  const hash = createHash("sha256");
  for (const path of sources()) {
    hash.update(`${path}\n`).update(readFileSync(join(root, path), "utf8").replaceAll("\r\n", "\n"));
  }
  return hash.digest("hex");
}

function banner(): Plugin {
  const licence = readFileSync(join(root, "node_modules/uplot/LICENSE"), "utf8").replaceAll("\r\n", "\n").trim();
  const version = (JSON.parse(readFileSync(join(root, "node_modules/uplot/package.json"), "utf8")) as { version: string })
    .version;
  const notice = `windtunnel report page. MIT OR Apache-2.0. Built from web/; do not edit.
sources sha256: ${digest()}

Contains uPlot ${version}:
${licence}`;
  return {
    name: "banner",
    enforce: "post",
    generateBundle(_options, bundle) {
      for (const file of Object.values(bundle)) {
        if (file.type === "chunk") file.code = `/*!\n${notice}\n*/\n${file.code}`;
        else if (file.fileName.endsWith(".css")) file.source = `/*!\n${notice}\n*/\n${String(file.source)}`;
      }
      this.emitFile({
        type: "asset",
        fileName: "NOTICE",
        source: `The files report.js and report.css contain uPlot ${version} (https://github.com/leeoniya/uPlot):\n\n${licence}\n`,
      });
    },
  };
}

export default defineConfig({
  build: {
    outDir: out,
    emptyOutDir: true,
    target: "es2022",
    lib: { entry: join(root, "src/main.ts"), formats: ["iife"], name: "windtunnelReport", fileName: () => "report.js", cssFileName: "report" },
  },
  plugins: [banner()],
});
