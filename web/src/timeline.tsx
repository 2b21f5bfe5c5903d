// SPDX-License-Identifier: Apache-2.0
// Per device: the past day, the planned next day, moves as arrows; a handle that opens the board of any past moment.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Job, Span } from './api';
import { useDark } from './board';
import { duration, moment, t } from './i18n';
import { hueOf } from './paint';
import { go, Problem, StateWord, Table, useAsk } from './parts';
import { look, nowUs as clock, useStore } from './store';

const ROW = 18, LEFT = 110, TOP = 22, HOUR = 3600e6;

interface Bar { span: Span; row: number }

export function TimelineView() {
  const { info, board } = useStore();
  const dark = useDark();
  const [chosen, setBack] = useState(0), [fit, setFit] = useState(24), back = chosen || fit;
  const nowUs = info ? clock() : 0;
  // Asked for in steps of a minute, so that the list is not fetched anew with each event's own clock.
  const from = Math.floor((nowUs - back * HOUR) / 60e6) * 60e6, until = nowUs + (back * HOUR) / 2;
  const { data, error, missing } = useAsk<{ spans: Span[] }>(nowUs ? `/v1/timeline?since_us=${Math.min(from, Math.floor((nowUs - 24 * HOUR) / 60e6) * 60e6)}` : null);
  // The plan: who waits, and when they will likely start; promises of whole nodes.
  const { data: queue } = useAsk<{ jobs: Job[] }>('/v1/jobs?state=waiting&limit=200');
  const { data: promises } = useAsk<{ reservations: { name: string; rules: string; start_us: number; end_us: number }[] }>('/v1/reservations');
  const waiting = (queue?.jobs ?? []).filter((j) => j.expected_start_us || j.latest_start_us).sort((a, b) => (a.expected_start_us ?? a.latest_start_us!) - (b.expected_start_us ?? b.latest_start_us!)).slice(0, 24);
  const box = useRef<HTMLDivElement>(null), canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(800);
  const [cursor, setCursor] = useState<number | null>(null);
  const [hover, setHover] = useState<{ bar: Bar; x: number; y: number } | null>(null);
  const spans = data?.spans ?? [];
  // At first: the shortest window that shows all of the past day.
  useEffect(() => {
    if (!spans.length || chosen) return;
    const oldest = Math.min(...spans.map((s) => s.start_us));
    setFit([1, 6, 24].find((h) => clock() - oldest < h * HOUR * 0.95) ?? 24);
  }, [!spans.length, chosen]);
  const { rows, bars, arrows } = useMemo(() => {
    const names: string[] = [];
    for (const n of board?.nodes ?? []) for (const d of n.devices) names.push(`${n.name}:${d.index}`);
    const at = new Map(names.map((n, i) => [n, i]));
    const list: Bar[] = [], last = new Map<string, Bar>(), jumps: [Bar, Bar][] = [];
    for (const span of [...spans].sort((a, b) => a.start_us - b.start_us)) {
      const own: Bar[] = [];
      for (const d of span.devices?.length ? span.devices : [-1]) {
        const row = at.get(`${span.node}:${d}`);
        if (row !== undefined) own.push({ span, row });
      }
      list.push(...own);
      const key = `${span.job}/${span.task}`, before = last.get(key);
      if (before && own[0] && before.span.attempt !== span.attempt) jumps.push([before, own[0]]);
      if (own[0]) last.set(key, own[0]);
    }
    return { rows: names, bars: list, arrows: jumps };
  }, [spans, board?.nodes.length]);
  const height = TOP + (rows.length + (waiting.length ? waiting.length + 1 : 0)) * ROW + 6;
  const x = (us: number) => LEFT + ((us - from) / (until - from)) * (width - LEFT);
  const timeAt = (px: number) => from + ((px - LEFT) / (width - LEFT)) * (until - from);

  useEffect(() => {
    const o = new ResizeObserver(() => box.current && setWidth(box.current.clientWidth));
    if (box.current) o.observe(box.current);
    return () => o.disconnect();
  }, []);
  useEffect(() => {
    const c = canvas.current;
    if (!c || !nowUs) return;
    const scale = Math.min(3, devicePixelRatio || 1);
    c.width = width * scale; c.height = height * scale;
    const g = c.getContext('2d')!;
    g.scale(scale, scale);
    g.clearRect(0, 0, width, height);
    g.font = '11px system-ui, sans-serif';
    const ink = dark ? '#c9d1dc' : '#333b47', line = dark ? '#2b3139' : '#e4e7eb';
    // Ticks at round hours.
    const stepH = [0.25, 0.5, 1, 2, 3, 6, 12, 24].find((s) => (s * HOUR * (width - LEFT)) / (until - from) > 70) ?? 24;
    for (let at = Math.ceil(from / (stepH * HOUR)) * stepH * HOUR; at < until; at += stepH * HOUR) {
      g.strokeStyle = line; g.beginPath(); g.moveTo(x(at), TOP - 4); g.lineTo(x(at), height); g.stroke();
      g.fillStyle = ink; g.fillText(new Date(at / 1000).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' }), x(at) + 2, 12);
    }
    rows.forEach((name, i) => {
      if (i % 2) { g.fillStyle = dark ? '#ffffff07' : '#00000005'; g.fillRect(0, TOP + i * ROW, width, ROW); }
      g.fillStyle = ink; g.fillText(name, 4, TOP + i * ROW + 13, LEFT - 8);
    });
    const stack = new Map<number, number>();
    for (const b of bars) {
      const s = b.span, x1 = Math.max(LEFT, x(s.start_us)), x2 = Math.max(x1 + 1.5, x(s.end_us || nowUs));
      if (x2 < LEFT || x1 > width) continue;
      const hue = hueOf(s.user ?? '?'), shade = (stack.get(b.row) ?? 0) % 2;
      stack.set(b.row, (stack.get(b.row) ?? 0) + 1);
      g.globalAlpha = s.planned ? 0.4 : 1;
      g.fillStyle = `hsl(${hue} ${dark ? 48 : 62}% ${(dark ? 45 : 62) + (shade ? 6 : 0)}%)`;
      g.fillRect(x1, TOP + b.row * ROW + 2, x2 - x1, ROW - 4);
      g.globalAlpha = 1;
      if (s.planned) { g.strokeStyle = `hsl(${hue} 60% 45%)`; g.setLineDash([3, 2]); g.strokeRect(x1 + 0.5, TOP + b.row * ROW + 2.5, x2 - x1 - 1, ROW - 5); g.setLineDash([]); }
      if (['FAILED', 'OOM', 'NODE_LOST', 'DEVICE_LOST', 'TIMEOUT', 'LAUNCH_FAILED'].includes(s.state)) { g.fillStyle = '#e5484d'; g.fillRect(x2 - 3, TOP + b.row * ROW + 2, 3, ROW - 4); }
      if (s.state === 'PREEMPTED') { g.fillStyle = '#f0a020'; g.fillRect(x2 - 3, TOP + b.row * ROW + 2, 3, ROW - 4); }
      if (x2 - x1 > 34) { g.fillStyle = dark ? '#fff' : '#10131a'; g.fillText(`#${s.job}`, x1 + 4, TOP + b.row * ROW + 13, x2 - x1 - 6); }
    }
    for (const p of promises?.reservations ?? []) { // held for somebody, or for nobody: hatched over the nodes it names
      const names = /(?:^| )nodes=([^ ]+)/.exec(p.rules)?.[1]?.split(',') ?? [];
      const x1 = Math.max(LEFT, x(p.start_us)), x2 = Math.min(width, x(p.end_us));
      if (x2 <= x1) continue;
      rows.forEach((name, i) => {
        if (!names.includes(name.slice(0, name.lastIndexOf(':')))) return;
        g.strokeStyle = dark ? '#9aa4b2' : '#6b7684'; g.lineWidth = 1;
        g.save(); g.beginPath(); g.rect(x1, TOP + i * ROW + 1, x2 - x1, ROW - 2); g.clip();
        for (let d = -ROW; d < x2 - x1 + ROW; d += 6) { g.beginPath(); g.moveTo(x1 + d, TOP + i * ROW + ROW); g.lineTo(x1 + d + ROW, TOP + i * ROW); g.stroke(); }
        g.restore();
        if (i === rows.findIndex((r) => names.includes(r.slice(0, r.lastIndexOf(':'))))) { g.fillStyle = ink; g.fillText(p.name, x1 + 3, TOP + i * ROW + 13); }
      });
    }
    waiting.forEach((j, i) => { // the likely band, and a line to the latest
      const y = TOP + (rows.length + 1 + i) * ROW, hue = hueOf(j.user);
      g.fillStyle = ink; g.fillText(`#${j.id} ${j.name ?? ''}`, 4, y + 13, LEFT - 8);
      const from1 = j.earliest_start_us ?? j.latest_start_us!, to1 = j.expected_start_us ?? j.latest_start_us!;
      const x1 = Math.max(LEFT, x(from1)), x2 = Math.min(width, Math.max(x1 + 3, x(to1)));
      if (x1 < width) {
        g.globalAlpha = 0.45; g.fillStyle = `hsl(${hue} ${dark ? 48 : 62}% ${dark ? 45 : 62}%)`; g.fillRect(x1, y + 2, x2 - x1, ROW - 4); g.globalAlpha = 1;
        g.strokeStyle = `hsl(${hue} 60% 45%)`; g.setLineDash([3, 2]); g.strokeRect(x1 + 0.5, y + 2.5, Math.max(2, x2 - x1 - 1), ROW - 5); g.setLineDash([]);
      }
      if (j.latest_start_us && x(j.latest_start_us) < width && x(j.latest_start_us) > x1) { g.strokeStyle = `hsl(${hue} 60% 45%)`; g.beginPath(); g.moveTo(x2, y + ROW / 2); g.lineTo(x(j.latest_start_us), y + ROW / 2); g.moveTo(x(j.latest_start_us), y + 4); g.lineTo(x(j.latest_start_us), y + ROW - 4); g.stroke(); }
    });
    if (waiting.length) { g.fillStyle = ink; g.font = '600 11px system-ui, sans-serif'; g.fillText(t('planned'), 4, TOP + rows.length * ROW + 13); g.font = '11px system-ui, sans-serif'; }
    g.strokeStyle = dark ? '#ffd479' : '#b46a00'; g.lineWidth = 1.4;
    for (const [a, b] of arrows) {
      const x1 = x(a.span.end_us || nowUs), y1 = TOP + a.row * ROW + ROW / 2, x2 = x(b.span.start_us), y2 = TOP + b.row * ROW + ROW / 2;
      if (x1 < LEFT || x2 > width) continue;
      g.beginPath(); g.moveTo(x1, y1); g.bezierCurveTo(x1 + 14, y1, x2 - 14, y2, x2, y2); g.stroke();
      g.beginPath(); g.moveTo(x2, y2); g.lineTo(x2 - 5, y2 - 3); g.lineTo(x2 - 5, y2 + 3); g.fillStyle = g.strokeStyle; g.fill();
    }
    g.lineWidth = 2; g.strokeStyle = '#e5484d'; g.beginPath(); g.moveTo(x(nowUs), TOP - 6); g.lineTo(x(nowUs), height); g.stroke();
    if (cursor !== null) { g.strokeStyle = dark ? '#8fb4ff' : '#2f6fed'; g.beginPath(); g.moveTo(x(cursor), 0); g.lineTo(x(cursor), height); g.stroke(); }
  }, [width, height, bars, arrows, dark, cursor, from, until, queue, promises]);

  const barAt = (px: number, py: number) => bars.find((b) => b.row === Math.floor((py - TOP) / ROW) && px >= x(b.span.start_us) && px <= Math.max(x(b.span.start_us) + 3, x(b.span.end_us || nowUs)));
  const drag = (e: MouseEvent) => {
    const move = (m: MouseEvent) => { const r = canvas.current!.getBoundingClientRect(); const at = timeAt(m.clientX - r.left); setCursor(Math.min(nowUs, Math.max(from, at))); };
    const up = () => { removeEventListener('mousemove', move); removeEventListener('mouseup', up); };
    addEventListener('mousemove', move); addEventListener('mouseup', up);
    move(e);
  };
  return (
    <>
      <h1>{t('Timeline')}</h1>
      <div class="tools">
        <select aria-label={t('hours')} value={back} onChange={(e) => setBack(Number(e.currentTarget.value))}>{[1, 6, 24, 72].map((h) => <option value={h}>{h} {t('hours')}</option>)}</select>
        <label class="grow">{t('Drag to look at any past moment')} <input type="range" min={from} max={nowUs} step={1e6} value={cursor ?? nowUs} onInput={(e) => setCursor(Number(e.currentTarget.value))} /></label>
        <button disabled={cursor === null} onClick={() => { if (cursor !== null) { void look(cursor); go('#/board'); } }}>{t('Show the board then')}{cursor !== null ? ` ${moment(cursor)}` : ''}</button>
        <span class="quiet">{t('numbers as')} <a href={`/v1/timeline?since_us=${from}&format=csv`}>CSV</a></span>
      </div>
      <Problem error={error} missing={missing} />
      <div ref={box} class="picture" style={{ height: `${height}px` }}>
        <canvas ref={canvas} role="img" aria-label={t('Timeline')} style={{ width: `${width}px`, height: `${height}px` }}
          onMouseDown={(e) => { if (!barAt(e.offsetX, e.offsetY)) drag(e); }}
          onMouseMove={(e) => { const bar = barAt(e.offsetX, e.offsetY); setHover(bar ? { bar, x: Math.min(e.offsetX + 12, width - 260), y: e.offsetY + 14 } : null); }}
          onMouseLeave={() => setHover(null)}
          onClick={(e) => { const b = barAt(e.offsetX, e.offsetY); if (b) go(`#/job/${b.span.job}`); }} />
        {hover && <div class="tip" style={{ left: `${hover.x}px`, top: `${hover.y}px` }}><b>#{hover.bar.span.job}</b> {hover.bar.span.user} {hover.bar.span.name}<div>{hover.bar.span.state}{hover.bar.span.planned ? ` (${t('planned')})` : ''} · {t('Attempt')} {hover.bar.span.attempt}</div><div>{moment(hover.bar.span.start_us)} – {hover.bar.span.end_us ? moment(hover.bar.span.end_us) : '…'} ({duration((hover.bar.span.end_us || nowUs) - hover.bar.span.start_us)})</div></div>}
      </div>
      {!!waiting.length && <details><summary>{t('planned')}</summary>
        <Table caption={t('planned')} rows={waiting} rowKey={(j) => j.id} onOpen={(j) => go(`#/job/${j.id}`)} columns={[
          { head: t('Job'), num: true, cell: (j) => j.id, key: (j) => j.id }, { head: t('User'), cell: (j) => j.user }, { head: t('Name'), cell: (j) => j.name ?? '' },
          { head: t('Expected start'), cell: (j) => (j.earliest_start_us && j.expected_start_us ? `${moment(j.earliest_start_us)} – ${moment(j.expected_start_us)}` : ''), key: (j) => j.expected_start_us ?? Infinity },
          { head: t('latest by limits'), cell: (j) => moment(j.latest_start_us), key: (j) => j.latest_start_us ?? Infinity },
        ]} /></details>}
      <details><summary>{t('Table')}</summary>
        <Table caption={t('Timeline')} rows={spans} rowKey={(s) => `${s.job}/${s.attempt}/${s.task}/${s.planned}`} onOpen={(s) => go(`#/job/${s.job}`)} columns={[
          { head: t('Job'), num: true, cell: (s) => s.job, key: (s) => s.job }, { head: t('User'), cell: (s) => s.user ?? '', key: (s) => s.user ?? '' },
          { head: t('Attempt'), num: true, cell: (s) => s.attempt }, { head: t('Devices'), cell: (s) => `${s.node}:${(s.devices ?? []).join(',')}` },
          { head: t('Started'), cell: (s) => moment(s.start_us), key: (s) => s.start_us }, { head: t('Ended'), cell: (s) => moment(s.end_us), key: (s) => s.end_us ?? Infinity },
          { head: t('State'), cell: (s) => <>{s.planned ? t('planned') : <StateWord word={s.state} />}</> },
        ]} />
      </details>
    </>
  );
}
