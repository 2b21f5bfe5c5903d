// SPDX-License-Identifier: Apache-2.0
// Bundles the dashboard into dist/, which is committed, so that the C build needs no Node (ADR: web assets). `make check`
// builds it again and compares.
import { build } from 'esbuild';
import { copyFileSync, mkdirSync, rmSync } from 'node:fs';

const out = process.argv[2] ?? 'dist';
rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
await build({
  entryPoints: { app: 'src/main.tsx' },
  outdir: out,
  bundle: true, minify: true, legalComments: 'none', charset: 'utf8',
  target: ['es2020'], format: 'iife', jsx: 'automatic', jsxImportSource: 'preact',
  logLevel: 'warning',
});
for (const f of ['index.html', 'plain.css', 'icon.svg']) copyFileSync(`src/${f}`, `${out}/${f}`);
