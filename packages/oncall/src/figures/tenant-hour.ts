import { randomBytes } from 'node:crypto';
import { FailureRuns } from './failure-runs.ts';
import { encodeMinute, Names, type ToolCounts } from './minute-text.ts';

/** How many minutes figures have. */
export const MINUTES = 60;
export const MINUTE_MS = 60_000;

/**
 * What this process counts of one tenant. The minute that is not over is counted in `tools`; those that are over are texts, in which
 * tools and codes are numbers of `names`.
 */
export class TenantHour {
  /** Names its record. */
  readonly id = randomBytes(8).toString('hex');
  readonly tools = new Map<string, ToolCounts>();
  readonly runs = new FailureRuns();
  readonly names = new Names();
  /** By the minute since 1970. */
  readonly minutes = new Map<number, string>();
  /** Of the last call. */
  lastMinute = 0;
  /** Of the texts. */
  bytes = 0;
  /** Counted since it was written. */
  isChanged = false;

  /** What is counted in the minute that is not over. */
  encodeNow(): string {
    return encodeMinute(this.tools, this.names);
  }

  /** The minute is over. Gives how many tools were counted in it. */
  turn(minute: number, next: number): number {
    const counted = this.tools.size;
    const text = this.encodeNow();
    for (const [tool, counts] of this.tools) {
      if (counts.calls === 0) this.tools.delete(tool);
      else counts.clear();
    }
    if (text !== '') {
      this.lastMinute = minute;
      this.minutes.set(minute, text);
      this.bytes += text.length;
    }
    this.#forget(next - MINUTES);
    return counted - this.tools.size;
  }

  #forget(last: number): void {
    for (const [minute, { length }] of this.minutes) {
      if (minute > last) continue;
      this.minutes.delete(minute);
      this.bytes -= length;
    }
    this.runs.forget(last * MINUTE_MS);
  }
}
