import { randomUUID } from 'node:crypto';
import type { FailureCode } from 'recourse-server/contract/failure';
import type { JsonSchema } from 'recourse-server/contract/tool-description';
import type { Issue, RetryState } from 'recourse-server/contract/tool-result';
import type { CallWatch } from 'recourse-server/executor/call-observer';
import type { Redactor } from 'recourse-server/executor/redactor';
import type { StoreSpace } from 'recourse-server/sessions/store-space';
import type { RecordStore, Records } from 'recourse-server/store/record-store';
import type { TakeCalls } from '../figures/call-counts.ts';
import { toRuleKey } from './argument-rule.ts';
import {
  addCounts,
  addWrite,
  count,
  createCounts,
  HOUR_MS,
  HOURS,
  hasWrite,
  hourKeyOf,
  type ReportCounts,
  type ReportHour,
  reportKind,
  toHour,
  toolCountsOf,
  toStoredBytes,
} from './report-counts.ts';

// A failure whose issues are looked at later holds them until then: some 200 kB at most, in theory.
const MOST_NOTED = 256;
// The model reads no more of them.
const MOST_ISSUES = 10;
const MOST_TENANTS = 1000;
const MAX_NAME = 64;
// Of a tenant, until only the most frequent are kept.
const MOST_COUNTED_NAMES = 1000;

const WRITE_EVERY_MS = 10_000;
const COUNT_EVERY_MS = 1000;

/** What is needed of a failure to count it. */
type NotedFailure = {
  readonly requestId: string;
  readonly tenant: string;
  readonly tool: string;
  readonly code: FailureCode;
  readonly name: string | null;
  readonly issues: readonly Issue[];
  readonly isLast: boolean;
};

type Write = {
  readonly key: string;
  readonly tenant: string;
  readonly number: number;
  readonly counts: ReportCounts;
};

export type ReportBookParts = {
  readonly records: RecordStore;
  readonly space: Pick<StoreSpace, 'mayKeepJournals' | 'add'>;
  readonly redactor: Pick<Redactor, 'cut'>;
  /** Of the arguments of a tool; undefined: there is no such tool. */
  readonly schemaOf: (tool: string) => JsonSchema | undefined;
};

/**
 * Counts the calls of each tenant for its report. What was counted passes through these:
 *
 * | where        | what                                        | until                                                         |
 * |--------------|---------------------------------------------|---------------------------------------------------------------|
 * | `#noted`     | failures as the executor tells them         | a second has passed, or there are 256                         |
 * | `#counted`   | numbers of a tenant                         | ten seconds have passed since its last write, or it is closed |
 * | `#unwritten` | one write of a tenant, which never changes  | the store has answered it; else it is sent again              |
 * | the store    | the sum of all processes by tenant and hour | 25 hours after its last write                                 |
 */
export class ReportBook {
  readonly #writer = randomUUID().slice(0, 8);
  #noted: NotedFailure[] = [];
  readonly #counted = new Map<string, ReportCounts>();
  readonly #unwritten = new Map<string, Write>();
  readonly #takeCalls: TakeCalls;
  #writes = 0;
  #parts: (ReportBookParts & { readonly hours: Records<ReportHour> }) | null = null;
  #writing: Promise<void> | null = null;
  #timers: readonly NodeJS.Timeout[] = [];

  readonly watch: Pick<CallWatch, 'failed' | 'recovered'> = {
    failed: ({ requestId, tenant, tool }, { code, issues }, { name }, retry) => {
      if (this.#noted.length >= MOST_NOTED) this.count();
      const few = code === 'invalid_arguments' ? issues.slice(0, MOST_ISSUES) : [];
      this.#noted.push({ requestId, tenant, tool, code, name, issues: few, isLast: isLastRetry(code, retry) });
    },
    recovered: (tenant, tool, failedRounds) => {
      const counts = toolCountsOf(this.#countsOf(tenant), tool);
      counts.recovered += 1;
      counts.recoveredRounds += failedRounds;
    },
  };

  constructor(takeCalls: TakeCalls) {
    this.#takeCalls = takeCalls;
  }

  open(parts: ReportBookParts): void {
    this.#parts = { ...parts, hours: parts.records.open(reportKind) };
  }

  start(): void {
    this.#timers = [
      setInterval(() => this.count(), COUNT_EVERY_MS).unref(),
      setInterval(() => void this.write(), WRITE_EVERY_MS).unref(),
    ];
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    await this.#writing;
    await this.write();
  }

  /** Counts the calls that came since the last time, and the failures that were noted. */
  count(): void {
    this.#takeCalls((tenant, tool, calls) => {
      toolCountsOf(this.#countsOf(tenant), tool).calls += calls;
    });
    const noted = this.#noted;
    this.#noted = [];
    // Calls of one batch use up the retries of a session together.
    const last = new Set<string>();
    for (const failure of noted) this.#count(failure, last);
  }

