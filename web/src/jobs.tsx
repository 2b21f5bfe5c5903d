// SPDX-License-Identifier: Apache-2.0
// The queue, and the page of one job.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ask, type Attempt, type Job, type Sample, type Why } from './api';
import { count, duration, moment, t } from './i18n';
import { Confirm, Dialog, go, Problem, StateWord, Table, useAsk } from './parts';
import { Lines } from './plot';
import { nowUs, useStore } from './store';

export function QueueView() {
  const { info } = useStore();
  const [which, setWhich] = useState('waiting,active');
  const [query, setQuery] = useState('');
  const { data, error, missing } = useAsk<{ jobs: Job[] }>(`/v1/jobs?state=${which}${which === 'ended' ? '&limit=2000' : ''}`);
  const rows = useMemo(() => {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    return (data?.jobs ?? []).filter((j) => words.every((w) => `#${j.id} ${j.name ?? ''} ${j.user} ${j.queue ?? ''} ${j.state} ${j.profile}`.toLowerCase().includes(w)));
  }, [data, query]);
  const now = info ? nowUs() : Date.now() * 1000;
  return (
    <>
      <h1>{t('Queue')}</h1>
      <div class="tools">
        <input type="search" aria-label={t('Filter')} placeholder={t('Filter')} value={query} onInput={(e) => setQuery(e.currentTarget.value)} />
        <select aria-label={t('State')} value={which} onChange={(e) => setWhich(e.currentTarget.value)}>
          <option value="waiting,active">{t('waiting')} + {t('running')}</option><option value="waiting">{t('waiting')}</option><option value="active">{t('running')}</option><option value="ended">{t('Ended')}</option>
        </select>
        <span class="quiet">{count(rows.length)} {t('rows')} · {t('numbers as')} <a href={`/v1/jobs?state=${which}&format=csv`}>CSV</a> <a href={`/v1/jobs?state=${which}&format=html`}>HTML</a> <a href={`/v1/jobs?state=${which}&format=json`}>JSON</a></span>
      </div>
      <Problem error={error} missing={missing} />
      {data && <Table caption={t('Jobs')} rows={rows} rowKey={(j) => j.id} onOpen={(j) => go(`#/job/${j.id}`)} height={620} columns={[
        { head: t('Job'), num: true, cell: (j) => <a href={`#/job/${j.id}`}>{j.id}</a>, key: (j) => j.id },
        { head: t('Name'), cell: (j) => j.name ?? '', key: (j) => j.name ?? '' }, { head: t('User'), cell: (j) => j.user, key: (j) => j.user },
        { head: t('queue'), cell: (j) => j.queue ?? '', key: (j) => j.queue ?? '' },
        { head: t('State'), cell: (j) => <StateWord word={j.state} />, key: (j) => j.state }, { head: t('Priority'), num: true, cell: (j) => j.priority, key: (j) => j.priority },
        { head: t('Position'), num: true, cell: (j) => j.position || '', key: (j) => j.position ?? 0 },
        { head: t('Wait'), num: true, cell: (j) => duration((j.start_us || j.end_us || now) - j.submit_us), key: (j) => (j.start_us || j.end_us || now) - j.submit_us },
        { head: t('Run'), num: true, cell: (j) => (j.start_us ? duration((j.end_us || now) - j.start_us) : ''), key: (j) => (j.start_us ? (j.end_us || now) - j.start_us : 0) },
        { head: t('Expected start'), cell: (j) => interval(j), key: (j) => j.expected_start_us ?? Infinity },
        { head: t('Profile'), cell: (j) => <code>{j.profile}</code> }, { head: t('Reason'), cell: (j) => j.reason_text || j.reason || '' },
      ]} />}
    </>
  );
}

function interval(j: { expected_start_us?: number; earliest_start_us?: number; latest_start_us?: number }): string {
  if (j.earliest_start_us && j.latest_start_us) return `${moment(j.earliest_start_us)} – ${moment(j.latest_start_us)}`;
  return j.expected_start_us ? `≈ ${moment(j.expected_start_us)}` : '';
}

