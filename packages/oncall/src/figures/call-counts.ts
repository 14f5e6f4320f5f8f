import type { Failure } from 'recourse-server/executor/call-outcome';
import { bucketOf } from './durations.ts';
import type { FailureRun } from './failure-runs.ts';
import { ToolCounts } from './minute-text.ts';
import { MINUTES, TenantHour } from './tenant-hour.ts';

// Of all tenants: some 7 MB of tools that are called within a minute, and 16 MB of texts.
const MOST_COUNTED = 10_000;
const MOST_BYTES = 16 * 1024 * 1024;
const MOST_TENANTS = 1000;
// A tenant that comes again gets a record of its own: one that is called now and then is not displaced.
const QUIET_MINUTES = 10;

/** Tells how many calls of each tool came since it was asked last. */
export type TakeCalls = (take: (tenant: string, tool: string, calls: number) => void) => void;

/**
 * Counts the calls of this process by tenant, tool and minute. Beyond its bounds a further tool of a minute is not counted, and no further
 * tenant until one has been quiet for ten minutes: that is forgotten when the minute is over.
 */
export class CallCounts {
  readonly hours = new Map<string, TenantHour>();
  /** That is counted now, since 1970; 0 before there is a store, whose time it is. */
  minute = 0;
  /** Tools of the minute that is counted, of all tenants. */
  #counted = 0;
  /** What is not counted. */
  readonly #beyond = new ToolCounts();
  /** That of tenants that have no place. */
  readonly #nobody = new TenantHour();
  /** How often in this minute a tenant had no place. */
  #refused = 0;
  /** Of minutes that are over, and not taken yet. */
  #passed: (readonly [tenant: string, tool: string, calls: number])[] = [];
  // Where the call before was counted: calls of a batch are often of one tool.
  #tenant = '';
  #tool = '';
  #counts = this.#beyond;
  #hour = this.#nobody;

  /** On the path of each call: it asks no clock, and makes something only where a tool is called for the first time in a minute. */
  readonly answered = (tenant: string, tool: string, failure: Failure | null, durationMs: number): void => {
    if (tool !== this.#tool || tenant !== this.#tenant) this.#find(tenant, tool);
    const counts = this.#counts;
    counts.calls += 1;
    this.#hour.isChanged = true;
    // What did not run took no time.
    if (durationMs > 0) {
      const bucket = bucketOf(durationMs);
      counts.durations[bucket] = (counts.durations[bucket] ?? 0) + 1;
    }
    if (failure !== null) counts.fail(failure.code);
  };

  readonly takeCalls: TakeCalls = (take) => {
    const passed = this.#passed;
    this.#passed = [];
    for (const [tenant, tool, calls] of passed) take(tenant, tool, calls);
    this.#takeNew(take);
  };

  #takeNew(take: Parameters<TakeCalls>[0]): void {
    for (const [tenant, { tools }] of this.hours)
      for (const [tool, counts] of tools) {
        if (counts.calls === counts.taken) continue;
        take(tenant, tool, counts.calls - counts.taken);
        counts.taken = counts.calls;
      }
  }

  /** A call that was counted has failed. */
  failed(tenant: string, failure: Omit<FailureRun, 'since' | 'last'>, now: number): void {
    const hour = tenant === this.#tenant ? this.#hour : this.hours.get(tenant);
    if (hour === undefined || hour === this.#nobody) return;
    hour.runs.failed(failure, now);
    hour.isChanged = true;
  }

  /** From now on calls are of this minute. Gives how many calls the one before did not count. */
  turn(next: number): number {
    const { minute } = this;
    if (next <= minute) return 0;
    // The next call is looked up anew: what it would be counted in may be gone.
    this.#tool = '';
    this.#counts = this.#beyond;
    // What came before there was a time is of the first minute.
    this.minute = next;
    if (minute === 0) return 0;
    this.#takeNew((...passed) => void this.#passed.push(passed));
    for (const hour of this.hours.values()) this.#counted -= hour.turn(minute, next);
    this.#forget(next);
    const { calls } = this.#beyond;
    this.#beyond.clear();
    return calls;
  }

  #find(tenant: string, tool: string): void {
    const hour = this.hours.get(tenant) ?? this.#begin(tenant);
    this.#hour = hour;
    this.#tenant = tenant;
    this.#tool = tool;
    this.#counts = hour === this.#nobody ? this.#beyond : (hour.tools.get(tool) ?? this.#add(hour, tool));
  }

  #add(hour: TenantHour, tool: string): ToolCounts {
    if (this.#counted >= MOST_COUNTED) return this.#beyond;
    this.#counted += 1;
    const counts = new ToolCounts();
    hour.tools.set(tool, counts);
    return counts;
  }

  #begin(tenant: string): TenantHour {
    if (this.hours.size >= MOST_TENANTS) {
      this.#refused += 1;
      return this.#nobody;
    }
    const hour = new TenantHour();
    hour.lastMinute = this.minute;
    this.hours.set(tenant, hour);
    return hour;
  }

  /** Forgets tenants that were called least lately: those of another hour, more where there is no room. */
  #forget(next: number): void {
    const idle = [...this.hours].toSorted(([, one], [, other]) => one.lastMinute - other.lastMinute);
    let bytes = idle.reduce((sum, [, hour]) => sum + hour.bytes, 0);
    for (const [tenant, hour] of idle) {
      const isWanted = this.hours.size > MOST_TENANTS - this.#refused;
      const minutes = isWanted ? QUIET_MINUTES : MINUTES;
      if (hour.lastMinute > next - minutes && (bytes <= MOST_BYTES || this.hours.size === 1)) break;
      bytes -= hour.bytes;
      this.#counted -= hour.tools.size;
      this.hours.delete(tenant);
    }
    this.#refused = 0;
  }
}
