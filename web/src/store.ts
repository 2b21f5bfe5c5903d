// SPDX-License-Identifier: Apache-2.0
// What the page knows of the cluster, kept fresh by the event stream. Views subscribe; a burst of events is one fetch.
import { useEffect, useState } from 'preact/hooks';
import { ApiError, ask, follow, type Board, type Info, type Whoami } from './api';

export interface State {
  who: Whoami | null;
  login: boolean;           // the daemon wants to know who we are
  board: Board | null;
  info: Info | null;
  live: boolean;            // the stream is up
  at: number | null;        // a past moment that is looked at, microseconds; null: now
  changes: number;          // grows with each refresh, for views that fetch their own lists
  error: string;
}

const state: State = { who: null, login: false, board: null, info: null, live: false, at: null, changes: 0, error: '' };
const listeners = new Set<() => void>();
let timer = 0, busy = false, again = false, stop: (() => void) | null = null, past: AbortController | null = null;

export function set(part: Partial<State>) {
  Object.assign(state, part);
  listeners.forEach((f) => f());
}
export function get(): Readonly<State> { return state; }

/** The daemon's clock, as far as we know it, in microseconds. */
let skew = 0;
export function nowUs(): number { return Date.now() * 1000 + skew; }

/** Draws the component again whenever the state changes. */
export function useStore(): Readonly<State> {
  const [, draw] = useState(0);
  useEffect(() => {
    const f = () => draw((n) => n + 1);
    listeners.add(f);
    return () => { listeners.delete(f); };
  }, []);
  return state;
}

async function refresh() {
  if (busy) { again = true; return; }
  busy = true;
  try {
    const [board, info] = await Promise.all([state.at === null ? ask<Board>('/v1/board') : null, ask<Info>('/v1/info')]);
    skew = info.now_us - Date.now() * 1000;
    set({ ...(board && state.at === null ? { board } : {}), info, changes: state.changes + 1, error: '', live: true });
  } catch (e) {
    if (e instanceof ApiError && e.status === 401) { end(); set({ login: true, who: null }); }
    else set({ error: e instanceof Error ? e.message : String(e) });
  }
  busy = false;
  if (again) { again = false; soon(); }
}

/** A big cluster is asked for less often: its picture is large and each change is a small part of it. */
function soon() {
  if (timer) return;
  const n = state.board?.nodes.reduce((s, x) => s + x.devices.length, 0) ?? 0;
  timer = window.setTimeout(() => { timer = 0; void refresh(); }, n > 1000 ? 1000 : 150);
}

function end() { stop?.(); stop = null; }

export async function begin() {
  end();
  const who = await ask<Whoami>('/v1/whoami').catch(() => null);
  if (!who || who.role === 'none') { set({ who: null, login: true }); return; }
  set({ who, login: false });
  await refresh();
  stop = follow(soon, (live) => { if (live !== state.live) { set({ live }); if (live) soon(); } });
}
// Readings (temperature, utilisation) make no events.
setInterval(() => { if (stop && !document.hidden && state.live) soon(); }, 5000);

export async function look(at: number | null) {
  past?.abort();
  set({ at });
  if (at === null) { soon(); return; }
  past = new AbortController();
  try {
    const board = await ask<Board>(`/v1/board?at_us=${Math.round(at)}`, 'GET', undefined, past.signal);
    if (state.at === at) set({ board, error: '' });
  } catch (e) {
    if (!(e instanceof DOMException)) set({ error: e instanceof Error ? e.message : String(e) });
  }
}

export async function login(token: string): Promise<string> {
  try { await ask('/v1/sessions', 'POST', { token }); await begin(); return ''; }
  catch (e) { return e instanceof Error ? e.message : String(e); }
}
export async function logout() { await ask('/v1/sessions', 'DELETE').catch(() => null); location.reload(); }
