// SPDX-License-Identifier: Apache-2.0
// Draws the board. Colours say whose, hatching says what is free of what kind, so that colour is never the only signal.
import type { BoardJob, Device } from './api';
import type { Layout, Tile } from './layout';

export type ColourBy = 'user' | 'queue' | 'job' | 'use' | 'temperature';
export interface Style {
  dark: boolean; colourBy: ColourBy; jobs: Map<number, BoardJob>;
  match: ((t: Tile) => boolean) | null; selected: string; hover: string;
}

// Twelve hues that stay apart for most kinds of colour vision, in the order in which they are given out.
const HUES = [212, 28, 162, 330, 50, 268, 190, 8, 128, 300, 84, 240];
function hash(s: string): number { let h = 2166136261; for (let i = 0; i < s.length; i++) h = Math.imul(h ^ s.charCodeAt(i), 16777619); return h >>> 0; }
const hues = new Map<string, number>();
export function hueOf(key: string): number {
  let h = hues.get(key);
  if (h === undefined) {
    const used = new Set(hues.values());
    const start = hash(key) % HUES.length;
    h = HUES[start];
    for (let i = 0; i < HUES.length && used.has(h); i++) h = HUES[(start + i) % HUES.length];
    hues.set(key, h);
  }
  return h;
}
export function keyOf(by: ColourBy, j: BoardJob | undefined, job: number): string {
  return by === 'user' ? j?.user ?? '?' : by === 'queue' ? j?.queue ?? '?' : String(job);
}
/** Cold to hot. */
function heat(part: number, dark: boolean): string {
  const p = Math.max(0, Math.min(1, part));
  return `hsl(${210 - 200 * p} ${dark ? 55 : 65}% ${dark ? 42 : 60}%)`;
}
export function pieceColour(s: Style, d: Device, job: number, light = 0): string {
  if (s.colourBy === 'use') return d.util_pct < 0 ? (s.dark ? '#555' : '#bbb') : heat(d.util_pct / 100, s.dark);
  if (s.colourBy === 'temperature') return d.temp_c < 0 ? (s.dark ? '#555' : '#bbb') : heat((d.temp_c - 30) / 55, s.dark);
  return `hsl(${hueOf(keyOf(s.colourBy, s.jobs.get(job), job))} ${s.dark ? 48 : 62}% ${(s.dark ? 45 : 62) + light}%)`;
}

const patterns = new Map<string, CanvasPattern | null>();
function pattern(ctx: CanvasRenderingContext2D, kind: string, dark: boolean, scale: number): CanvasPattern | null {
  const id = `${kind}${dark}${scale}`;
  if (!patterns.has(id)) {
    const c = document.createElement('canvas'), n = 8 * scale;
    c.width = c.height = n;
    const g = c.getContext('2d')!;
    g.scale(scale, scale);
    const line = (x1: number, y1: number, x2: number, y2: number) => { g.beginPath(); g.moveTo(x1, y1); g.lineTo(x2, y2); g.stroke(); };
    if (kind === 'free') {
      g.fillStyle = dark ? '#1b2a24' : '#eef7f1'; g.fillRect(0, 0, 8, 8);
      g.fillStyle = dark ? '#3d6a55' : '#9fd1b4'; g.fillRect(3, 3, 1.4, 1.4);
    } else if (kind === 'fragment') {
      g.fillStyle = dark ? '#33260c' : '#fff4d9'; g.fillRect(0, 0, 8, 8);
      g.strokeStyle = dark ? '#c98a12' : '#d99a1c'; g.lineWidth = 1.8;
      line(-2, 6, 6, -2); line(2, 10, 10, 2);
    } else {
      g.fillStyle = dark ? '#262626' : '#e6e6e6'; g.fillRect(0, 0, 8, 8);
      g.strokeStyle = dark ? '#555' : '#aaa'; g.lineWidth = 1;
      line(0, 0, 8, 8); line(8, 0, 0, 8);
    }
    const p = ctx.createPattern(c, 'repeat');
    p?.setTransform(new DOMMatrix().scale(1 / scale));
    patterns.set(id, p);
  }
  return patterns.get(id)!;
}

