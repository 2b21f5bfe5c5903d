// SPDX-License-Identifier: Apache-2.0
// The HTTP API as the page uses it: one function to ask, one live feed. Types follow /v1/openapi.json.

export interface Piece { job: number; task: number; compute_milli: number; mem_bytes: number }
export interface Device {
  index: number; model: string; health: string; reason?: string;
  mem_bytes: number; mem_free_bytes: number; compute_milli: number; compute_free_milli: number;
  link_domain?: number; numa?: number; foreign?: number; use: 'full' | 'free' | 'fragment' | 'closed';
  util_pct: number; mem_used_pct: number; temp_c: number; power_mw: number; pieces: Piece[];
}
export interface BoardNode {
  name: string; rack?: string; state: string; cpu_milli: number; cpu_free_milli: number;
  mem_bytes: number; mem_free_bytes: number; devices: Device[];
}
export interface BoardJob {
  id: number; user?: string; queue?: string; name?: string; state: string; priority: number; tasks: number; submit_us?: number;
}
export interface Expected { devices: number; compute_milli: number; mem_bytes?: number; cpu_milli?: number; weight_milli: number; nodes: number }
export interface Board { at_us: number; digest: string; nodes: BoardNode[]; jobs: BoardJob[]; expected: Expected[] }

export interface Job {
  id: number; name?: string; user: string; queue?: string; state: string; reason?: string; reason_text?: string;
  priority: number; profile: string; tasks_min: number; tasks_max: number; tasks_running?: number;
  submit_us: number; start_us?: number; end_us?: number; expected_start_us?: number; earliest_start_us?: number;
  latest_start_us?: number; time_limit_us?: number; position?: number; attempt: number; restarts?: number;
  exit_code?: number; exit_signal?: number; progress_milli?: number; argv?: string[]; script?: string; cwd?: string;
  comment?: string; env_names?: string[]; git_commit?: string; after?: string[]; tasks?: Task[];
}
export interface Task { task: number; state: string; node?: string; devices?: number[]; start_us?: number; end_us?: number; exit_code?: number }
export interface Attempt { attempt: number; state: string; reason?: string; start_us?: number; end_us?: number; exit_code?: number; exit_signal?: number; tasks?: Task[] }
export interface Why {
  job: number; state: string; reason: string; text: string; never?: boolean;
  blockers?: { reason: string; text: string; nodes?: number }[];
  remedies?: { change: string; text: string; start_us?: number }[];
  not_blocking?: string[]; position?: number; queue_length?: number;
  expected_start_us?: number; earliest_start_us?: number; latest_start_us?: number; how?: string; digest?: string;
}
export interface Span {
  job: number; task: number; attempt: number; user?: string; name?: string; node: string; devices?: number[];
  start_us: number; end_us?: number; state: string; planned?: boolean;
}
export interface Sample { time_us: number; util_pct: number; mem_used_pct: number; held_pct: number; power_mw: number }
export interface Usage {
  key: string; jobs: number; completed: number; failed: number; cancelled: number;
  device_us: number; cpu_us: number; waste_us: number; wait_p50_us: number; wait_p95_us: number;
}
export interface Info {
  version: string; body: string; host?: string; policy: string; started_us: number; now_us: number; seq: number;
  nodes: number; devices: number; devices_busy: number; pending: number; running: number; oldest_wait_us?: number;
}
export interface Whoami { name: string; uid: number; role: string; via: string }

export class ApiError extends Error {
  constructor(public status: number, public reason: string, text: string) { super(text); }
}

export async function ask<T>(path: string, method = 'GET', body?: unknown, signal?: AbortSignal): Promise<T> {
  const headers: Record<string, string> = { 'Accept': 'application/json', 'X-Whalezen': '1' };
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  const r = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body), signal, credentials: 'same-origin' });
  const text = await r.text();
  let json: any = {};
  try { json = text ? JSON.parse(text) : {}; } catch { throw new ApiError(r.status, 'BadAnswer', text.slice(0, 200)); }
  if (!r.ok) throw new ApiError(r.status, json.error?.reason ?? 'Error', json.error?.text ?? r.statusText);
  return json as T;
}

/** Server-sent events that change what is shown. EventSource comes back by itself with the last number it saw. */
export function follow(onChange: () => void, onLink: (up: boolean) => void): () => void {
  const source = new EventSource('/v1/events');
  for (const type of ['hello', 'job', 'attempt', 'node', 'device', 'queue', 'reservation', 'policy', 'gap'])
    source.addEventListener(type, () => { onLink(true); onChange(); });
  source.onopen = () => onLink(true);
  source.onerror = () => onLink(false);
  return () => source.close();
}
