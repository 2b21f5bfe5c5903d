// SPDX-License-Identifier: Apache-2.0
// The dashboard against a real daemon: every view, live updates, a restart, roles, languages, wrong input, accessibility.
import { createRequire } from 'node:module';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { CLUSTER, Daemon, done, launch, ok, open, readFileSync, shot, sleep, until, WZ } from './lib.mjs';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const DEVICES = '.table[aria-label=Devices]';
const VIEWS = ['board', 'queue', 'timeline', 'repack', 'usage', 'health', 'whatif', 'replay'];
const d = await Daemon.start(CLUSTER);
const browser = await launch();
try {
  const first = d.submit('--name', 'train', '--gpus', '2', '--', 'sh', '-c', 'for i in $(seq 1000); do printf "step %d\\r" $i; sleep 0.1; done');
  d.submit('--gpus', '4', '--', 'sleep', '1000');
  d.submit('--gpu-share', '30%', '--', 'sleep', '1000');
  const stuck = d.submit('--name', 'too-big', '--gpus', '16', '--', 'true');
  const sorry = d.submit('--name', 'sorry', '--gpus', '1', '--', 'sh', '-c', 'echo canary-output; exit 3');
  await until(async () => JSON.parse((await d.get(`/v1/jobs/${sorry}`)).text).state === 'FAILED', 'a job fails');

  // ---- an admin, in English
  const page = await open(browser, d, 'admin');
  for (const view of VIEWS) {
    await page.goto(`${d.base}/#/${view}`);
    await page.waitForSelector('main h1, main .strip');
    await sleep(400);
    ok((await page.textContent('main')).trim().length > 20, `${view}: it shows something`);
    await shot(page, `en-${view}`);
    await page.evaluate(axe);
    const found = await page.evaluate(() => axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa'] }));
    ok(found.violations.length === 0, `${view}: axe-core finds nothing`, found.violations.map((v) => `${v.id}: ${v.nodes.map((x) => x.html).slice(0, 3).join(' | ')}`).join('\n'));
  }
  ok(await page.evaluate(() => [...document.querySelectorAll('a')].every((a) => !a.href || new URL(a.href).host === location.host)), 'no link leads away');

  // ---- a job's page: log folded and followed, why, actions with a question before
  await page.goto(`${d.base}/#/job/${first}`);
  await page.waitForSelector('pre.log');
  const log = await until(async () => /step \d+/.exec(await page.textContent('pre.log')), 'the log comes');
  ok(!(await page.textContent('pre.log')).includes('\r') && (await page.textContent('pre.log')).split('step').length === 2, 'carriage returns are folded');
  ok(await until(async () => (await page.textContent('pre.log')) !== log[0] && true, 'it goes on'), 'the log is followed');
  await shot(page, 'en-job');
  await page.goto(`${d.base}/#/job/${stuck}`);
  await page.waitForSelector('#why');
  ok(/never|Never|永远|blockers|clear/i.test(await page.textContent('main')) , 'a job that cannot run says why', await page.textContent('main'));
  await shot(page, 'en-why');
  await page.click('button:has-text("Hold")');
  ok(await page.isVisible('[role=alertdialog]'), 'a question comes first');
  await page.keyboard.press('Escape');
  ok(!(await page.isVisible('[role=alertdialog]')), 'Escape is no');
  await page.click('button:has-text("Hold")');
  await page.click('[role=alertdialog] button.primary');
  await until(async () => JSON.parse((await d.get(`/v1/jobs/${stuck}`)).text).state === 'HELD', 'held');
  await until(async () => (await page.textContent('h1')).includes('HELD'), 'the page shows it by itself');
  ok(true, 'an action is done, and seen without a reload');
  await page.goto(`${d.base}/#/job/999999`);
  await page.waitForSelector('.problem');
  ok(/no such job|no job/i.test(await page.textContent('.problem')), 'a job that is not there: a clear error');

  // ---- the board is live; the keyboard works
  await page.goto(`${d.base}/#/board`);
  await page.waitForSelector('canvas');
  const busy = async () => Number(await page.textContent('.strip div:nth-child(2) dd'));
  const before = await busy();
  const more = d.submit('--gpus', '1', '--gpu-type', 't4', '--', 'sleep', '1000');
  await until(async () => (await busy()) === before + 1, 'one more device is busy');
  ok(true, 'a start is seen without a reload');
  await page.focus('canvas');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  ok(/GiB/.test(await page.textContent('[aria-live=polite]')), 'arrow keys read a tile out', await page.textContent('[aria-live=polite]'));
  await page.fill('input[type=search]', 'user:nobody-at-all');
  await page.click('button:has-text("Table")');
  await sleep(200);
  ok((await page.$$(`${DEVICES} tbody tr td`)).length === 0, 'a filter that nothing passes');
  await page.fill('input[type=search]', `job:${first}`);
  await sleep(200);
  ok((await page.$$(`${DEVICES} tbody tr`)).length === 2, 'a filter by job: its two devices', await page.textContent('main'));
  await page.fill('input[type=search]', '');

  // ---- the past
  const then = Date.now() * 1000;
  d.wz('cancel', String(more));
  await until(async () => JSON.parse((await d.get(`/v1/jobs/${more}`)).text).state === 'CANCELLED', 'cancelled');
  await page.goto(`${d.base}/#/timeline`);
  await page.waitForSelector('input[type=range]');
  await page.$eval('input[type=range]', (e, v) => { e.min = String(v - 1e6); e.value = String(v); e.dispatchEvent(new Event('input', { bubbles: true })); }, then);
  await page.click('button:has-text("Show the board then")');
  await page.waitForSelector('p.past');
  await page.click('button:has-text("Table")');
  await until(async () => (await page.textContent(DEVICES)).includes(`#${more}`), 'the cancelled job is on the board of then');
  ok(true, 'the timeline leads to the board of a past moment');
  await shot(page, 'en-past');
  await page.click('button:has-text("Back to now")');
  await until(async () => !(await page.textContent(DEVICES)).includes(`#${more}`), 'and back');

  // ---- the daemon restarts: the page comes back by itself, still logged in
  page.quiet = true;
  await d.halt();
  await page.waitForSelector('.link.down', { timeout: 20000 });
  ok(true, 'the page says that the daemon is away');
  await d.run();
  await page.waitForSelector('.link.up', { timeout: 30000 });
  await sleep(500);
  page.quiet = false;
  const last = d.submit('--gpus', '1', '--gpu-type', 't4', '--', 'sleep', '1000');
  await until(async () => (await page.textContent(DEVICES)).includes(`#${last}`), 'live again');
  ok(true, 'after a restart it is live again, and still logged in');
  ok(page.faults.length === 0, 'no errors in the console', page.faults.join('\n'));
  ok(page.strangers.length === 0, 'no request leaves the machine', page.strangers.join('\n'));

  // ---- a viewer sees numbers, and nobody's commands
  const viewer = await open(browser, d, 'viewer', { locale: 'zh-CN', colorScheme: 'dark' });
  ok((await viewer.textContent('nav')).includes('拼图板'), 'the browser’s language');
  for (const view of VIEWS) { await viewer.goto(`${d.base}/#/${view}`); await sleep(400); await shot(viewer, `zh-${view}`); }
  await viewer.goto(`${d.base}/#/job/${sorry}`);
  await viewer.waitForSelector('h1');
  await sleep(500);
  const seen = await viewer.textContent('body');
  ok(!seen.includes('canary') && !seen.includes('exit 3'), 'a viewer sees no command and no log', seen);
  ok(!(await viewer.isVisible('.actions button')), 'and no buttons');
  ok(!(await viewer.content()).includes('canary'), 'nor are they anywhere in the page');
  await viewer.click('button:has-text("English")');
  ok((await viewer.textContent('nav')).includes('Board'), 'the language is switched in the page');
  ok(viewer.faults.length === 0, 'no errors in the console', viewer.faults.join('\n'));

  // ---- without a login, with a wrong token, by a link
  const stranger = await open(browser, d, '');
  await stranger.waitForSelector('.login');
  await stranger.fill('input[type=password]', 'wz_wrong');
  await stranger.keyboard.press('Enter');
  await stranger.waitForSelector('.problem');
  ok(true, 'a wrong token is refused in words');
  const link = d.wz('dashboard', '--print').trim();
  await stranger.goto(link);
  await stranger.waitForSelector('.strip');
  ok(stranger.url().startsWith(`${d.base}/`) && !stranger.url().includes('code='), 'a one-time link logs in, and is gone from the address');
  ok((await (await fetch(link, { redirect: 'manual' })).status) === 401, 'it works once');

  // ---- without scripts
  const plain = await browser.newContext({ javaScriptEnabled: false, extraHTTPHeaders: { Authorization: `Bearer ${d.token.admin}` } });
  const p = await plain.newPage();
  await p.goto(d.base);
  const links = await p.$$eval('noscript a', (l) => l.map((a) => a.getAttribute('href')));
  ok(links.length >= 7, 'without scripts: links');
  for (const href of links) {
    const r = await p.goto(`${d.base}${href}`);
    ok((r.status() === 200 || r.status() === 501) && (r.status() !== 200 || await p.isVisible('table')), `without scripts: ${href}`, `${r.status()} ${(await p.textContent('body')).slice(0, 300)}`);
  }

  // ---- the replay opens what wz sim wrote, and refuses what it did not
  await page.goto(`${d.base}/#/replay`);
  await page.setInputFiles('input[type=file]', { name: 'x.json', mimeType: 'text/plain', buffer: Buffer.from('{"hello":1}\nworld\n') });
  await page.waitForSelector('.problem');
  ok(/not a journal/.test(await page.textContent('.problem')), 'a file that is no journal: which line');
  execFileSync(WZ, ['trace', 'gen', '--like', 'lab', '--out', join(d.dir, 'lab')]);
  execFileSync(WZ, ['sim', 'pack', '-q', '--trace', join(d.dir, 'lab', 'trace.wz'), '--placement', 'jigsaw', '--journal', join(d.dir, 'run.jsonl')]);
  await page.setInputFiles('input[type=file]', join(d.dir, 'run.jsonl'));
  await page.waitForSelector('.picture canvas');
  const steps = /(\d+) \/ (\d+)/.exec(await page.textContent('.tools'));
  await page.$eval('.grow input[type=range]', (e) => { e.value = e.max; e.dispatchEvent(new Event('input', { bubbles: true })); });
  await page.click('summary');
  await until(async () => (await page.$$(`${DEVICES} a`)).length > 0, 'jobs on the board');
  ok(Number(steps[2]) > 20, 'a run of the simulator is played back', steps);
  await shot(page, 'en-replayed');
} finally {
  await browser.close();
  await d.end();
}
done();
