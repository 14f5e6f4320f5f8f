import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import type { LimitedService } from './limited-service.ts';

/** The process at one moment. */
export type Sample = {
  readonly second: number;
  readonly sessions: number;
  readonly rssBytes: number;
  readonly heapBytes: number;
  /** Whether sessions have been forgotten for want of room. */
  readonly isFull: boolean;
};

/** What came of a flood. */
export type Flood = {
  readonly samples: readonly Sample[];
  /** Answers by status; 0 = none came. */
  readonly statuses: ReadonlyMap<number, number>;
  /** Of the other tenant's calls, in milliseconds, ascending. */
  readonly otherMs: readonly number[];
  readonly otherFailures: number;
  /** Part of the time that the process, ready to run, waited for a processor: on a busy machine times are that machine's. */
  readonly waited: number;
  /** How the process ended; null while it lives. */
  readonly death: string | null;
  /** The lines of `/metrics` about stores, at the end. */
  readonly stores: readonly string[];
};

const CONNECTIONS = 8;
const CALLS = 10;
const OTHER_EVERY_MS = 20;
const SAMPLE_MS = 5000;

/**
 * Eight connections send batches of ten `echo` calls, each in a new session, as fast as they are answered; a second
 * tenant sends a single `echo` every 20 ms. Ends after `seconds`, or when the service ends.
 */
export const floodSessions = async (
  { url, process: service, keys }: LimitedService,
  seconds: number,
  onSample: (sample: Sample) => void,
): Promise<Flood> => {
  const startedAt = performance.now();
  const state = { over: false, death: null as string | null, sessions: 0, otherFailures: 0 };
  const statuses = new Map<number, number>();
  const samples: Sample[] = [];
  const otherMs: number[] = [];
  service.failure.catch((error: unknown) => {
    if (!state.over) state.death = String(error);
    state.over = true;
  });
  const send = createSend(url);
  const flood = async (): Promise<void> => {
    while (!state.over) {
      state.sessions += 1;
      const { status } = await send('/tool-calls', keys.flooding, toBody(CALLS));
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  };
  const ask = async (): Promise<void> => {
    while (!state.over) {
      const sentAt = performance.now();
      const { status } = await send('/tool-calls', keys.other, toBody(1));
      otherMs.push(performance.now() - sentAt);
      if (status !== 200) state.otherFailures += 1;
      await wait(OTHER_EVERY_MS);
    }
  };
  const sample = async (): Promise<void> => {
    while (!state.over) {
      await wait(SAMPLE_MS);
      const { text } = await send('/metrics', null, null);
      const heap = /^nodejs_heap_size_used_bytes (\S+)/m.exec(text)?.[1];
      if (heap === undefined || state.over) continue;
      const second = Math.round((performance.now() - startedAt) / 1000);
      const isFull = /^recourse_store_evictions_total\{store="sessions",reason="(full|share)"\} [1-9]/m.test(text);
      const rssBytes = readRss(service.pid);
      const taken = { second, sessions: state.sessions, rssBytes, heapBytes: Number(heap), isFull };
      samples.push(taken);
      onSample(taken);
    }
  };
  const timer = setTimeout(() => {
    state.over = true;
  }, seconds * 1000);
  await Promise.all([...Array.from({ length: CONNECTIONS }, flood), ask(), sample()]);
  clearTimeout(timer);
  const { text } = await send('/metrics', null, null);
  return {
    samples,
    statuses,
    otherMs: otherMs.toSorted((one, other) => one - other),
    otherFailures: state.otherFailures,
    waited: state.death === null ? readWaited(service.pid) : 0,
    death: state.death,
    stores: text.split('\n').filter((line) => line.startsWith('recourse_store_') && !line.endsWith(' 0')),
  };
};

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const readRss = (pid: number): number => {
  const [, kilobytes = '0'] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) * 1024;
};

// Nanoseconds on a processor, and ready without one.
const readWaited = (pid: number): number => {
  const [ran = 0, waited = 0] = readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ').map(Number);
  return waited / (ran + waited);
};

// A text of its own for each call: equal calls of a round would be copies of one.
const toBody = (calls: number): string => {
  const session = randomUUID();
  return JSON.stringify({
    session_id: session,
    calls: Array.from({ length: calls }, (_, at) => ({
      id: `call_${at}`,
      name: 'echo',
      arguments: { text: `Call ${at} of session ${session} → the next one.` },
    })),
  });
};

type Answer = { readonly status: number; readonly text: string };

const createSend = (url: string) => {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS + 2 });
  return (path: string, key: string | null, body: string | null): Promise<Answer> => {
    const { promise, resolve } = Promise.withResolvers<Answer>();
    const headers = {
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      ...(body === null ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
    };
    const method = body === null ? 'GET' : 'POST';
    const sent = request(`${url}${path}`, { agent, method, headers }, (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => void parts.push(part));
      response.on('close', () => resolve({ status: response.statusCode ?? 0, text: Buffer.concat(parts).toString() }));
    });
    sent.on('error', () => resolve({ status: 0, text: '' }));
    sent.end(body ?? undefined);
    return promise;
  };
};
