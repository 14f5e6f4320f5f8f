import { createHash, randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import type { Processes, RunningProcess } from '../processes.ts';
import type { MemoryGroup } from './memory-group.ts';

/** The service, and a key of the tenant that floods it and of one that does not. */
export type LimitedService = {
  readonly url: string;
  readonly process: RunningProcess;
  readonly keys: { readonly flooding: string; readonly other: string };
};

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const START_TIMEOUT_MS = 30_000;

/** Starts `src/main.ts` with a heap or in a control group of limited size; every other setting is the default. */
export const startLimitedService = async (
  processes: Processes,
  { heapMb, group }: { readonly heapMb: number | null; readonly group: MemoryGroup | null },
): Promise<LimitedService> => {
  const keys = { flooding: randomUUID(), other: randomUUID() };
  const node = [
    process.execPath,
    ...process.execArgv,
    ...(heapMb === null ? [] : [`--max-old-space-size=${heapMb}`]),
    MAIN,
  ];
  // It joins before Node starts, which reads the size of its heap from the group.
  const join = group === null ? [] : ['/bin/sh', '-c', `echo $$ > ${group.membersFile} && exec "$@"`, 'sh'];
  const service = processes.start({
    words: [...join, ...node],
    environment: { PATH: process.env['PATH'] ?? '', PORT: '0', API_KEYS: toApiKeys(keys) },
    output: 'ignore',
    channel: 'ignore',
  });
  const { promise, resolve } = Promise.withResolvers<string>();
  let told = '';
  service.child.stderr?.on('data', (text: string) => {
    told = `${told}${text}`.slice(-2000);
    const [, url] = /Recourse serves on (\S+)\. Try/.exec(told) ?? [];
    if (url !== undefined) resolve(url);
  });
  const timer = setTimeout(() => service.child.kill('SIGKILL'), START_TIMEOUT_MS);
  const url = await Promise.race([promise, service.failure]);
  clearTimeout(timer);
  return { url, process: service, keys };
};

const toApiKeys = (keys: Readonly<Record<string, string>>): string =>
  Object.entries(keys)
    .map(([tenant, key]) => `${tenant}=${createHash('sha256').update(key).digest('hex')}`)
    .join(',');
