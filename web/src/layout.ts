// SPDX-License-Identifier: Apache-2.0
// Where each tile of the board goes. Pure: from a board and a width to rectangles, so that drawing and hit-testing agree.
import type { Board, BoardNode, Device } from './api';

export interface Tile { node: BoardNode; device: Device; key: string; x: number; y: number; w: number; h: number }
export interface Frame { node: BoardNode; x: number; y: number; w: number; h: number; domains: { x: number; y: number; w: number; h: number }[] }
export interface Layout { tiles: Tile[]; frames: Frame[]; width: number; height: number; tile: number; aggregate: boolean }

const GAP = 4, PAD = 8, HEAD = 20;

/** Tile width by the number of devices: a lab's four are large, a data centre's thousands are small. */
function tileWidth(devices: number): number {
  return devices <= 32 ? 104 : devices <= 128 ? 72 : devices <= 512 ? 44 : devices <= 1536 ? 26 : 18;
}

export const AGGREGATE_ABOVE = 4096;

/** Beyond the limit a node is one tile: its devices added up. */
function aggregateOf(n: BoardNode): Device {
  const d: Device = {
    index: 0, model: n.devices[0]?.model ?? '', health: 'ok', mem_bytes: 0, mem_free_bytes: 0, compute_milli: 0, compute_free_milli: 0,
    use: 'full', util_pct: -1, mem_used_pct: -1, temp_c: -1, power_mw: -1, pieces: [],
  };
  const uses = new Set<string>();
  for (const e of n.devices) {
    d.mem_bytes += e.mem_bytes; d.mem_free_bytes += e.mem_free_bytes;
    d.compute_milli += e.compute_milli; d.compute_free_milli += e.compute_free_milli;
    d.temp_c = Math.max(d.temp_c, e.temp_c); d.util_pct = Math.max(d.util_pct, e.util_pct);
    d.pieces.push(...e.pieces); uses.add(e.use);
    if (e.health !== 'ok') d.health = e.health;
  }
  d.use = uses.has('free') ? 'free' : uses.has('fragment') ? 'fragment' : uses.has('closed') && uses.size === 1 ? 'closed' : 'full';
  return d;
}

export function layoutOf(board: Board, width: number): Layout {
  const devices = board.nodes.reduce((n, x) => n + x.devices.length, 0);
  const aggregate = devices > AGGREGATE_ABOVE;
  const tile = tileWidth(aggregate ? board.nodes.length : devices);
  const small = tile < 30;
  const pad = small ? 4 : PAD, head = small ? 13 : HEAD, gap = small ? 2 : GAP;
  const tallest = Math.round(tile * (tile > 60 ? 1.15 : 1.25));
  let mostMem = 1;
  for (const n of board.nodes) for (const d of n.devices) mostMem = Math.max(mostMem, d.mem_bytes);

  const nodes = [...board.nodes].sort((a, b) => (a.rack ?? '').localeCompare(b.rack ?? '') || a.name.localeCompare(b.name, undefined, { numeric: true }));
  const tiles: Tile[] = [], frames: Frame[] = [];
  let x = 0, y = 0, row = 0;
  for (const node of nodes) {
    const list = aggregate ? [aggregateOf(node)] : node.devices;
    if (!list.length) continue;
    const perRow = Math.min(list.length, Math.max(1, Math.min(8, Math.floor((width - 2 * pad + gap) / (tile + gap)))));
    // Drawn to its memory; never so small that it cannot be hit. A row is as high as its largest tile.
    const heights = list.map((d) => Math.min(tallest, Math.max(Math.round(tallest * 0.42), Math.round(tallest * (d.mem_bytes ? Math.sqrt(d.mem_bytes / (aggregate ? mostMem * 8 : mostMem)) : 1)))));
    const rowTop: number[] = [];
    let inner = 0;
    for (let i = 0; i < list.length; i += perRow) { const high = Math.max(...heights.slice(i, i + perRow)); rowTop.push(inner + high); inner += high + gap; }
    const w = 2 * pad + perRow * (tile + gap) - gap;
    const h = head + inner - gap + pad;
    if (x > 0 && x + w > width) { x = 0; y += row + (small ? 6 : 12); row = 0; }
    const frame: Frame = { node, x, y, w, h, domains: [] };
    const box = new Map<number, { x: number; y: number; w: number; h: number }>();
    list.forEach((device, i) => {
      const th = heights[i], tx = x + pad + (i % perRow) * (tile + gap), ty = y + head + rowTop[Math.floor(i / perRow)] - th;
      tiles.push({ node, device, key: `${node.name}:${aggregate ? '*' : device.index}`, x: tx, y: ty, w: tile, h: th });
      if (device.link_domain && !aggregate) {
        const b = box.get(device.link_domain), r = { x: tx - 2, y: ty - 2, w: tile + 4, h: th + 4 };
        if (!b) box.set(device.link_domain, r);
        else {
          const x2 = Math.max(b.x + b.w, r.x + r.w), y2 = Math.max(b.y + b.h, r.y + r.h);
          b.x = Math.min(b.x, r.x); b.y = Math.min(b.y, r.y); b.w = x2 - b.x; b.h = y2 - b.y;
        }
      }
    });
    frame.domains = [...box.values()].filter((b) => b.w > tile + 6);
    frames.push(frame);
    x += w + (small ? 6 : 12);
    row = Math.max(row, h);
  }
  return { tiles, frames, width, height: y + row + 4, tile, aggregate };
}

/** The tile at a point, by a grid so that a move of the mouse over thousands of tiles costs nothing. */
export class Finder {
  private cells = new Map<number, Tile[]>();
  private size: number;
  constructor(l: Layout) {
    this.size = Math.max(32, l.tile * 2);
    for (const t of l.tiles)
      for (let cx = Math.floor(t.x / this.size); cx <= Math.floor((t.x + t.w) / this.size); cx++)
        for (let cy = Math.floor(t.y / this.size); cy <= Math.floor((t.y + t.h) / this.size); cy++) {
          const k = cy * 100003 + cx;
          (this.cells.get(k) ?? this.cells.set(k, []).get(k)!).push(t);
        }
  }
  at(x: number, y: number): Tile | null {
    const list = this.cells.get(Math.floor(y / this.size) * 100003 + Math.floor(x / this.size));
    return list?.find((t) => x >= t.x && x < t.x + t.w && y >= t.y && y < t.y + t.h) ?? null;
  }
}