/** A piece with the knob of a jigsaw on its upper edge. */
function piecePath(g: CanvasRenderingContext2D, x: number, y: number, w: number, h: number, knob: number) {
  g.beginPath();
  g.moveTo(x, y);
  if (knob > 0) {
    const c = x + w / 2;
    g.lineTo(c - knob * 0.6, y);
    g.bezierCurveTo(c - knob * 1.3, y - knob * 1.3, c + knob * 1.3, y - knob * 1.3, c + knob * 0.6, y);
  }
  g.lineTo(x + w, y); g.lineTo(x + w, y + h); g.lineTo(x, y + h); g.closePath();
}

function text(g: CanvasRenderingContext2D, s: string, x: number, y: number, max: number) {
  if (max < 12) return;
  let cut = s;
  while (cut.length > 1 && g.measureText(cut).width > max) cut = cut.slice(0, -1);
  g.fillText(cut.length < s.length && cut.length > 2 ? `${cut.slice(0, -1)}…` : cut, x, y);
}

function drawTile(g: CanvasRenderingContext2D, t: Tile, s: Style, scale: number) {
  const d = t.device, rail = t.w >= 40 ? 5 : t.w >= 24 ? 3 : 0, w = t.w - rail, mem = d.mem_bytes || 1;
  const ground = d.use === 'full' ? 'full' : d.use;
  g.fillStyle = ground === 'full' ? (s.dark ? '#20242b' : '#f2f3f5') : pattern(g, ground, s.dark, scale) ?? '#888';
  g.fillRect(t.x, t.y, t.w, t.h);
  // Pieces stand on each other, as high as their memory; a piece that fills a card is the card.
  let y = t.y + t.h;
  const knob = t.w >= 40 ? Math.min(5, t.w / 14) : 0;
  d.pieces.forEach((p, i) => {
    const part = d.mem_bytes ? p.mem_bytes / mem : p.compute_milli / (d.compute_milli || 1000);
    const h = Math.max(2, Math.min(t.h, Math.round(t.h * Math.min(1, part))));
    const top = Math.max(t.y, y - h), whole = top <= t.y + 1;
    piecePath(g, t.x, top, w, y - top, whole ? 0 : knob);
    g.fillStyle = pieceColour(s, d, p.job, i % 2 ? (s.dark ? 7 : -6) : 0);
    g.fill();
    if (t.w >= 24) { g.strokeStyle = s.dark ? '#0009' : '#fffc'; g.lineWidth = 1; g.stroke(); }
    if (t.w >= 40 && y - top >= 13) {
      const job = s.jobs.get(p.job);
      g.fillStyle = s.dark ? '#fff' : '#10131a';
      g.font = '600 11px system-ui, sans-serif';
      text(g, `#${p.job}`, t.x + 5, top + 12, w - 8);
      if (y - top >= 27 && job?.user) { g.font = '10px system-ui, sans-serif'; text(g, job.user, t.x + 5, top + 24, w - 8); }
    }
    y = top;
  });
  if (rail) { // the compute that is given out, beside the memory
    const used = 1 - Math.max(0, d.compute_free_milli) / (d.compute_milli || 1000);
    g.fillStyle = s.dark ? '#0006' : '#0001';
    g.fillRect(t.x + w, t.y, rail, t.h);
    g.fillStyle = s.dark ? '#8fb4ff' : '#2f6fed';
    g.fillRect(t.x + w + 1, t.y + t.h * (1 - used), rail - 1, t.h * used);
  }
  if (t.w >= 60) { // utilisation, temperature, power: on the tile
    const parts = [d.util_pct >= 0 ? `${d.util_pct}%` : '', d.temp_c >= 0 ? `${d.temp_c}°` : '', d.power_mw > 0 && t.w >= 90 ? `${Math.round(d.power_mw / 1000)}W` : ''].filter(Boolean).join(' ');
    if (parts) {
      g.font = '10px system-ui, sans-serif';
      const tw = g.measureText(parts).width;
      g.fillStyle = s.dark ? '#000a' : '#fffc';
      g.fillRect(t.x + 2, t.y + t.h - 15, Math.min(tw + 6, w - 4), 13);
      g.fillStyle = s.dark ? '#e8e8e8' : '#222';
      text(g, parts, t.x + 5, t.y + t.h - 5, w - 8);
    }
  }
  if (d.health !== 'ok') { // a cross for failed, a bar for degraded
    g.strokeStyle = d.health === 'failed' ? '#e5484d' : '#f0a020'; g.lineWidth = Math.max(2, t.w / 20);
    g.beginPath();
    if (d.health === 'failed') { g.moveTo(t.x + 3, t.y + 3); g.lineTo(t.x + t.w - 3, t.y + t.h - 3); g.moveTo(t.x + t.w - 3, t.y + 3); g.lineTo(t.x + 3, t.y + t.h - 3); }
    else { g.moveTo(t.x + 2, t.y + 2); g.lineTo(t.x + t.w - 2, t.y + 2); }
    g.stroke();
  }
  if (d.foreign && t.w >= 18) { // a flag: processes that are not ours
    const n = Math.min(14, t.w / 2.5);
    g.fillStyle = '#e5484d';
    g.beginPath(); g.moveTo(t.x + t.w, t.y); g.lineTo(t.x + t.w - n, t.y); g.lineTo(t.x + t.w, t.y + n); g.closePath(); g.fill();
  }
  g.strokeStyle = s.dark ? '#4a505a' : '#b9bec6'; g.lineWidth = 1;
  g.strokeRect(t.x + 0.5, t.y + 0.5, t.w - 1, t.h - 1);
}

