// SPDX-License-Identifier: Apache-2.0
// Edit a quota or the nodes, and see for whom today's plan changes. Nothing is changed by asking.
import { useState } from 'preact/hooks';
import { ask } from './api';
import { count, moment, t } from './i18n';
import { Problem, Table } from './parts';

interface Change {
  job: number; user?: string; name?: string; gone?: boolean;
  now_latest_us?: number; now_from_us?: number; now_to_us?: number; then_latest_us?: number; then_from_us?: number; then_to_us?: number;
}
const span = (from?: number, to?: number, latest?: number) => (from && to ? `${moment(from)} – ${moment(to)}` : latest ? `≤ ${moment(latest)}` : '—');
const middle = (from?: number, to?: number, latest?: number) => (from && to ? (from + to) / 2 : latest ?? Infinity);
const now = (c: Change) => middle(c.now_from_us, c.now_to_us, c.now_latest_us), then = (c: Change) => middle(c.then_from_us, c.then_to_us, c.then_latest_us);
function says(c: Change): string { return c.gone ? t('gone') : then(c) < now(c) ? t('starts earlier') : then(c) > now(c) ? t('starts later') : ''; }

export function WhatIfView() {
  const [edit, setEdit] = useState('');
  const [rows, setRows] = useState<Change[] | null>(null);
  const [error, setError] = useState<{ text: string; missing: boolean } | null>(null);
  const run = async () => {
    try { setRows((await ask<{ changes: Change[] }>(`/v1/whatif?edit=${encodeURIComponent(edit.trim())}`)).changes); setError(null); }
    catch (e) { setRows(null); setError({ text: (e as Error).message, missing: (e as any).status === 501 || (e as any).reason === 'NoSuchPath' }); }
  };
  const earlier = rows?.filter((r) => !r.gone && then(r) < now(r)).length ?? 0, later = rows?.filter((r) => !r.gone && then(r) > now(r)).length ?? 0;
  return (
    <>
      <h1>{t('What if')}</h1>
      <form class="tools" onSubmit={(e) => { e.preventDefault(); void run(); }}>
        <label class="grow">{t('Change')} <input value={edit} onInput={(e) => setEdit(e.currentTarget.value)} placeholder="add-nodes=2xA100-SXM4-80GB queue.vision.limit=gpu:32" aria-describedby="edits" /></label>
        <button class="primary" disabled={!edit.trim()}>{t('See what changes')}</button>
      </form>
      <p class="quiet" id="edits"><code>add-nodes=2xA100-SXM4-80GB</code> <code>queue.NAME.limit=gpu:32</code> <code>remove-node=NAME</code> <code>drain=NAME</code> <code>cancel=JOB</code> <code>policy=NAME</code></p>
      {error && <Problem error={error.text} missing={error.missing} />}
      {rows && <><p>{count(earlier)} {t('starts earlier')}, {count(later)} {t('starts later')}, {count(rows.length - earlier - later)} {t('unchanged')}</p>
        <Table caption={t('What if')} rows={rows} rowKey={(r) => r.job} columns={[
          { head: t('Job'), num: true, cell: (r) => <a href={`#/job/${r.job}`}>{r.job}</a>, key: (r) => r.job }, { head: t('User'), cell: (r) => r.user ?? '', key: (r) => r.user ?? '' }, { head: t('Name'), cell: (r) => r.name ?? '' },
          { head: t('Before'), cell: (r) => span(r.now_from_us, r.now_to_us, r.now_latest_us), key: now }, { head: t('After'), cell: (r) => (r.gone ? '' : span(r.then_from_us, r.then_to_us, r.then_latest_us)), key: then },
          { head: '', cell: says },
        ]} /></>}
    </>
  );
}
