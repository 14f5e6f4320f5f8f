import * as z from 'zod';
import { percentileOf } from '../bench/summarise.ts';
import { createClient, type Exchange } from './exchange.ts';
import { OTHER_KEY } from './flood-service.ts';

/** What another tenant met: how long each of its calls took, in milliseconds, and what each that failed was answered. */
export type Probe = { readonly times: readonly number[]; readonly failures: readonly string[] };

const EVERY_MS = 20;
const CONNECTIONS = 16;
const PATIENCE_MS = 30_000;
const ECHO = JSON.stringify({ calls: [{ name: 'echo', arguments: { text: 'hi' } }] });
const Results = z.object({ results: z.tuple([z.object({ success: z.literal(true) })]) });

const hasSucceeded = (end: Exchange): boolean =>
  end.kind === 'answered' && Results.safeParse(JSON.parse(end.body)).success;

/**
 * Calls `echo` as another tenant every 20 ms, whether the call before is answered or not, over connections that are open before:
 * libuv accepts one a turn of the event loop, and floods of connections are for a proxy. `stop` gives what came of all.
 */
export const startProbe = async (port: number) => {
  const client = createClient(CONNECTIONS);
  const times: number[] = [];
  const failures: string[] = [];
  const sending = {
    url: `http://127.0.0.1:${port}/tool-calls`,
    body: ECHO,
    headers: { 'content-type': 'application/json', 'x-api-key': OTHER_KEY },
    connection: 'kept',
    hangUpAfterMs: null,
    patienceMs: PATIENCE_MS,
  } as const;
  const probe = async (): Promise<void> => {
    const end = await client.exchange(sending);
    times.push(end.kind === 'answered' ? end.tookMs : PATIENCE_MS);
    if (!hasSucceeded(end)) failures.push(end.kind === 'answered' ? end.body : JSON.stringify(end));
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, probe));
  times.length = 0;
  const probes: Promise<void>[] = [];
  const timer = setInterval(() => probes.push(probe()), EVERY_MS);
  return {
    stop: async (): Promise<Probe> => {
      clearInterval(timer);
      await Promise.all(probes);
      client.close();
      return { times, failures };
    },
  };
};

/** The time that this share of the calls did not exceed, in milliseconds. */
export const toPercentile = ({ times }: Probe, share: number): number =>
  percentileOf(
    times.toSorted((one, other) => one - other),
    share,
  );
