// SPDX-License-Identifier: Apache-2.0
// For 100 random moments of an emulated run, the board's JSON is what `wz trace replay --until` makes of the journal.
import { CLUSTER, Daemon, done, ok, sleep } from './lib.mjs';

const seed = Number(process.env.WZ_SEED ?? Date.now() % 1e6);
let s = seed;
const rnd = () => { s = (Math.imul(s, 1103515245) + 12345) >>> 0; return s / 2 ** 32; };
const d = await Daemon.start(CLUSTER);
try {
  const begin = Date.now() * 1000;
  for (let i = 0; i < 60; i++) {
    const what = [['--gpus', '1'], ['--gpus', '2'], ['--gpus', '4'], ['--gpu-share', '30%'], ['--gpu-share', '60%']][Math.floor(rnd() * 5)];
    const id = d.submit(...what, '--', 'sleep', String(0.2 + rnd() * 2));
    if (rnd() < 0.15) try { d.wz('cancel', String(id)); } catch { /* it has ended */ }
    await sleep(rnd() * 60);
  }
  await sleep(1500);
  const span = Date.now() * 1000 - begin;
  let same = 0, different = '', pieces = 0;
  for (let i = 0; i < 100; i++) {
    const at = Math.floor(begin + 100000 + rnd() * (span - 200000));
    const { status, text } = await d.get(`/v1/board?at_us=${at}`);
    const replay = d.wz('trace', 'replay', '--state', d.state, '--until', String(at), '--json');
    if (status === 200 && text === replay) same++;
    else different ||= `${at}: ${status}\n${text.slice(0, 400)}\n${replay.slice(0, 400)}`;
    pieces += text.split('"job":').length - 1;
  }
  ok(same === 100, `100 random moments (WZ_SEED=${seed}): the board of then is the journal's`, different);
  ok(pieces > 200, `with something on it: ${pieces} pieces`);
  const old = await d.get('/v1/board?at_us=1');
  ok(old.status === 200 && JSON.parse(old.text).nodes.length === 0, 'before the first event there is nothing', old.text);
  ok((await d.get('/v1/board?at_us=x')).status === 400, 'as is one that is no number');
} finally {
  await d.end();
}
done();