function WhyPanel({ job, mine }: { job: Job; mine: boolean }) {
  const { data: why, error, missing } = useAsk<Why>(`/v1/jobs/${job.id}/why`);
  const [sure, setSure] = useState<string | null>(null);
  const [failed, setFailed] = useState('');
  if (!why) return <Problem error={error} missing={missing} />;
  const apply = async (change: string) => {
    setSure(null);
    // Entries that replace those of the same key, and "without KEY" for those that go.
    const keyOf = (e: string) => e.split(/[<>=~]/)[0], words = change.split(' '), gone = new Set<string>(), put: string[] = [];
    for (let i = 0; i < words.length; i++) { if (words[i] === 'without') gone.add(words[++i]); else { gone.add(keyOf(words[i])); put.push(words[i]); } }
    const rest = job.profile.split(' ').filter((e) => !gone.has(keyOf(e)));
    try { await ask(`/v1/jobs/${job.id}`, 'PATCH', { profile: [...rest, ...put].join(' ') }); setFailed(''); } catch (e) { setFailed((e as Error).message); }
  };
  return (
    <section class="card" aria-labelledby="why">
      <h2 id="why">{t('Why does it wait?')}</h2>
      <p><b>{why.reason}</b> — {why.text}</p>
      {why.never && <p class="problem">{t('It can never start here as it is')}</p>}
      {!!why.blockers?.length && <><h3>{t('All of these must clear')}</h3><ol>{why.blockers.map((b) => <li><b>{b.reason}</b> {b.text}{b.nodes ? <small> · {count(b.nodes)} {t('nodes')}</small> : ''}</li>)}</ol></>}
      {!!why.remedies?.length && <><h3>{t('Changes that would let it start')}</h3><ul>{why.remedies.map((r) => (
        <li><code>{r.change}</code> {r.text} {r.start_us ? moment(r.start_us) : t('now')} {mine && /^(without |[a-z-]+[<>=~])/.test(r.change) && <button onClick={() => setSure(r.change)}>{t('Apply')}</button>}</li>))}</ul></>}
      {!!why.not_blocking?.length && <p class="quiet">{t('Not blocking')}: {why.not_blocking.join(', ')}</p>}
      <p class="quiet">{why.position ? `${t('Position')} ${why.position} ${t('of')} ${why.queue_length ?? ''}. ` : ''}{interval(why) && `${t('Expected start')}: ${interval(why)}. `}{why.how && `${t('How we know')}: ${why.how}. `}{why.digest && <small>{why.digest}</small>}</p>
      <Problem error={failed} />
      {sure && <Confirm text={`${t('Apply')} ${sure}?`} onYes={() => void apply(sure)} onNo={() => setSure(null)} />}
    </section>
  );
}

/** Lines as a terminal would leave them: what follows a lone carriage return overwrites. */
export function fold(text: string): string {
  return text.replace(/\r\n/g, '\n').split('\n').map((l) => { const i = l.lastIndexOf('\r', l.length - 2); const s = i >= 0 ? l.slice(i + 1) : l; return s.replace(/\r$/, ''); }).join('\n');
}

function LogPanel({ job }: { job: Job }) {
  const [text, setText] = useState('');
  const [follow, setFollow] = useState(true);
  const [find, setFind] = useState('');
  const [error, setError] = useState('');
  const box = useRef<HTMLPreElement>(null);
  const live = ['RUNNING', 'STARTING', 'STOPPING', 'SUSPENDED'].includes(job.state);
  useEffect(() => {
    const c = new AbortController();
    setText(''); setError('');
    (async () => {
      try {
        const r = await fetch(`/v1/jobs/${job.id}/logs?tail=5000${live && follow ? '&follow=true' : ''}`, { signal: c.signal, credentials: 'same-origin' });
        if (!r.ok) { setError((await r.json()).error?.text ?? r.statusText); return; }
        const reader = r.body!.getReader(), decode = new TextDecoder();
        for (;;) {
          const { done, value } = await reader.read();
          if (done) break;
          const more = decode.decode(value, { stream: true });
          setText((s) => (s + more).slice(-2_000_000));
        }
      } catch (e) { if (!c.signal.aborted) setError((e as Error).message); }
    })();
    return () => c.abort();
  }, [job.id, job.attempt, live && follow]);
  const folded = useMemo(() => fold(text), [text]);
  const hits = useMemo(() => (find ? folded.split('\n').filter((l) => l.toLowerCase().includes(find.toLowerCase())) : null), [folded, find]);
  useEffect(() => { if (follow && box.current) box.current.scrollTop = box.current.scrollHeight; }, [folded, follow]);
  return (
    <section class="card" aria-labelledby="log">
      <h2 id="log">{t('Log')}</h2>
      <div class="tools">
        <input type="search" placeholder={t('Search')} aria-label={`${t('Search')}: ${t('Log')}`} value={find} onInput={(e) => setFind(e.currentTarget.value)} />
        <label><input type="checkbox" checked={follow} onChange={(e) => setFollow(e.currentTarget.checked)} /> {t('Follow')}</label>
        {hits && <span class="quiet">{count(hits.length)} {t('matches')}</span>}
        <a href={`/v1/jobs/${job.id}/logs`}>⇩</a>
      </div>
      <Problem error={error} />
      <pre class="log" ref={box} tabIndex={0} aria-label={t('Log')}>{hits ? hits.join('\n') : folded}</pre>
    </section>
  );
}

