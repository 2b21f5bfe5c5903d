// SPDX-License-Identifier: Apache-2.0
// Plays a journal back in the browser: lines of events and effects (spec/events.md, "Journal form"), as `wz sim` writes them.
// It enacts nothing and decides nothing: it adds up what the lines say.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Board, BoardJob, BoardNode } from './api';
import { DeviceTable, Picture } from './board';
import { t } from './i18n';
import { Problem } from './parts';

interface Line { at: number; apply: (w: World) => void }
interface Held { node: number; devices: number[]; milli: number; mem: number }
interface World { nodes: Map<number, BoardNode>; jobs: Map<number, BoardJob>; held: Map<string, Held>; at: number }

/** One line of a journal as what it does to the picture; null: nothing that is seen. */
function reader(o: any): ((w: World) => void) | null {
  const key = `${o.job}/${o.task ?? 0}`;
  if (o.ev === 12) return (w) => {
    const had = w.nodes.get(o.node ?? 0);
    w.nodes.set(o.node ?? 0, {
      name: o.name, rack: o.rack, state: 'ready', cpu_milli: o.cpu ?? 0, cpu_free_milli: o.cpu ?? 0, mem_bytes: o.mem ?? 0, mem_free_bytes: o.mem ?? 0,
      devices: (o.devices ?? []).map((d: any, index: number) => ({
        index, model: String(d.model ?? ''), health: ['ok', 'degraded', 'failed'][d.health ?? 0] ?? 'ok', mem_bytes: d.mem ?? 0, mem_free_bytes: d.mem ?? 0, compute_milli: d.milli ?? 1000, compute_free_milli: d.milli ?? 1000,
        link_domain: d.link ?? 0, use: 'free', util_pct: -1, mem_used_pct: -1, temp_c: -1, power_mw: -1, pieces: had?.devices[index]?.pieces ?? [],
      })),
    });
  };
  if (o.ev === 13) return (w) => { w.nodes.delete(o.node ?? 0); for (const [k, h] of w.held) if (h.node === (o.node ?? 0)) w.held.delete(k); };
  if (o.ev === 14) return (w) => { const n = w.nodes.get(o.node ?? 0); if (n) n.state = o.ready === false ? 'down' : o.cordoned ? 'draining' : 'ready'; };
  if (o.ev === 30) return (w) => { w.jobs.set(o.job, { id: o.job, user: o.user, queue: o.queue, name: o.name, state: 'PENDING', priority: o.priority ?? 0, tasks: 1, submit_us: w.at }); };
  if (o.ev === 32) return (w) => { const j = w.jobs.get(o.job); if (j?.state === 'PENDING') w.jobs.delete(o.job); };
  if (o.ev === 36) return (w) => { w.held.delete(key); if (![...w.held.keys()].some((k) => k.startsWith(`${o.job}/`))) w.jobs.delete(o.job); };
  if (o.ef === 1) return (w) => {
    const p = o.place ?? {}, j = w.jobs.get(o.job);
    w.held.set(key, { node: p.node ?? 0, devices: p.devices ?? [], milli: p.dev_milli ?? 0, mem: p.dev_mem ?? -1 });
    if (j) j.state = 'RUNNING';
  };
  return null;
}

function boardOf(w: World): Board {
  for (const n of w.nodes.values()) for (const d of n.devices) { d.pieces = []; d.compute_free_milli = d.compute_milli; d.mem_free_bytes = d.mem_bytes; }
  for (const [k, h] of w.held) {
    const [job, task] = k.split('/').map(Number);
    for (const i of h.devices) {
      const d = w.nodes.get(h.node)?.devices[i];
      if (!d) continue;
      const mem = h.mem >= 0 ? h.mem : (d.mem_bytes * h.milli) / (d.compute_milli || 1000);
      d.pieces.push({ job, task, compute_milli: h.milli, mem_bytes: mem });
      d.compute_free_milli -= h.milli; d.mem_free_bytes -= mem;
    }
  }
  for (const n of w.nodes.values()) for (const d of n.devices) d.use = d.compute_free_milli <= 0 ? 'full' : d.compute_free_milli < d.compute_milli ? 'fragment' : 'free';
  return { at_us: w.at, digest: '', nodes: [...w.nodes.values()].map((n) => ({ ...n, devices: n.devices.map((d) => ({ ...d })) })), jobs: [...w.jobs.values()], expected: [] };
}

