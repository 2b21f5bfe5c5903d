// SPDX-License-Identifier: Apache-2.0
// Edit a quota or the nodes, and see for whom today's plan changes.
import { useState } from 'preact/hooks';
import { ask } from './api';
import { moment, t } from './i18n';
import { Problem, Table } from './parts';

interface Change { job: number; user?: string; now_start_us?: number; then_start_us?: number; text?: string }

export function WhatIfView() {
  const [edit, setEdit] = useState('');
  const [rows, setRows] = useState<Change[] | null>(null);
  const [error, setError] = useState<{ text: string; missing: boolean } | null>(null);
  const run = async () => {
    try { setRows((await ask<{ changes: Change[] }>(`/v1/whatif?edit=${encodeURIComponent(edit)}`)).changes); setError(null); }
    catch (e) { setRows(null); setError({ text: (e as Error).message, missing: (e as any).status === 501 || (e as any).reason === 'NoSuchPath' }); }
  };
  return (
    <>
      <h1>{t('What if')}</h1>
      <form class="tools" onSubmit={(e) => { e.preventDefault(); void run(); }}>
        <label class="grow">{t('Change')} <input value={edit} placeholder="queue.vision.limit=32   add-nodes=4xA100-SXM4-80GB" onInput={(e) => setEdit(e.currentTarget.value)} /></label>
        <button class="primary" disabled={!edit.trim()}>{t('See what changes')}</button>
      </form>
      {error && <Problem error={error.text} missing={error.missing} />}
      {rows && <Table caption={t('What if')} rows={rows} rowKey={(r) => r.job} columns={[
        { head: t('Job'), num: true, cell: (r) => <a href={`#/job/${r.job}`}>{r.job}</a> }, { head: t('User'), cell: (r) => r.user ?? '' },
        { head: t('Before'), cell: (r) => moment(r.now_start_us) }, { head: t('After'), cell: (r) => moment(r.then_start_us) },
        { head: '', cell: (r) => (r.now_start_us && r.then_start_us ? (r.then_start_us < r.now_start_us ? t('starts earlier') : r.then_start_us > r.now_start_us ? t('starts later') : '') : r.text ?? '') },
      ]} />}
    </>
  );
}
