// SPDX-License-Identifier: Apache-2.0
// What needs a look: devices that are not well, and devices that are held and do nothing.
import { t } from './i18n';
import { StateWord, Table } from './parts';
import { useStore } from './store';

export function HealthView() {
  const { board } = useStore();
  if (!board) return <p class="empty">{t('Loading')}…</p>;
  const jobs = new Map(board.jobs.map((j) => [j.id, j]));
  const all = board.nodes.flatMap((node) => node.devices.map((device) => ({ node, device, key: `${node.name}:${device.index}` })));
  const ill = all.filter((x) => x.device.health !== 'ok' || x.node.state !== 'ready' || x.device.foreign || x.device.temp_c >= 85 || x.device.mem_free_bytes < 0);
  const idle = all.filter((x) => x.device.pieces.length && x.device.util_pct >= 0 && x.device.util_pct < 5);
  return (
    <>
      <h1>{t('Health')}</h1>
      <section class="card"><h2>{t('Devices that need a look')} ({ill.length})</h2>
        {ill.length ? <Table caption={t('Devices that need a look')} rows={ill} rowKey={(x) => x.key} columns={[
          { head: t('Device'), cell: (x) => x.key, key: (x) => x.key }, { head: t('Model'), cell: (x) => x.device.model }, { head: t('Node'), cell: (x) => <StateWord word={x.node.state} /> },
          { head: t('State'), cell: (x) => <StateWord word={x.device.health} /> }, { head: t('Reason'), cell: (x) => [x.device.reason, x.device.foreign ? `${t('foreign process')}: ${x.device.foreign}` : ''].filter(Boolean).join('; ') },
          { head: '°C', num: true, cell: (x) => (x.device.temp_c < 0 ? '—' : x.device.temp_c), key: (x) => x.device.temp_c },
        ]} /> : <p class="good">{t('All devices are healthy')}</p>}
      </section>
      <section class="card"><h2>{t('Held but idle')} ({idle.length})</h2>
        {idle.length ? <Table caption={t('Held but idle')} rows={idle} rowKey={(x) => x.key} columns={[
          { head: t('Device'), cell: (x) => x.key, key: (x) => x.key }, { head: t('use'), num: true, cell: (x) => `${x.device.util_pct}%` },
          { head: t('Jobs'), cell: (x) => x.device.pieces.map((p) => <><a href={`#/job/${p.job}`}>#{p.job}</a> {jobs.get(p.job)?.user} {jobs.get(p.job)?.name} </>) },
        ]} /> : <p class="good">{t('Nobody holds idle devices')}</p>}
      </section>
      <p class="quiet">{t('numbers as')} <a href="/v1/devices?format=csv">CSV</a></p>
    </>
  );
}
