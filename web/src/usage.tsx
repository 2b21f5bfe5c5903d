// SPDX-License-Identifier: Apache-2.0
// Waste, fairness, cost, waiting: each plot with its numbers as a table and as CSV.
import { useState } from 'preact/hooks';
import type { Sample, Usage } from './api';
import { duration, t } from './i18n';
import { Problem, Table, useAsk } from './parts';
import { Bars, Lines } from './plot';
import { useStore } from './store';

interface Queue { name: string; parent?: string; weight: number; guaranteed_milli: number; limit_milli?: number; used_milli: number; pending: number; running: number }

const hours = (us: number) => us / 3600e6;

export function UsageView() {
  const { changes } = useStore();
  const [by, setBy] = useState('user');
  const [price, setPrice] = useState(Number(localStorage.getItem('wz.price') ?? '2'));
  const { data, error, missing } = useAsk<{ usage: Usage[] }>(`/v1/usage?by=${by}`, changes % 10 === 0);
  const { data: queues } = useAsk<{ queues: Queue[] }>('/v1/queues');
  const { data: over } = useAsk<{ samples: Sample[] }>('/v1/samples', changes % 10 === 0);
  const samples = over?.samples ?? [];
  const rows = data?.usage ?? [], top = [...rows].sort((a, b) => (by === 'day' ? a.key.localeCompare(b.key) : b.device_us - a.device_us)).slice(0, 16);
  return (
    <>
      <h1>{t('Usage')}</h1>
      <div class="tools">
        <div role="tablist" class="tabs">{[['user', 'By user'], ['queue', 'By queue'], ['model', 'By model'], ['state', 'By state'], ['day', 'By day']].map(([k, label]) => <button role="tab" aria-selected={by === k} onClick={() => setBy(k)}>{t(label)}</button>)}</div>
        <label>{t('Price of a GPU-hour')} <input type="number" min={0} step={0.1} value={price} onInput={(e) => { const v = Number(e.currentTarget.value); if (v >= 0) { setPrice(v); localStorage.setItem('wz.price', String(v)); } }} /></label>
        <span class="quiet">{t('numbers as')} <a href={`/v1/usage?by=${by}&format=csv`}>CSV</a></span>
      </div>
      <Problem error={error} missing={missing} />
      {samples.length > 1 && <section class="card"><h2>{t('The waste gap: held against used')}</h2>
        <Lines at={samples.map((x) => x.time_us / 1e6)} unit="%" max={100} series={[{ name: t('held'), colour: '#2f6fed', fill: true, values: samples.map((x) => (x.held_pct < 0 ? null : x.held_pct)) }, { name: t('used'), colour: '#3d9a6c', fill: true, values: samples.map((x) => (x.util_pct < 0 ? null : x.util_pct)) }]} />
        <p class="quiet">{t('numbers as')} <a href="/v1/samples?format=csv">CSV</a> <a href="/v1/samples?format=html">HTML</a></p></section>}
      <section class="card"><h2>{t('Allocated against used')}</h2>
        <Bars labels={top.map((u) => u.key || '—')} unit={t('GPU-hours')} series={[{ name: t('GPU-hours'), colour: '#2f6fed', values: top.map((u) => hours(u.device_us)) }, { name: t('Wasted GPU-hours'), colour: '#d99a1c', values: top.map((u) => hours(Math.max(0, u.waste_us))) }]} /></section>
      <section class="card"><h2>{t('Wait')}</h2>
        <Bars labels={top.map((u) => u.key || '—')} unit="min" series={[{ name: t('Median wait'), colour: '#3d9a6c', values: top.map((u) => u.wait_p50_us / 60e6) }, { name: t('95th percentile'), colour: '#b0559b', values: top.map((u) => u.wait_p95_us / 60e6) }]} /></section>
      <Table caption={t('Usage')} rows={rows} rowKey={(u) => u.key} columns={[
        { head: t(by), cell: (u) => u.key || '—', key: (u) => u.key }, { head: t('Jobs'), num: true, cell: (u) => u.jobs, key: (u) => u.jobs },
        { head: t('Completed'), num: true, cell: (u) => u.completed, key: (u) => u.completed }, { head: t('Failed'), num: true, cell: (u) => u.failed, key: (u) => u.failed }, { head: t('Cancelled'), num: true, cell: (u) => u.cancelled, key: (u) => u.cancelled },
        { head: t('GPU-hours'), num: true, cell: (u) => hours(u.device_us).toFixed(2), key: (u) => u.device_us }, { head: t('wasted'), num: true, cell: (u) => (u.waste_us < 0 ? '—' : hours(u.waste_us).toFixed(2)), key: (u) => u.waste_us },
        { head: t('Cost'), num: true, cell: (u) => (hours(u.device_us) * price).toFixed(2), key: (u) => u.device_us }, { head: t('Median wait'), num: true, cell: (u) => duration(u.wait_p50_us), key: (u) => u.wait_p50_us }, { head: t('95th percentile'), num: true, cell: (u) => duration(u.wait_p95_us), key: (u) => u.wait_p95_us },
      ]} />
      {!!queues?.queues.length && <section class="card"><h2>{t('Fair share: guaranteed against used')}</h2>
        <Bars labels={queues.queues.map((q) => q.name)} unit={t('devices')} series={[{ name: t('guaranteed'), colour: '#3d9a6c', values: queues.queues.map((q) => q.guaranteed_milli / 1000) }, { name: t('used'), colour: '#2f6fed', values: queues.queues.map((q) => q.used_milli / 1000) }]} />
        <Table caption={t('Queue')} rows={queues.queues} rowKey={(q) => q.name} columns={[
          { head: t('queue'), cell: (q) => q.name }, { head: t('guaranteed'), num: true, cell: (q) => q.guaranteed_milli / 1000 }, { head: t('limit'), num: true, cell: (q) => (q.limit_milli ? q.limit_milli / 1000 : '—') },
          { head: t('used'), num: true, cell: (q) => q.used_milli / 1000 }, { head: t('running'), num: true, cell: (q) => q.running }, { head: t('waiting'), num: true, cell: (q) => q.pending },
        ]} /><p class="quiet">{t('numbers as')} <a href="/v1/queues?format=csv">CSV</a></p></section>}
    </>
  );
}