/** Utilisation of one device since the attempt began. */
function Strip({ node, device, since }: { node: string; device: number; since: number }) {
  const { changes } = useStore();
  const { data } = useAsk<{ samples: Sample[] }>(`/v1/samples?node=${encodeURIComponent(node)}&device=${device}&since_us=${since}`, changes % 4 === 0);
  const samples = data?.samples ?? [];
  if (samples.length < 2) return null;
  return <Lines at={samples.map((x) => x.time_us / 1e6)} unit="%" height={130} max={100} series={[{ name: `${node}:${device} ${t('use')}`, colour: '#3d9a6c', fill: true, values: samples.map((x) => (x.util_pct < 0 ? null : x.util_pct)) }, { name: t('Memory'), colour: '#b0559b', values: samples.map((x) => (x.mem_used_pct < 0 ? null : x.mem_used_pct)) }]} />;
}

function Attempts({ job }: { job: Job }) {
  const { data } = useAsk<{ attempts: Attempt[] }>(`/v1/jobs/${job.id}/attempts`);
  const { info } = useStore();
  const now = info ? nowUs() : Date.now() * 1000;
  const list = data?.attempts ?? [];
  const from = job.submit_us, to = Math.max(from + 1, ...list.map((a) => a.end_us || now), job.end_us || 0);
  const pct = (us: number) => `${((us - from) / (to - from)) * 100}%`;
  return (
    <section class="card" aria-labelledby="attempts">
      <h2 id="attempts">{t('Attempts')}</h2>
      <svg class="bars" viewBox={`0 0 100 ${Math.max(1, list.length) * 8}`} preserveAspectRatio="none" role="img" aria-label={t('Attempts')}>
        {list.map((a, i) => a.start_us && <rect x={((a.start_us - from) / (to - from)) * 100} y={i * 8 + 1.5} height={5} width={Math.max(0.4, (((a.end_us || now) - a.start_us) / (to - from)) * 100)} class={`bar ${a.state}`} />)}
      </svg>
      <div class="axis quiet"><span>{moment(from)}</span><span style={{ left: pct(to) }}>{moment(to)}</span></div>
      <Table caption={t('Attempts')} rows={list} rowKey={(a) => a.attempt} columns={[
        { head: t('Attempt'), num: true, cell: (a) => a.attempt }, { head: t('State'), cell: (a) => <StateWord word={a.state} /> },
        { head: t('Started'), cell: (a) => moment(a.start_us) }, { head: t('Ended'), cell: (a) => moment(a.end_us) },
        { head: t('Exit'), num: true, cell: (a) => (a.exit_signal ? `SIG ${a.exit_signal}` : a.end_us ? a.exit_code ?? 0 : '') },
        { head: t('Devices'), cell: (a) => (a.tasks ?? []).map((x) => `${x.node ?? ''}:${(x.devices ?? []).join(',')}`).join(' ') },
      ]} />
    </section>
  );
}

function Resubmit({ job, onClose }: { job: Job; onClose: () => void }) {
  const [profile, setProfile] = useState(job.profile);
  const [name, setName] = useState(job.name ?? '');
  const [argv, setArgv] = useState((job.argv ?? []).join('\n'));
  const [error, setError] = useState('');
  const send = async () => {
    try {
      const r = await ask<{ id: number }>('/v1/jobs', 'POST', { name, profile, argv: argv.split('\n'), cwd: job.cwd, queue: job.queue || undefined, priority: job.priority || undefined });
      onClose(); go(`#/job/${r.id}`);
    } catch (e) { setError((e as Error).message); }
  };
  return (
    <Dialog label={t('Resubmit with edits')} onClose={onClose}>
        <h2>{t('Resubmit with edits')}</h2>
        <label>{t('Name')} <input value={name} onInput={(e) => setName(e.currentTarget.value)} /></label>
        <label>{t('Profile')} <input value={profile} onInput={(e) => setProfile(e.currentTarget.value)} /></label>
        <label>{t('Command')} <textarea rows={5} value={argv} onInput={(e) => setArgv(e.currentTarget.value)} /></label>
        <Problem error={error} />
        <div class="actions"><button class="primary" onClick={() => void send()}>{t('Submit')}</button><button onClick={onClose}>{t('Close')}</button></div>
    </Dialog>
  );
}

