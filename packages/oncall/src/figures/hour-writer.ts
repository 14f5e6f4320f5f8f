import { inRoom, type StoreSpace } from 'recourse-server/sessions/store-space';
import { encodeRuns } from './failure-runs.ts';
import { enterWriter, HOUR_TTL_MS, type HourRecords, hourKeyOf, writersKeyOf } from './hour-kind.ts';
import type { TenantHour } from './tenant-hour.ts';

// A record that is not entered any more is found no more: this is far less than it stays.
const ENTER_EVERY_MS = 5 * 60_000;
/** Beside its text: what Redis takes for a field. */
const FIELD_BYTES = 100;

type Written = { enteredAt: number; weighedMinute: number; writes: number };

/** Writes hours of this process to the store. */
export class HourWriter {
  readonly #space: StoreSpace;
  readonly #records: HourRecords;
  readonly #written = new WeakMap<TenantHour, Written>();

  constructor(records: HourRecords, space: StoreSpace) {
    this.#records = records;
    this.#space = space;
  }

  /** Writes an hour as it is. Where its tenant has no room in the store it is not written. Rejects with the store. */
  async write(tenant: string, hour: TenantHour, minute: number, now: number): Promise<void> {
    const written = this.#written.get(hour) ?? { enteredAt: Number.NEGATIVE_INFINITY, weighedMinute: 0, writes: 0 };
    const key = hourKeyOf(tenant, hour.id);
    const fields = toFields(hour, minute, written.writes + 1);
    fields.set('f', encodeRuns(hour.runs));
    const weight = { bytes: weigh(hour, written.weighedMinute), endsAt: now + HOUR_TTL_MS };
    if ((await this.#space.take(tenant, 'index', weight)) !== null) return;
    await inRoom(this.#space, tenant, weight, () =>
      this.#records.hours.update(key, (record) => setAll(record, fields), 'long'),
    );
    written.writes += 1;
    written.weighedMinute = minute;
    if (now - written.enteredAt >= ENTER_EVERY_MS) {
      await this.#records.writers.update(
        writersKeyOf(tenant),
        (writers, at) => enterWriter(writers, hour.id, at),
        'long',
      );
      written.enteredAt = now;
    }
    this.#written.set(hour, written);
  }
}

const toFields = (hour: TenantHour, minute: number, write: number): Map<string, string> => {
  const fields = new Map([['h', String(write)]]);
  for (const [at, text] of hour.minutes) fields.set(`m:${at}`, text);
  const now = hour.encodeNow();
  if (now !== '') fields.set(`m:${minute}`, now);
  fields.set('n', hour.names.list.join(' '));
  return fields;
};

// A minute is weighed once it is over: until then it is written anew, and larger.
const weigh = ({ minutes, names }: TenantHour, weighedMinute: number): number => {
  let bytes = weighedMinute === 0 ? names.list.join(' ').length + FIELD_BYTES : 0;
  for (const [minute, { length }] of minutes) if (minute >= weighedMinute) bytes += length + FIELD_BYTES;
  return bytes;
};

const setAll = (record: Map<string, string>, fields: ReadonlyMap<string, string>): void => {
  record.clear();
  for (const [name, text] of fields) record.set(name, text);
};
