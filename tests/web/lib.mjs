// SPDX-License-Identifier: Apache-2.0
// A real `wz serve` with an emulated cluster, a real Chromium, and TAP.
import { spawn, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync, existsSync, readFileSync, mkdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

export const WZ = process.env.WZ ?? 'wz';
export const SHOTS = process.env.WZ_SHOTS ?? '';
let n = 0, failed = 0;
export function ok(cond, what, detail = '') {
  n++;
  console.log(`${cond ? 'ok' : 'not ok'} ${n} - ${what}`);
  if (!cond) { failed++; if (detail) console.log(`# ${String(detail).split('\n').join('\n# ')}`); }
  return cond;
}
export function done() { console.log(`1..${n}`); process.exitCode = failed ? 1 : 0; }

const freePort = () => new Promise((give) => { const s = createServer().listen(0, '127.0.0.1', () => { const { port } = s.address(); s.close(() => give(port)); }); });
export const sleep = (ms) => new Promise((r) => setTimeout(r, ms));
export async function until(f, what, ms = 15000) {
  const end = Date.now() + ms;
  for (;;) {
    const v = await f();
    if (v) return v;
    if (Date.now() > end) throw new Error(`not in ${ms} ms: ${what}`);
    await sleep(50);
  }
}

export class Daemon {
  static async start(cluster, flags = []) {
    const d = new Daemon();
    d.dir = mkdtempSync(join(tmpdir(), 'wz-web-'));
    d.state = join(d.dir, 'state');
    d.socket = join(d.dir, 'wz.sock');
    d.port = await freePort();
    d.base = `http://127.0.0.1:${d.port}`;
    d.tokens = join(d.dir, 'tokens');
    writeFileSync(join(d.dir, 'cluster.yaml'), cluster);
    writeFileSync(d.tokens, '', { mode: 0o600 });
    d.token = {};
    for (const [role, name] of [['admin', 'root'], ['user', 'nobody'], ['viewer', 'daemon']])
      d.token[role] = execFileSync(WZ, ['token', 'create', '--role', role, '--tokens', d.tokens, name], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).match(/wz_[0-9a-f]{64}/)[0];
    writeFileSync(join(d.dir, 'wz.yaml'), `version: 1\nstate: ${d.state}\nsocket: {path: ${d.socket}}\nlisten:\n  - {address: "127.0.0.1:${d.port}"}\ntokens: ${d.tokens}\ncluster: ${join(d.dir, 'cluster.yaml')}\n`);
    d.flags = flags;
    await d.run();
    return d;
  }
  async run() {
    this.proc = spawn(WZ, ['serve', '--config', join(this.dir, 'wz.yaml'), ...this.flags], { stdio: ['ignore', 'ignore', 'pipe'] });
    this.log = '';
    this.proc.stderr.on('data', (b) => { this.log += b; });
    await until(async () => (await fetch(`${this.base}/readyz`).catch(() => null))?.ok, `the daemon is ready: ${this.log}`);
  }
  async halt() {
    const gone = new Promise((r) => this.proc.once('exit', r));
    this.proc.kill('SIGTERM');
    await gone;
  }
  async end() {
    const open = JSON.parse((await this.get('/v1/jobs')).text).jobs.map((j) => String(j.id));
    for (let i = 0; i < open.length; i += 500) try { this.wz('cancel', ...open.slice(i, i + 500)); } catch { /* some have ended meanwhile */ }
    await until(async () => JSON.parse((await this.get('/v1/jobs?state=active')).text).jobs.length === 0, 'nothing runs any more', 30000);
    await this.halt();
    rmSync(this.dir, { recursive: true, force: true });
  }
  wz(...args) { return execFileSync(WZ, args, { encoding: 'utf8', env: { ...process.env, WZ_SERVER: this.socket } }); }
  submit(...args) { return Number(this.wz('submit', ...args).trim()); }
  async get(path, role = 'admin') {
    const r = await fetch(`${this.base}${path}`, { headers: { Authorization: `Bearer ${this.token[role]}` } });
    return { status: r.status, text: await r.text() };
  }
  async post(path, body, role = 'admin') {
    const r = await fetch(`${this.base}${path}`, { method: 'POST', body: JSON.stringify(body), headers: { Authorization: `Bearer ${this.token[role]}`, 'Content-Type': 'application/json' } });
    return { status: r.status, text: await r.text() };
  }
}

export const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((p) => existsSync(p));

/** A page that notes what it should not do: errors, requests elsewhere. */
export async function open(browser, daemon, role, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, locale: 'en-US', ...options });
  const page = await context.newPage();
  page.faults = [];
  page.strangers = [];
  page.quiet = false; // while the daemon is away, failed requests are no fault of the page
  page.on('console', (m) => { if (m.type() === 'error' && !page.quiet && !/status of (401|403|404|409|501)/.test(m.text())) page.faults.push(m.text()); });
  page.on('pageerror', (e) => page.faults.push(e.message));
  page.on('request', (r) => { if (!r.url().startsWith(daemon.base) && !r.url().startsWith('data:') && !r.url().startsWith('blob:')) page.strangers.push(r.url()); });
  await page.goto(daemon.base);
  if (role) {
    await page.fill('input[type=password]', daemon.token[role]);
    await page.keyboard.press('Enter');
    await page.waitForSelector('.strip', { timeout: 15000 });
  }
  return page;
}
export function launch() { return chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--force-color-profile=srgb'] }); }
export async function shot(page, name) {
  if (!SHOTS) return;
  mkdirSync(SHOTS, { recursive: true });
  await page.screenshot({ path: join(SHOTS, `${name}.png`) });
}
export { readFileSync };

export const CLUSTER = `version: 1
nodes:
  - {name: a100, count: 2, cpus: 64, mem: 512Gi, rack: r1, devices: [{model: NVIDIA A100-SXM4-80GB, count: 4, mem: 80Gi, link: nvlink}]}
  - {name: v100, cpus: 48, mem: 384Gi, rack: r1, devices: [{model: Tesla V100-SXM2-32GB, count: 8, mem: 32Gi, link: nvlink}]}
  - {name: t4, cpus: 16, mem: 64Gi, rack: r2, devices: [{model: Tesla T4, count: 2, mem: 15Gi}]}
`;
