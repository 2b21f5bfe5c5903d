// SPDX-License-Identifier: Apache-2.0
// Small parts that several views share.
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { ApiError, ask } from './api';
import { t } from './i18n';
import { useStore } from './store';

/** Something of the API, fetched again when the cluster changes. */
export function useAsk<T>(path: string | null, every = true): { data: T | null; error: string; missing: boolean } {
  const { changes } = useStore();
  const [got, put] = useState<{ path: string | null; data: T | null; error: string; missing: boolean }>({ path: null, data: null, error: '', missing: false });
  // One request at a time: a change during one asks once more after it, so that a slow answer is never thrown away.
  const now = useRef<{ path: string | null; busy: boolean; again: boolean; stop: AbortController }>({ path: null, busy: false, again: false, stop: new AbortController() });
  useEffect(() => {
    const x = now.current;
    if (x.path !== path) { x.stop.abort(); now.current = { path, busy: false, again: false, stop: new AbortController() }; }
    const mine = now.current;
    const run = () => {
      if (!path || mine !== now.current) return;
      mine.busy = true; mine.again = false;
      ask<T>(path, 'GET', undefined, mine.stop.signal).then(
        (data) => put({ path, data, error: '', missing: false }),
        (e) => { if (!mine.stop.signal.aborted) put((p) => ({ path, data: p.path === path ? p.data : null, error: e.message, missing: e instanceof ApiError && (e.status === 501 || e.reason === 'NoSuchPath') })); })
        .finally(() => { mine.busy = false; if (mine.again) run(); });
    };
    if (mine.busy) mine.again = true; else run();
  }, [path, every ? changes : 0]);
  useEffect(() => () => now.current.stop.abort(), []);
  return got.path === path ? got : { data: null, error: '', missing: false };
}

export function Problem({ error, missing }: { error: string; missing?: boolean }) {
  if (!error) return null;
  return <p class="problem" role="alert">{missing ? t('This daemon does not do that yet') : error}</p>;
}

export interface Column<T> { head: string; cell: (row: T) => ComponentChildren; num?: boolean; width?: string; key?: (row: T) => string | number }

/** A table that draws only the rows that are seen, so that 10,000 scroll like ten. */
export function Table<T>({ rows, columns, rowKey, onOpen, caption, height }: {
  rows: T[]; columns: Column<T>[]; rowKey: (r: T) => string | number; onOpen?: (r: T) => void; caption: string; height?: number;
}) {
  const ROW = 28, box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [sort, setSort] = useState<{ at: number; down: boolean } | null>(null);
  const view = height ?? Math.min(560, (rows.length + 1) * ROW + 2);
  let list = rows;
  if (sort) {
    const key = columns[sort.at].key;
    if (key) list = [...rows].sort((a, b) => { const x = key(a), y = key(b); return (x < y ? -1 : x > y ? 1 : 0) * (sort.down ? -1 : 1); });
  }
  const first = Math.max(0, Math.floor(top / ROW) - 5), last = Math.min(list.length, first + Math.ceil(view / ROW) + 10);
  return (
    <div class="table" ref={box} style={{ maxHeight: `${view}px` }} tabIndex={0} role="region" aria-label={caption}
      onScroll={(e) => setTop(e.currentTarget.scrollTop)}>
      <table aria-rowcount={list.length + 1}>
        <caption class="hidden">{caption}</caption>
        <thead><tr>{columns.map((c, i) => (
          <th scope="col" class={c.num ? 'num' : ''} style={c.width ? { width: c.width } : undefined} aria-sort={sort?.at === i ? (sort.down ? 'descending' : 'ascending') : undefined}>
            {c.key ? <button class="sort" onClick={() => setSort({ at: i, down: sort?.at === i ? !sort.down : false })}>{c.head}{sort?.at === i ? (sort.down ? ' ↓' : ' ↑') : ''}</button> : c.head}
          </th>))}</tr></thead>
        <tbody>
          {first > 0 && <tr aria-hidden="true" style={{ height: `${first * ROW}px` }} />}
          {list.slice(first, last).map((r, i) => (
            <tr key={rowKey(r)} aria-rowindex={first + i + 2} class={onOpen ? 'open' : ''} onClick={onOpen && (() => onOpen(r))}>
              {columns.map((c) => <td class={c.num ? 'num' : ''}>{c.cell(r)}</td>)}
            </tr>))}
          {last < list.length && <tr aria-hidden="true" style={{ height: `${(list.length - last) * ROW}px` }} />}
        </tbody>
      </table>
      {!rows.length && <p class="empty">{t('Nothing here')}</p>}
    </div>
  );
}

/** A question above the page; Escape and a click beside it are no. */
export function Dialog({ label, alert, onClose, children }: { label: string; alert?: boolean; onClose: () => void; children: ComponentChildren }) {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    const key = (e: KeyboardEvent) => { if (e.key === 'Escape') onClose(); };
    addEventListener('keydown', key);
    (box.current?.querySelector('button, input, textarea') as HTMLElement | null)?.focus();
    return () => { removeEventListener('keydown', key); before?.focus(); };
  }, []);
  return (
    <div class="veil" onClick={onClose}>
      <div class="dialog" ref={box} role={alert ? 'alertdialog' : 'dialog'} aria-modal="true" aria-label={label} onClick={(e) => e.stopPropagation()}>{children}</div>
    </div>
  );
}

export function Confirm({ text, onYes, onNo }: { text: string; onYes: () => void; onNo: () => void }) {
  return (
    <Dialog label={text} alert onClose={onNo}>
      <p>{text}</p>
      <div class="actions"><button class="primary" onClick={onYes}>{t('Yes')}</button><button onClick={onNo}>{t('No')}</button></div>
    </Dialog>
  );
}

export function go(hash: string) { location.hash = hash; }

export function StateWord({ word }: { word: string }) {
  const kind = /^(RUNNING|COMPLETED|ready|ok)$/.test(word) ? 'good' : /^(FAILED|OOM|NODE_LOST|DEVICE_LOST|LAUNCH_FAILED|TIMEOUT|failed|down)$/.test(word) ? 'bad' : /^(PENDING|HELD|SUSPENDED|degraded|draining|drained)$/.test(word) ? 'wait' : '';
  return <span class={`state ${kind}`}>{word}</span>;
}
