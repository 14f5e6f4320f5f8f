import { randomBytes } from 'node:crypto';
import { parseJson } from 'recourse-server/json/parse-json';
import type { StoreBackend } from 'recourse-server/sessions/store-backend';
import type { Records } from 'recourse-server/store/record-store';
import { createTextKind } from 'recourse-server/store/text-kind';
import { ReplicaReport } from './replica-report.ts';

export const FORGET_AFTER_MS = 3_600_000;

const FIELD = /^r:([0-9a-f]{16})$/;

// When it was written, for those who cannot open it, and the report of a replica: JSON text, sealed where there is a store key.
const REPORT = /^(\d{1,15}) (.+)$/s;

/** By field: when a replica wrote its report, and the report. */
export const replicasKind = createTextKind<Map<string, string>>({
  name: 'replicas',
  operation: 'oncall',
  own: FIELD,
  memory: { records: null, lists: null },
  ttlMs: FORGET_AFTER_MS,
  create: () => new Map(),
  decode: (fields) => new Map([...fields].filter(([name]) => FIELD.test(name))),
  toTexts: (state) => state,
  isEmpty: ({ size }) => size === 0,
  bytes: (state) => [...state.values()].reduce((sum, { length }) => sum + 2 * length + 200, 200),
});

// One record for all: it is of no tenant.
const KEY = 'all';

/** What replicas that share a store write of themselves. All of it rejects with the store. */
export const createReportStore = (stored: Records<Map<string, string>>, { seals }: StoreBackend['sealing']) => {
  // Not the name of the replica: two containers of one host name may both have the pid 1.
  const own = `r:${randomBytes(8).toString('hex')}`;
  const placeOf = (part: string) => ({ kind: replicasKind.name, key: KEY, life: '', part });
  /** Nothing: this process cannot open it, or it is damaged. */
  const read = ([field, text]: readonly [string, string]): readonly ReplicaReport[] => {
    const [, , body = ''] = REPORT.exec(text) ?? [];
    const opened = seals.open(placeOf(field), body);
    const parsed = 'text' in opened ? parseJson(opened.text) : null;
    const report = parsed?.ok === true ? ReplicaReport.safeParse(parsed.value) : null;
    return report?.success === true ? [report.data] : [];
  };
  return {
    /** Writes what this replica says, and forgets those that have said nothing for an hour. */
    write: async (report: ReplicaReport): Promise<void> => {
      const text = `${Math.floor(report.seen_at)} ${seals.seal(placeOf(own), JSON.stringify(report))}`;
      await stored.update(
        KEY,
        (state, now) => {
          for (const [field, other] of state)
            if (!(Math.abs(now - Number(REPORT.exec(other)?.[1])) < FORGET_AFTER_MS)) state.delete(field);
          state.set(own, text);
        },
        'long',
      );
    },
    /** What the other replicas have written last. */
    readOthers: async (): Promise<readonly ReplicaReport[]> =>
      (await stored.read(KEY, (state) => [...state].filter(([field]) => field !== own).flatMap(read))) ?? [],
    /** This replica stops. */
    forgetOwn: async (): Promise<void> => {
      await stored.update(KEY, (state) => void state.delete(own), 'long');
    },
    seal: (text: string): string => seals.seal(placeOf('close'), text),
    open: (text: string): string | null => {
      const opened = seals.open(placeOf('close'), text);
      return 'text' in opened ? opened.text : null;
    },
  };
};
export type ReportStore = ReturnType<typeof createReportStore>;
