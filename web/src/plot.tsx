// SPDX-License-Identifier: Apache-2.0
// Plots by uPlot in the colours of the page.
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { useDark } from './board';

export interface Series { name: string; colour: string; values: (number | null)[]; fill?: boolean }

function usePlot(make: (width: number, ink: string, grid: string) => [uPlot.Options, uPlot.AlignedData] | null, deps: unknown[]) {
  const box = useRef<HTMLDivElement>(null);
  const dark = useDark();
  useEffect(() => {
    const host = box.current!;
    const made = make(Math.max(280, host.clientWidth), dark ? '#c9d1dc' : '#333b47', dark ? '#2b3139' : '#e4e7eb');
    if (!made) return;
    const plot = new uPlot(made[0], made[1], host);
    const o = new ResizeObserver(() => plot.setSize({ width: Math.max(280, host.clientWidth), height: made[0].height }));
    o.observe(host);
    return () => { o.disconnect(); plot.destroy(); };
  }, [...deps, dark]);
  return box;
}

/** Bars side by side, one group a label. */
export function Bars({ labels, series, unit }: { labels: string[]; series: Series[]; unit: string }) {
  const box = usePlot((width, ink, grid) => {
    if (!labels.length) return null;
    const xs = labels.map((_, i) => i), n = series.length;
    // Each series is shifted by its place within the group.
    const paths = (i: number) => uPlot.paths.bars!({ size: [0.8 / n, 60], align: 1, disp: { x0: { unit: 1, values: () => xs.map((x) => x - 0.4 + (0.8 * i) / n) }, size: { unit: 1, values: () => xs.map(() => 0.75 / n) } } } as any)!;
    return [{
      width, height: 220, legend: { show: true }, cursor: { y: false },
      scales: { x: { time: false, range: [-0.6, labels.length - 0.4] }, y: { range: (_u, _lo, hi) => [0, hi > 0 ? hi * 1.1 : 1] } },
      axes: [
        { stroke: ink, grid: { show: false }, splits: () => xs, values: () => labels.map((l) => (l.length > 14 ? `${l.slice(0, 13)}…` : l)) },
        { stroke: ink, grid: { stroke: grid }, size: 60, label: unit },
      ],
      series: [{ label: '', value: (_u, v) => labels[v] ?? '' }, ...series.map((s, i) => ({ label: s.name, stroke: s.colour, fill: s.colour, paths: paths(i), points: { show: false }, value: (_u: uPlot, v: number | null) => (v === null ? '' : v.toFixed(2)) }))],
    }, [xs, ...series.map((s) => s.values)] as uPlot.AlignedData];
  }, [labels.join(), JSON.stringify(series)]);
  return <div ref={box} class="plot" role="img" aria-label={series.map((s) => s.name).join(', ')} />;
}

/** Lines over time; `at` in seconds since 1970. */
export function Lines({ at, series, unit, height, max }: { at: number[]; series: Series[]; unit: string; height?: number; max?: number }) {
  const box = usePlot((width, ink, grid) => (at.length < 2 ? null : [{
    width, height: height ?? 200, legend: { show: true }, cursor: { y: false },
    scales: { x: { time: true }, y: { range: (_u, _lo, hi) => [0, max ?? (hi > 0 ? hi * 1.1 : 1)] } },
    axes: [{ stroke: ink, grid: { stroke: grid } }, { stroke: ink, grid: { stroke: grid }, size: 50, label: unit }],
    series: [{}, ...series.map((s) => ({ label: s.name, stroke: s.colour, fill: s.fill ? `${s.colour}30` : undefined, width: 1.5, points: { show: false }, spanGaps: false }))],
  }, [at, ...series.map((s) => s.values)] as uPlot.AlignedData]), [at.length, at[0], at[at.length - 1], series.length]);
  return <div ref={box} class="plot" role="img" aria-label={series.map((s) => s.name).join(', ')} />;
}
