// SPDX-License-Identifier: Apache-2.0
// What a repack would do: the boards before and after, side by side, its gain and its cost; and the button that does it.
import { useState } from 'preact/hooks';
import { ask, type Board } from './api';
import { Picture } from './board';
import { duration, t } from './i18n';
import { Confirm, Problem, Table, useAsk } from './parts';
import { useStore } from './store';

interface Move { job: number; task: number; from_node: string; from_devices?: number[]; to_node: string; to_devices?: number[]; cost_us?: number }
interface Plan { moves?: Move[]; gain_milli: number; cost_us: number; text?: string }

/** The board as it would be after the moves. */
export function after(board: Board, moves: Move[]): Board {
  const nodes = board.nodes.map((n) => ({ ...n, devices: n.devices.map((d) => ({ ...d, pieces: [...d.pieces] })) }));
  const dev = (node: string, i: number) => nodes.find((n) => n.name === node)?.devices.find((d) => d.index === i);
  for (const m of moves) {
    const taken = (m.from_devices ?? []).flatMap((i) => {
      const d = dev(m.from_node, i), p = d?.pieces.find((x) => x.job === m.job && x.task === m.task);
      if (!d || !p) return [];
      d.pieces = d.pieces.filter((x) => x !== p); d.compute_free_milli += p.compute_milli; d.mem_free_bytes += p.mem_bytes;
      if (!d.pieces.length) d.use = 'free';
      return [p];
    });
    (m.to_devices ?? []).forEach((i, k) => {
      const d = dev(m.to_node, i), p = taken[Math.min(k, taken.length - 1)];
      if (!d || !p) return;
      d.pieces.push(p); d.compute_free_milli -= p.compute_milli; d.mem_free_bytes -= p.mem_bytes;
      if (d.compute_free_milli <= 0) d.use = 'full';
    });
  }
  return { ...board, nodes };
}

export function RepackView() {
  const { board, who } = useStore();
  const { data: plan, error, missing } = useAsk<Plan>('/v1/repack');
  const [sure, setSure] = useState(false);
  const [failed, setFailed] = useState('');
  const moves = plan?.moves ?? [];
  const apply = async () => { setSure(false); try { await ask('/v1/repack', 'POST', { apply: true }); setFailed(''); } catch (e) { setFailed((e as Error).message); } };
  return (
    <>
      <h1>{t('Repack')}</h1>
      <Problem error={error || failed} missing={missing} />
      {plan && !moves.length && <p class="good">{t('Nothing to gain now')} {plan.text}</p>}
      {plan && !!moves.length && board && <>
        <p>{moves.length} {t('moves')} · {t('gain')} {(plan.gain_milli / 1000).toFixed(1)} {t('devices')} · {t('cost')} {duration(plan.cost_us)} {plan.text}</p>
        {who?.role === 'admin' && <p><button class="primary" onClick={() => setSure(true)}>{t('Apply this plan')}</button></p>}
        <div class="pair"><section><h2>{t('Before')}</h2><Picture board={board} colourBy="job" query="" label={t('Before')} /></section><section><h2>{t('After')}</h2><Picture board={after(board, moves)} colourBy="job" query="" label={t('After')} /></section></div>
        <Table caption={t('moves')} rows={moves} rowKey={(m) => `${m.job}/${m.task}`} columns={[
          { head: t('Job'), num: true, cell: (m) => <a href={`#/job/${m.job}`}>{m.job}</a> }, { head: t('Before'), cell: (m) => `${m.from_node}:${(m.from_devices ?? []).join(',')}` }, { head: t('After'), cell: (m) => `${m.to_node}:${(m.to_devices ?? []).join(',')}` }, { head: t('cost'), num: true, cell: (m) => (m.cost_us ? duration(m.cost_us) : '') },
        ]} />
      </>}
      {sure && <Confirm text={`${t('Apply this plan')}?`} onYes={() => void apply()} onNo={() => setSure(false)} />}
    </>
  );
}