export function paint(canvas: HTMLCanvasElement, l: Layout, s: Style, top: number, visible: number) {
  const scale = Math.min(3, window.devicePixelRatio || 1);
  const w = Math.max(1, Math.round(l.width * scale)), h = Math.max(1, Math.round(visible * scale));
  if (canvas.width !== w || canvas.height !== h) { canvas.width = w; canvas.height = h; }
  const g = canvas.getContext('2d')!;
  g.setTransform(scale, 0, 0, scale, 0, -top * scale);
  g.clearRect(0, top, l.width, visible);
  const small = l.tile < 30;
  for (const f of l.frames) {
    if (f.y > top + visible || f.y + f.h < top) continue;
    g.fillStyle = s.dark ? '#15181d' : '#ffffff';
    g.strokeStyle = s.dark ? '#313740' : '#d5d9df';
    g.lineWidth = 1;
    g.beginPath(); g.roundRect(f.x + 0.5, f.y + 0.5, f.w - 1, f.h - 1, small ? 4 : 8); g.fill(); g.stroke();
    const closed = f.node.state !== 'ready';
    g.fillStyle = closed ? '#e5484d' : s.dark ? '#a7b0bd' : '#5a6472';
    g.font = `${small ? 9 : 12}px system-ui, sans-serif`;
    text(g, closed ? `${f.node.name} · ${f.node.state}` : f.node.name, f.x + (small ? 4 : 8), f.y + (small ? 10 : 14), f.w - 10);
    g.strokeStyle = s.dark ? '#3f6db5' : '#9dbdf5'; g.setLineDash([4, 3]);
    for (const b of f.domains) { g.beginPath(); g.roundRect(b.x, b.y, b.w, b.h, 4); g.stroke(); }
    g.setLineDash([]);
  }
  for (const t of l.tiles) {
    if (t.y > top + visible || t.y + t.h < top) continue;
    const dim = s.match && !s.match(t);
    if (dim) g.globalAlpha = 0.14;
    drawTile(g, t, s, scale);
    g.globalAlpha = 1;
    if (t.key === s.selected || t.key === s.hover) {
      g.strokeStyle = t.key === s.selected ? (s.dark ? '#fff' : '#111') : s.dark ? '#9ab' : '#567';
      g.lineWidth = 2;
      g.strokeRect(t.x + 1, t.y + 1, t.w - 2, t.h - 2);
    }
  }
}
