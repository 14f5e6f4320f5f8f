import type { Logger } from 'pino';
import type { CallWatch } from 'recourse-server/executor/call-observer';
import type { StoreBackend } from 'recourse-server/sessions/store-backend';
import { describeCauses } from 'recourse-server/telemetry/describe-error';
import type { HourFigures } from '../contract/contract.ts';
import { CallCounts } from './call-counts.ts';
import { openHourRecords } from './hour-kind.ts';
import { HourWriter } from './hour-writer.ts';
import { TenantFigures } from './tenant-figures.ts';
import { MINUTE_MS, type TenantHour } from './tenant-hour.ts';

const TICK_MS = 1000;
const WRITE_EVERY_MS = 10_000;
const MOST_WRITES_AT_ONCE = 50;
// What is known of a tenant is forgotten when nobody has asked for so long.
const IDLE_MS = 60_000;
const MOST_READ_TENANTS = 256;

export type FiguresParts = {
  readonly backend: Pick<StoreBackend, 'records' | 'space' | 'durability'>;
  readonly log: Logger;
  /** The store's time, in Unix milliseconds. */
  readonly time: () => number;
};

/** Begins to count calls; `open` once there is a store. */
export const beginFigures = () => {
  const counts = new CallCounts();
  let timeOf: () => number = Date.now;
  const watch: Pick<CallWatch, 'answered' | 'failed'> = {
    answered: counts.answered,
    failed: ({ tenant, tool, message }, { code }, { reference }) =>
      counts.failed(tenant, { tool, code, message, reference }, timeOf()),
  };
  const open = (parts: FiguresParts) => {
    timeOf = parts.time;
    return openFigures(counts, parts);
  };
  return { watch, open, takeCalls: counts.takeCalls };
};

export type Figures = ReturnType<typeof openFigures>;

const openFigures = (counts: CallCounts, { backend, log, time }: FiguresParts) => {
  const { space, durability } = backend;
  // Where records are in memory no other process sees them.
  const stored = durability === 'process' ? null : openHourRecords(backend.records);
  const writer = stored === null ? null : new HourWriter(stored, space);
  const writtenAt = new WeakMap<TenantHour, number>();
  const reading = new Map<string, TenantFigures>();
  const onFailed = (error: unknown): void =>
    log.debug({ causes: describeCauses(error) }, 'figures of the last hour not shared');
  let writing: Promise<unknown> = Promise.resolve();
  let isWriting = false;
  const turn = (): void => {
    const uncounted = counts.turn(Math.floor(time() / MINUTE_MS));
    if (uncounted > 0)
      log.warn({ calls: uncounted }, 'too many tools or tenants within a minute: calls were left out of the figures');
  };
  const write = async (due: readonly (readonly [string, TenantHour])[]): Promise<void> => {
    if (writer === null) return;
    const now = time();
    for (let from = 0; from < due.length; from += MOST_WRITES_AT_ONCE)
      await Promise.all(
        due.slice(from, from + MOST_WRITES_AT_ONCE).map(async ([tenant, hour]) => {
          hour.isChanged = false;
          writtenAt.set(hour, now);
          await writer.write(tenant, hour, counts.minute, now).catch((error: unknown) => {
            hour.isChanged = true;
            onFailed(error);
          });
        }),
      );
  };
  const listDue = (sinceMs: number) =>
    [...counts.hours].filter(([, hour]) => hour.isChanged && (writtenAt.get(hour) ?? 0) <= time() - sinceMs);
  const tick = (): void => {
    turn();
    for (const [tenant, { usedAt }] of reading) if (usedAt < time() - IDLE_MS) reading.delete(tenant);
    if (writer === null || isWriting) return;
    isWriting = true;
    writing = write(listDue(WRITE_EVERY_MS)).finally(() => {
      isWriting = false;
    });
  };
  const find = (tenant: string): TenantFigures => {
    const found = reading.get(tenant) ?? new TenantFigures(tenant, counts, stored);
    found.usedAt = time();
    reading.delete(tenant);
    reading.set(tenant, found);
    for (const oldest of reading.keys()) if (reading.size > MOST_READ_TENANTS) reading.delete(oldest);
    return found;
  };
  turn();
  let timer: NodeJS.Timeout | undefined;
  return {
    /** The last hour of a tenant in all processes; of others, and while the store is away, as they were read last. Never rejects. */
    read: async (tenant: string, mayUse: (tool: string) => boolean): Promise<HourFigures> => {
      turn();
      const figures = find(tenant);
      await figures.refresh().catch(onFailed);
      return figures.describe(mayUse, time());
    },
    start: (): void => {
      timer = setInterval(tick, TICK_MS).unref();
    },
    close: async (): Promise<void> => {
      clearInterval(timer);
      await writing;
      turn();
      await write(listDue(0));
    },
  };
};