export function JobView({ id }: { id: number }) {
  const { who, board } = useStore();
  const { data: job, error, missing } = useAsk<Job>(`/v1/jobs/${id}`);
  const [sure, setSure] = useState<{ verb: string; text: string } | null>(null);
  const [edit, setEdit] = useState(false);
  const [failed, setFailed] = useState('');
  if (!job) return <><h1>{t('Job')} {id}</h1>{error ? <Problem error={error} missing={missing} /> : <p class="empty">{t('Loading')}…</p>}</>;
  const mine = who?.role === 'admin' || (who?.role === 'user' && who.name === job.user);
  const ended = !!job.end_us, waiting = job.state === 'PENDING' || job.state === 'HELD';
  const act = async (verb: string) => {
    setSure(null);
    try { await ask(`/v1/jobs/${job.id}/${verb}`, 'POST', verb === 'hold' || verb === 'requeue' ? { reason: 'dashboard' } : {}); setFailed(''); } catch (e) { setFailed((e as Error).message); }
  };
  const verbs: [string, string][] = [
    ...(!ended ? [['cancel', t('Cancel job')]] as [string, string][] : []),
    ...(job.state === 'PENDING' ? [['hold', t('Hold')]] as [string, string][] : []), ...(job.state === 'HELD' ? [['release', t('Release')]] as [string, string][] : []),
    ...(job.state === 'RUNNING' ? [['requeue', t('Requeue')], ['suspend', t('Suspend')]] as [string, string][] : []), ...(job.state === 'SUSPENDED' ? [['resume', t('Resume')]] as [string, string][] : []),
  ];
  const use = (board?.nodes ?? []).flatMap((n) => n.devices.filter((d) => d.pieces.some((p) => p.job === job.id)).map((d) => ({ key: `${n.name}:${d.index}`, node: n.name, device: d.index, util: d.util_pct })));
  const facts: [string, unknown][] = [
    [t('User'), job.user], [t('queue'), job.queue], [t('Profile'), <code>{job.profile}</code>], [t('Priority'), job.priority], [t('Position'), job.position], [t('Expected start'), interval(job)],
    [t('Submitted'), moment(job.submit_us)], [t('Started'), moment(job.start_us)], [t('Ended'), moment(job.end_us)], [t('Attempt'), job.attempt],
    [t('Exit'), ended ? job.exit_signal ? `SIG ${job.exit_signal}` : job.exit_code ?? 0 : ''], [t('progress'), job.progress_milli ? `${job.progress_milli / 10}%` : ''],
    [t('Reason'), job.reason_text || job.reason], [t('Devices'), (job.tasks ?? []).map((x) => `${x.node ?? ''}:${(x.devices ?? []).join(',')}`).join(' ')], [t('Comment'), job.comment], ['git', job.git_commit],
  ];
  return (
    <>
      <h1>#{job.id} {job.name} <StateWord word={job.state} /></h1>
      {mine && <div class="actions">{verbs.map(([verb, text]) => <button onClick={() => setSure({ verb, text })}>{text}</button>)}{job.argv && <button onClick={() => setEdit(true)}>{t('Resubmit with edits')}</button>}</div>}
      <Problem error={failed} />
      <section class="card"><dl class="facts">{facts.filter(([, v]) => v !== undefined && v !== '' && v !== 0 || v === 0).map(([k, v]) => (v || v === 0) && <><dt>{k}</dt><dd>{v as any}</dd></>)}</dl></section>
      {waiting && <WhyPanel job={job} mine={!!mine} />}
      {!!use.length && <section class="card"><h2>{t('Utilisation now')}</h2><div class="use">{use.map((u) => <div><span>{u.key}</span><meter min={0} max={100} value={Math.max(0, u.util)} aria-label={u.key} /> {u.util < 0 ? '—' : `${u.util}%`}</div>)}</div>{use.slice(0, 4).map((u) => <Strip key={u.key} node={u.node} device={u.device} since={job.start_us ?? 0} />)}</section>}
      <Attempts job={job} />
      {mine && job.argv ? <section class="card"><h2>{t('Command')}</h2><pre class="command">{job.argv.map((a) => (/^[\w@%+=:,./-]+$/.test(a) ? a : `'${a.replace(/'/g, "'\\''")}'`)).join(' ')}</pre>
        <dl class="facts"><dt>{t('Folder')}</dt><dd><code>{job.cwd}</code></dd>{!!job.env_names?.length && <><dt>{t('Environment')}</dt><dd><code>{job.env_names.join(' ')}</code></dd></>}</dl></section>
        : <p class="quiet">{t('Command')}, {t('Log')}: {t('Only the owner and admins may see this')}</p>}
      {mine && !waiting && <LogPanel job={job} />}
      {sure && <Confirm text={`${sure.text}: #${job.id}?`} onYes={() => void act(sure.verb)} onNo={() => setSure(null)} />}
      {edit && <Resubmit job={job} onClose={() => setEdit(false)} />}
    </>
  );
}
