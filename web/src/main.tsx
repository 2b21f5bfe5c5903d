// SPDX-License-Identifier: Apache-2.0
// The page: navigation, login, and which view the address names.
import 'uplot/dist/uPlot.min.css';
import './app.css';
import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { BoardView } from './board';
import { HealthView } from './health';
import { getLang, initLang, setLang, t } from './i18n';
import { JobView, QueueView } from './jobs';
import { Problem } from './parts';
import { RepackView } from './repack';
import { SimView } from './sim';
import { begin, login, logout, useStore } from './store';
import { TimelineView } from './timeline';
import { UsageView } from './usage';
import { WhatIfView } from './whatif';

const views: [string, string, () => any][] = [
  ['board', 'Board', BoardView], ['queue', 'Queue', QueueView], ['timeline', 'Timeline', TimelineView], ['repack', 'Repack', RepackView],
  ['usage', 'Usage', UsageView], ['health', 'Health', HealthView], ['whatif', 'What if', WhatIfView], ['replay', 'Replay', SimView],
];

function LoginView() {
  const [token, setToken] = useState(''), [error, setError] = useState('');
  return (
    <main class="login">
      <h1>WhaleZEN <span lang="zh">鲸挣恩</span></h1>
      <p>{t('You need to log in. Run')} <code>wz dashboard</code> {t('and open the link that it prints, or paste a token.')}</p>
      <form onSubmit={(e) => { e.preventDefault(); void login(token).then(setError); }}>
        <label>{t('Token')} <input type="password" autocomplete="off" value={token} onInput={(e) => setToken(e.currentTarget.value)} /></label>
        <button class="primary">{t('Log in')}</button>
      </form>
      <Problem error={error} />
    </main>
  );
}

function theme() {
  const now = document.documentElement.dataset.theme ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
  const next = now === 'dark' ? 'light' : 'dark';
  document.documentElement.dataset.theme = next;
  localStorage.setItem('wz.theme', next);
  dispatchEvent(new Event('wz-theme'));
}

function App() {
  const { login: out, who, live, error, at, info } = useStore();
  const [hash, setHash] = useState(location.hash);
  const [, draw] = useState(0);
  useEffect(() => {
    const f = () => setHash(location.hash);
    addEventListener('hashchange', f);
    return () => removeEventListener('hashchange', f);
  }, []);
  const [name, arg] = hash.replace(/^#\/?/, '').split('/');
  const view = views.find(([k]) => k === name) ?? views[0];
  useEffect(() => { document.title = `${name === 'job' ? `${t('Job')} ${arg}` : t(view[1])} · WhaleZEN`; scrollTo(0, 0); }, [hash, getLang()]);
  const lang = (l: 'en' | 'zh') => { setLang(l); draw((n) => n + 1); };
  const View = view[2];
  return (
    <>
      <a class="skip" href="#content" onClick={(e) => { e.preventDefault(); document.getElementById('content')?.focus(); }}>{t('Skip to content')}</a>
      <header>
        <a class="brand" href="#/board"><img src="/icon.svg" alt="" width="22" height="22" /> WhaleZEN <span lang="zh">鲸挣恩</span></a>
        {!out && <nav aria-label="WhaleZEN">{views.map(([k, label]) => <a href={`#/${k}`} aria-current={view[0] === k && name !== 'job' ? 'page' : undefined}>{t(label)}</a>)}</nav>}
        <div class="corner">
          {!out && <span class={`link ${at !== null ? 'past' : live ? 'up' : 'down'}`} role="status">{at !== null ? t('past') : live ? t('live') : t('reconnecting')}</span>}
          <button class="plain" lang={getLang() === 'zh' ? 'en' : 'zh'} onClick={() => lang(getLang() === 'zh' ? 'en' : 'zh')}>{getLang() === 'zh' ? 'English' : '中文'}</button>
          <button class="plain" aria-label={t('theme')} onClick={theme}>◐</button>
          {who && who.via === 'session' && <button class="plain" onClick={() => void logout()}>{who.name} · {t('Log out')}</button>}
        </div>
      </header>
      {out ? <LoginView /> : <main id="content" tabIndex={-1}>
        {error && <Problem error={error} />}
        {name === 'job' && /^\d+$/.test(arg ?? '') ? <JobView id={Number(arg)} /> : <View />}
      </main>}
      <footer class="quiet">{info ? `${info.host ?? ''} · ${info.body} ${info.version} · ${info.policy}` : ''}</footer>
    </>
  );
}

initLang();
const kept = localStorage.getItem('wz.theme');
if (kept === 'dark' || kept === 'light') document.documentElement.dataset.theme = kept;
render(<App />, document.getElementById('app')!);
void begin();
