// Builds the scripts and style sheets that the Python package ships: those of reports, those of the lab (`--mode lab`),
// and the lab's worker (`--mode worker`). The head of each says from which sources it was built (sha256 over their paths
// and contents), so that a test can tell, without Node, whether the committed files are up to date, and it carries
// uPlot's licence.

import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig, type Plugin } from "vite";

const root = fileURLToPath(new URL(".", import.meta.url));

interface Product {
  readonly entry: string;
  readonly name: string;
  /** Folders of its sources. */
  readonly folders: readonly string[];
  readonly out: string;
}

const PRODUCTS: Readonly<Record<string, Product>> = {
  production: { entry: "src/main.ts", name: "report", folders: ["src"], out: "../python/windtunnel/report/assets" },
  lab: { entry: "lab/main.ts", name: "lab", folders: ["lab", "src"], out: "../python/windtunnel/lab/assets" },
  worker: { entry: "lab/worker.ts", name: "worker", folders: ["lab", "src"], out: "../python/windtunnel/lab/assets" },
};

/** Everything that determines the result of the build. */
function sources(folders: readonly string[]): string[] {
  const files = folders.flatMap((folder) => readdirSync(join(root, folder), { recursive: true, withFileTypes: true }) as import("node:fs").Dirent[])
    .filter((e) => e.isFile())
    .map((e) => join(e.parentPath, e.name).slice(root.length).replaceAll("\\", "/"));
  return [...files, "package-lock.json", "vite.config.ts"].sort();
}

function digest(folders: readonly string[]): string {
  const hash = createHash("sha256");
  for (const path of sources(folders)) {
    hash.update(`${path}\n`).update(readFileSync(join(root, path), "utf8").replaceAll("\r\n", "\n"));
  }
  return hash.digest("hex");
}

function banner({ folders, name }: Product): Plugin {
  const licence = readFileSync(join(root, "node_modules/uplot/LICENSE"), "utf8").replaceAll("\r\n", "\n").trim();
  const version = (JSON.parse(readFileSync(join(root, "node_modules/uplot/package.json"), "utf8")) as { version: string })
    .version;
  const notice = `windtunnel ${name} page. MIT OR Apache-2.0. Built from web/; do not edit.
sources sha256: ${digest(folders)}

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
      if (name === "worker") return;
      this.emitFile({
        type: "asset",
        fileName: "NOTICE",
        source: `The files ${name}.js and ${name}.css contain uPlot ${version} (https://github.com/leeoniya/uPlot):\n\n${licence}\n`,
      });
    },
  };
}

export default defineConfig(({ mode }) => {
  // Tests run in a mode of their own, and build nothing.
  const product = PRODUCTS[mode] ?? PRODUCTS["production"]!;
  const { entry, name, out } = product;
  return {
    build: {
      outDir: join(root, out),
      // The two of the lab are in one folder, with what is not of this build.
      emptyOutDir: mode === "production",
      target: "es2022",
      lib: { entry: join(root, entry), formats: ["iife"], name: `windtunnel_${name}`, fileName: () => `${name}.js`, cssFileName: name },
    },
    plugins: [banner(product)],
  };
});
