// SPDX-License-Identifier: Apache-2.0
// The jigsaw board: a picture with a table of the same behind it.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Board, BoardJob } from './api';
import { bytes, count, duration, moment, t } from './i18n';
import { Finder, layoutOf, type Layout, type Tile } from './layout';
import { hueOf, keyOf, paint, type ColourBy, type Style } from './paint';
import { go, StateWord, Table } from './parts';
import { look, nowUs, useStore } from './store';

export function useDark(): boolean {
  const media = useMemo(() => matchMedia('(prefers-color-scheme: dark)'), []);
  const read = () => { const kept = document.documentElement.dataset.theme; return kept ? kept === 'dark' : media.matches; };
  const [dark, set] = useState(read);
  useEffect(() => {
    const f = () => set(read());
    media.addEventListener('change', f);
    addEventListener('wz-theme', f);
    return () => { media.removeEventListener('change', f); removeEventListener('wz-theme', f); };
  }, []);
  return dark;
}

/** A filter from what was typed: every word must be found in what a tile shows. `user:ana` looks at one thing alone. */
export function matcher(query: string, jobs: Map<number, BoardJob>): ((x: Tile) => boolean) | null {
  const words = query.trim().toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return null;
  return (x) => words.every((w) => {
    const [k, v] = w.includes(':') ? [w.slice(0, w.indexOf(':')), w.slice(w.indexOf(':') + 1)] : ['', w];
    const of: Record<string, () => string> = {
      node: () => x.node.name, model: () => x.device.model, state: () => `${x.node.state} ${x.device.use} ${x.device.health}`,
      job: () => x.device.pieces.map((p) => `#${p.job}# ${jobs.get(p.job)?.name ?? ''}`).join(' '),
      user: () => x.device.pieces.map((p) => jobs.get(p.job)?.user ?? '').join(' '),
      queue: () => x.device.pieces.map((p) => jobs.get(p.job)?.queue ?? '').join(' '),
    };
    if (k && of[k]) return of[k]().toLowerCase().includes(k === 'job' && /^\d+$/.test(v) ? `#${v}#` : v);
    return Object.values(of).some((f) => f().toLowerCase().includes(/^#?\d+$/.test(v) ? `#${v.replace('#', '')}#` : v)) || (/^\d+$/.test(v) && x.node.name.toLowerCase().includes(v));
  });
}

function describe(x: Tile, jobs: Map<number, BoardJob>): string {
  const d = x.device;
  const held = d.pieces.map((p) => `#${p.job} ${jobs.get(p.job)?.user ?? ''} ${bytes(p.mem_bytes)} ${p.compute_milli / 10}%`).join('; ');
  return `${x.node.name}:${d.index} ${d.model}, ${bytes(d.mem_bytes)}; ${held || t('free')}; ${t(d.use)}${d.health !== 'ok' ? `; ${d.health}` : ''}${d.foreign ? `; ${t('foreign process')}: ${d.foreign}` : ''}`;
}

function Tip({ x, jobs, at }: { x: Tile; jobs: Map<number, BoardJob>; at: { x: number; y: number } }) {
  const d = x.device;
  return (
    <div class="tip" style={{ left: `${at.x}px`, top: `${at.y}px` }}>
      <b>{x.node.name}:{d.index}</b> {d.model} · {bytes(d.mem_bytes)}
      {d.util_pct >= 0 && <div>{t('use')} {d.util_pct}% · {d.temp_c >= 0 ? `${d.temp_c} °C` : ''} {d.power_mw > 0 ? `${Math.round(d.power_mw / 1000)} W` : ''}</div>}
      {d.pieces.slice(0, 8).map((p) => { const j = jobs.get(p.job); return <div>#{p.job} {j?.user} {j?.name} — {bytes(p.mem_bytes)}, {p.compute_milli / 10}%</div>; })}
      <div>{d.use === 'full' ? t('full') : `${bytes(Math.max(0, d.mem_free_bytes))}, ${d.compute_free_milli / 10}% ${t('free')} — ${d.use === 'fragment' ? t('nothing expected fits') : d.use === 'free' ? t('expected jobs fit') : t('closed')}`}</div>
      {d.health !== 'ok' && <div class="bad">{d.health} {d.reason}</div>}
      {!!d.foreign && <div class="bad">{t('foreign process')}: {d.foreign}</div>}
    </div>
  );
}

export function Picture({ board, colourBy, query, label }: { board: Board; colourBy: ColourBy; query: string; label: string }) {
  const dark = useDark();
  const box = useRef<HTMLDivElement>(null), canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const [scroll, setScroll] = useState({ top: 0, view: 600 });
  const [selected, select] = useState('');
  const [hover, setHover] = useState<{ tile: Tile; x: number; y: number } | null>(null);
  const jobs = useMemo(() => new Map(board.jobs.map((j) => [j.id, j])), [board]);
  const layout: Layout | null = useMemo(() => (width ? layoutOf(board, width) : null), [board, width]);
  const finder = useMemo(() => (layout ? new Finder(layout) : null), [layout]);
  const match = useMemo(() => matcher(query, jobs), [query, jobs]);
  const chosen = layout?.tiles.find((x) => x.key === selected);

  useEffect(() => {
    const measure = () => {
      if (!box.current) return;
      setWidth(box.current.clientWidth);
      const r = box.current.getBoundingClientRect();
      const top = Math.max(0, Math.min(-r.top, (layout?.height ?? 0)));
      setScroll({ top: Math.max(0, top - 100), view: innerHeight + 200 });
    };
    measure();
    const o = new ResizeObserver(measure);
    o.observe(box.current!);
    addEventListener('scroll', measure, { passive: true });
    addEventListener('resize', measure);
    return () => { o.disconnect(); removeEventListener('scroll', measure); removeEventListener('resize', measure); };
  }, [layout?.height]);

  useEffect(() => {
    if (!layout || !canvas.current) return;
    const style: Style = { dark, colourBy, jobs, match, selected, hover: hover?.tile.key ?? '' };
    const view = Math.min(scroll.view, Math.max(1, layout.height - scroll.top));
    const frame = requestAnimationFrame(() => paint(canvas.current!, layout, style, scroll.top, view));
    return () => cancelAnimationFrame(frame);
  }, [layout, dark, colourBy, jobs, match, selected, hover?.tile.key, scroll.top, scroll.view]);

  const find = (e: MouseEvent) => finder?.at(e.offsetX, e.offsetY + scroll.top) ?? null;
  const open = (x: Tile | null | undefined) => { const p = x?.device.pieces[0]; if (p) go(`#/job/${p.job}`); };
  const onKey = (e: KeyboardEvent) => {
    if (!layout?.tiles.length) return;
    const now = chosen ?? layout.tiles[0];
    const dx = e.key === 'ArrowRight' ? 1 : e.key === 'ArrowLeft' ? -1 : 0, dy = e.key === 'ArrowDown' ? 1 : e.key === 'ArrowUp' ? -1 : 0;
    if (e.key === 'Enter') { open(chosen); return; }
    if (!dx && !dy) return;
    e.preventDefault();
    if (!chosen) { select(now.key); return; }
    // The nearest tile in that direction, sideways steps counted double.
    let best: Tile | null = null, least = Infinity;
    for (const x of layout.tiles) {
      const ax = x.x + x.w / 2 - (now.x + now.w / 2), ay = x.y + x.h - (now.y + now.h);
      const along = ax * dx + ay * dy, aside = Math.abs(ax * dy) + Math.abs(ay * dx);
      if (along > 2 && along + 2 * aside < least) { least = along + 2 * aside; best = x; }
    }
    if (best) select(best.key);
  };
  const view = layout ? Math.min(scroll.view, Math.max(1, layout.height - scroll.top)) : 1;
  return (
    <div class="picture" ref={box} style={{ height: `${layout?.height ?? 200}px` }}>
      <canvas ref={canvas} tabIndex={0} role="img" aria-label={`${label}. ${t('Select with arrow keys, open with Enter')}`}
        style={{ top: `${scroll.top}px`, width: `${width}px`, height: `${view}px` }}
        onKeyDown={onKey}
        onMouseMove={(e) => { const x = find(e); setHover(x ? { tile: x, x: Math.min(e.offsetX + 14, width - 260), y: e.offsetY + scroll.top + 16 } : null); }}
        onMouseLeave={() => setHover(null)}
        onClick={(e) => { const x = find(e); select(x ? x.key : ''); }}
        onDblClick={(e) => open(find(e))} />
      {hover && <Tip x={hover.tile} jobs={jobs} at={hover} />}
      <p class="hidden" aria-live="polite">{chosen ? describe(chosen, jobs) : ''}</p>
      {chosen && <Side x={chosen} jobs={jobs} onClose={() => select('')} />}
    </div>
  );
}

function Side({ x, jobs, onClose }: { x: Tile; jobs: Map<number, BoardJob>; onClose: () => void }) {
  const d = x.device;
  return (
    <aside class="side" aria-label={t('Device')}>
      <button class="close" aria-label={t('Close')} onClick={onClose}>×</button>
      <h2>{x.node.name}:{d.index}</h2>
      <dl>
        <dt>{t('Model')}</dt><dd>{d.model}</dd>
        <dt>{t('State')}</dt><dd><StateWord word={x.node.state} /> <StateWord word={d.health} /> {d.reason}</dd>
        <dt>{t('Memory')}</dt><dd>{bytes(Math.max(0, d.mem_free_bytes))} {t('free')} {t('of')} {bytes(d.mem_bytes)}</dd>
        <dt>{t('Compute')}</dt><dd>{d.compute_free_milli / 10}% {t('free')}</dd>
        {d.util_pct >= 0 && <><dt>{t('Utilisation')}</dt><dd>{d.util_pct}%</dd></>}
        {d.temp_c >= 0 && <><dt>{t('Temperature')}</dt><dd>{d.temp_c} °C</dd></>}
        {d.power_mw > 0 && <><dt>{t('Power')}</dt><dd>{Math.round(d.power_mw / 1000)} W</dd></>}
        <dt>{t('free pieces')}</dt><dd>{t(d.use)}{d.use === 'fragment' ? ` — ${t('nothing expected fits')}` : ''}</dd>
      </dl>
      <ul>{d.pieces.map((p) => { const j = jobs.get(p.job); return <li><a href={`#/job/${p.job}`}>#{p.job}</a> {j?.user} {j?.name} · {bytes(p.mem_bytes)} · {p.compute_milli / 10}%</li>; })}</ul>
    </aside>
  );
}

function Legend({ board, colourBy }: { board: Board; colourBy: ColourBy }) {
  const dark = useDark();
  const held = new Map<string, number>();
  if (colourBy === 'user' || colourBy === 'queue') {
    const jobs = new Map(board.jobs.map((j) => [j.id, j]));
    for (const n of board.nodes) for (const d of n.devices) for (const p of d.pieces) {
      const k = keyOf(colourBy, jobs.get(p.job), p.job);
      held.set(k, (held.get(k) ?? 0) + p.compute_milli);
    }
  }
  return (
    <ul class="legend" aria-label={t('Legend')}>
      {[...held].sort((a, b) => b[1] - a[1]).slice(0, 12).map(([k, n]) => <li><i style={{ background: `hsl(${hueOf(k)} ${dark ? 48 : 62}% ${dark ? 45 : 62}%)` }} />{k} <small>{(n / 1000).toFixed(1)}</small></li>)}
      <li><i class="free" />{t('free')}</li><li><i class="fragment" />{t('fragments')}</li><li><i class="closed" />{t('closed')}</li>
    </ul>
  );
}

function Strip({ board }: { board: Board }) {
  const { info, at } = useStore();
  let all = 0, busy = 0, idle = 0, broken = 0, fragment = 0, free = 0;
  for (const n of board.nodes) for (const d of n.devices) {
    all++;
    if (d.health === 'failed' || n.state === 'down') broken++;
    if (d.pieces.length) { busy++; if (d.util_pct >= 0 && d.util_pct < 5) idle++; }
    if (d.use === 'fragment') fragment += d.compute_free_milli;
    if (d.use === 'free') free += d.compute_free_milli;
  }
  const waiting = board.jobs.filter((j) => j.state === 'PENDING').length, running = board.jobs.filter((j) => j.state === 'RUNNING').length;
  const oldest = board.jobs.reduce((m, j) => (j.state === 'PENDING' && j.submit_us ? Math.min(m, j.submit_us) : m), Infinity);
  const facts: [string, string, string?][] = [
    [t('devices'), count(all)], [t('busy'), count(busy)], [t('idle but held'), count(idle), idle ? 'warn' : ''], [t('broken'), count(broken), broken ? 'bad' : ''],
    [t('running'), count(running)], [t('waiting'), count(waiting)],
    [t('oldest wait'), oldest < Infinity ? duration((at === null && info ? nowUs() : board.at_us) - oldest) : '—'],
    [t('free'), (free / 1000).toFixed(1)], [t('fragments'), (fragment / 1000).toFixed(1), fragment ? 'warn' : ''],
  ];
  return <dl class="strip">{facts.map(([k, v, c]) => <div class={c}><dt>{k}</dt><dd>{v}</dd></div>)}</dl>;
}

export function Expected({ board }: { board: Board }) {
  if (!board.expected.length) return null;
  return (
    <details class="expected"><summary>{t('Expected work')}</summary>
      <Table caption={t('Expected work')} rows={board.expected} rowKey={(e) => `${e.devices}/${e.compute_milli}/${e.mem_bytes}/${e.cpu_milli}`} columns={[
        { head: t('devices'), num: true, cell: (e) => e.devices }, { head: t('Compute'), num: true, cell: (e) => `${e.compute_milli / 10}%` },
        { head: t('Memory'), num: true, cell: (e) => (e.mem_bytes ? bytes(e.mem_bytes) : '') }, { head: 'CPU', num: true, cell: (e) => (e.cpu_milli ?? 0) / 1000 },
        { head: t('share of the mix'), num: true, cell: (e) => `${e.weight_milli / 10}%` }, { head: t('nodes with room'), num: true, cell: (e) => e.nodes },
      ]} />
    </details>
  );
}

export function DeviceTable({ board, query }: { board: Board; query: string }) {
  const jobs = useMemo(() => new Map(board.jobs.map((j) => [j.id, j])), [board]);
  const match = useMemo(() => matcher(query, jobs), [query, jobs]);
  const rows = board.nodes.flatMap((node) => node.devices.map((device) => ({ node, device, key: `${node.name}:${device.index}`, x: 0, y: 0, w: 0, h: 0 }))).filter((x) => !match || match(x));
  return <Table caption={t('Devices')} rows={rows} rowKey={(r) => r.key} height={600} columns={[
    { head: t('Device'), cell: (r) => r.key, key: (r) => r.key }, { head: t('Model'), cell: (r) => r.device.model, key: (r) => r.device.model },
    { head: t('State'), cell: (r) => <><StateWord word={r.node.state} /> {r.device.health !== 'ok' && <StateWord word={r.device.health} />}</> },
    { head: t('Memory'), num: true, cell: (r) => bytes(r.device.mem_bytes), key: (r) => r.device.mem_bytes },
    { head: t('free'), num: true, cell: (r) => bytes(Math.max(0, r.device.mem_free_bytes)), key: (r) => r.device.mem_free_bytes },
    { head: t('Compute'), num: true, cell: (r) => `${r.device.compute_free_milli / 10}%`, key: (r) => r.device.compute_free_milli },
    { head: t('free pieces'), cell: (r) => t(r.device.use), key: (r) => r.device.use },
    { head: t('use'), num: true, cell: (r) => (r.device.util_pct < 0 ? '' : `${r.device.util_pct}%`), key: (r) => r.device.util_pct },
    { head: '°C', num: true, cell: (r) => (r.device.temp_c < 0 ? '' : r.device.temp_c), key: (r) => r.device.temp_c },
    { head: t('Jobs'), cell: (r) => r.device.pieces.map((p) => <><a href={`#/job/${p.job}`}>#{p.job}</a> {jobs.get(p.job)?.user} </>) },
  ]} />;
}

export function BoardView() {
  const { board, at } = useStore();
  const [query, setQuery] = useState('');
  const [colourBy, setColour] = useState<ColourBy | ''>((localStorage.getItem('wz.colour') as ColourBy) || '');
  const [table, setTable] = useState(false);
  const chosen: ColourBy = colourBy || (new Set(board?.jobs.map((j) => j.user)).size > 1 ? 'user' : 'job');
  if (!board) return <p class="empty">{t('Loading')}…</p>;
  return (
    <>
      {at !== null && <p class="past" role="status">{t('The board as it was at')} <b>{moment(at)}</b> <button onClick={() => void look(null)}>{t('Back to now')}</button></p>}
      <Strip board={board} />
      <div class="tools">
        <input type="search" placeholder={t('user, job, queue, model, node')} aria-label={t('Search')} value={query} onInput={(e) => setQuery(e.currentTarget.value)} />
        <label>{t('Colour by')} <select value={chosen} onChange={(e) => { const v = e.currentTarget.value as ColourBy; localStorage.setItem('wz.colour', v); setColour(v); }}>
          {(['user', 'queue', 'job', 'use', 'temperature'] as const).map((k) => <option value={k}>{t(k)}</option>)}</select></label>
        <button aria-pressed={table} onClick={() => setTable(!table)}>{table ? t('Picture') : t('Table')}</button>
        <Legend board={board} colourBy={chosen} />
      </div>
      {table ? <DeviceTable board={board} query={query} /> : <Picture board={board} colourBy={chosen} query={query} label={t('Board')} />}
      <Expected board={board} />
    </>
  );
}