export function parseJournal(text: string): { lines: Line[]; error: string } {
  const lines: Line[] = [];
  let at = 0, n = 0;
  for (const raw of text.split('\n')) {
    n++;
    if (!raw.trim()) continue;
    let o: any;
    try { o = JSON.parse(raw); } catch { return { lines, error: `${t('line')} ${n}: ${t('not a journal')}` }; }
    if (typeof o !== 'object' || o === null || (o.ev === undefined && o.ef === undefined && o.note === undefined && o.digest === undefined && n === 1)) return { lines, error: `${t('line')} ${n}: ${t('not a journal')}` };
    if (typeof o.t === 'number') at = o.t;
    const apply = reader(o);
    if (apply) lines.push({ at, apply });
  }
  return { lines, error: lines.length ? '' : t('not a journal') };
}

export function SimView() {
  const [lines, setLines] = useState<Line[]>([]);
  const [error, setError] = useState('');
  const [at, setAt] = useState(0);
  const [playing, setPlaying] = useState(false);
  const [speed, setSpeed] = useState(20);
  const [query, setQuery] = useState('');
  const done = useRef<{ n: number; w: World } | null>(null);
  const fresh = (): World => ({ nodes: new Map(), jobs: new Map(), held: new Map(), at: 0 });
  const board = useMemo(() => {
    if (!lines.length) return null;
    let d = done.current;
    if (!d || d.n > at) d = { n: 0, w: fresh() };
    for (; d.n < at; d.n++) { d.w.at = lines[d.n].at; lines[d.n].apply(d.w); }
    done.current = d;
    return boardOf(d.w);
  }, [lines, at]);
  useEffect(() => {
    if (!playing) return;
    const id = setInterval(() => setAt((n) => { if (n >= lines.length) setPlaying(false); return Math.min(lines.length, n + Math.max(1, Math.round(speed / 10))); }), 100);
    return () => clearInterval(id);
  }, [playing, speed, lines.length]);
  const open = async (f: File | undefined) => {
    if (!f) return;
    const r = parseJournal(await f.text());
    done.current = null;
    setLines(r.lines); setError(r.error); setAt(Math.min(r.lines.length, r.lines.findIndex((l, i) => i > 0 && l.at > r.lines[0].at) + 1 || r.lines.length));
  };
  return (
    <>
      <h1>{t('Replay')}</h1>
      <div class="tools">
        <label>{t('Open a file of')} <code>wz sim pack --journal</code> <input type="file" onChange={(e) => void open(e.currentTarget.files?.[0])} /></label>
        {!!lines.length && <>
          <button class="primary" onClick={() => setPlaying(!playing)}>{playing ? t('Pause') : t('Play')}</button>
          <label>{t('Speed')} <input type="range" min={10} max={2000} value={speed} onInput={(e) => setSpeed(Number(e.currentTarget.value))} /></label>
          <label class="grow"><span class="hidden">{t('step')}</span><input type="range" min={0} max={lines.length} value={at} onInput={(e) => setAt(Number(e.currentTarget.value))} /></label>
          <span class="quiet">{at} / {lines.length} {t('step')}</span>
          <input type="search" aria-label={t('Search')} placeholder={t('Search')} value={query} onInput={(e) => setQuery(e.currentTarget.value)} />
        </>}
      </div>
      <Problem error={error} />
      {board && <><Picture board={board} colourBy="job" query={query} label={t('Replay')} /><details><summary>{t('Table')}</summary><DeviceTable board={board} query={query} /></details></>}
    </>
  );
}