  /** Writes what is not written, one tenant after another. Never rejects. */
  write(): Promise<void> {
    this.#writing ??= this.#write().finally(() => {
      this.#writing = null;
    });
    return this.#writing;
  }

  /** What the tenant's calls came to since the beginning of that hour, in all processes. Rejects with the store. */
  async read(tenant: string, since: number): Promise<ReportCounts> {
    this.count();
    const sum = createCounts();
    const write = this.#unwritten.get(tenant);
    let isWritten = write === undefined;
    const now = this.#parts?.records.now() ?? 0;
    const first = Math.max(since, now - HOURS * HOUR_MS);
    const keys: string[] = [];
    for (let hour = toHour(now); hour >= toHour(first); hour -= HOUR_MS) keys.push(hourKeyOf(tenant, hour));
    const look = (hour: ReportHour): ReportHour => structuredClone(hour);
    // One after the other: a large hour takes milliseconds to decode.
    for (const key of keys) {
      const hour = (await this.#parts?.hours.read(key, look)) ?? null;
      if (hour === null) continue;
      addCounts(sum, hour.counts);
      isWritten ||= write !== undefined && hasWrite(hour, this.#writer, write.number);
    }
    if (!isWritten && write !== undefined) addCounts(sum, write.counts);
    addCounts(sum, this.#counted.get(tenant) ?? createCounts());
    return sum;
  }

  #countsOf(tenant: string): ReportCounts {
    const found = this.#counted.get(tenant);
    if (found !== undefined) return found;
    // Only while the store is away: what was counted first goes.
    const [oldest] = this.#counted.size >= MOST_TENANTS ? this.#counted.keys() : [];
    if (oldest !== undefined) this.#counted.delete(oldest);
    const created = createCounts();
    this.#counted.set(tenant, created);
    return created;
  }

  #count({ requestId, tenant, tool, code, name, issues, isLast }: NotedFailure, last: Set<string>): void {
    const counts = this.#countsOf(tenant);
    const ofTool = toolCountsOf(counts, tool);
    ofTool.failures += 1;
    count(ofTool.codes, code);
    if (isLast && !last.has(`${requestId} ${tool}`)) {
      ofTool.gaveUp += 1;
      last.add(`${requestId} ${tool}`);
    }
    if (code === 'unknown_tool' && name !== null && this.#parts !== null)
      count(counts.names, this.#parts.redactor.cut(name, MAX_NAME, 'log'));
    if (counts.names.size > MOST_COUNTED_NAMES) addCounts(counts, createCounts());
    if (issues.length === 0) return;
    const schema = this.#parts?.schemaOf(tool) ?? {};
    const rules = issues.map((issue) => toRuleKey(issue, schema)).filter((rule) => rule !== null);
    // Of one call each rule counts once, however many items of a list break it.
    for (const rule of rules.length > 1 ? new Set(rules) : rules) count(ofTool.rules, rule);
  }

  async #write(): Promise<void> {
    const parts = this.#parts;
    if (parts === null) return;
    this.count();
    for (const [tenant, counts] of this.#counted) {
      // What may be written already is sent again as it was, before more is.
      if (this.#unwritten.has(tenant)) continue;
      this.#writes += 1;
      const key = hourKeyOf(tenant, parts.records.now());
      this.#unwritten.set(tenant, { key, tenant, number: this.#writes, counts });
      this.#counted.delete(tenant);
    }
    for (const write of [...this.#unwritten.values()]) if (!(await this.#send(write))) return;
  }

  /** Whether the store answers, or does not want it now. */
  async #send(write: Write): Promise<boolean> {
    const parts = this.#parts;
    if (parts === null || !parts.space.mayKeepJournals()) return false;
    const { key, tenant, number, counts } = write;
    try {
      const grown = await parts.hours.update(key, (hour) => {
        const before = hour.writers.size === 0 ? 0 : toStoredBytes(hour);
        addWrite(hour, { writer: this.#writer, number, counts });
        return toStoredBytes(hour) - before;
      });
      this.#unwritten.delete(tenant);
      parts.space.add(tenant, { bytes: grown, endsAt: parts.records.now() + HOURS * HOUR_MS });
      return true;
    } catch {
      // The store tells the log and the metrics itself; the write is sent again.
      return false;
    }
  }
}

/** Whether the failure used up the retries of its session, whose further calls of the tool are refused. */
const isLastRetry = (code: FailureCode, retry: RetryState | null): boolean =>
  retry?.scope === 'session' && retry.remaining === 0 && code !== 'retry_budget_exhausted';
