import type { RestartReason } from './classify-death.ts';

/** Tool files that share processes, and how those do. `file`: relative to TOOLS_DIR. */
export type HostGroup = {
  /** At most 50 of them; those whose work ended most processes in the last hour first. */
  readonly files: readonly string[];
  readonly processes: number;
  /** Of the largest process, in bytes; 0: the system does not tell. */
  readonly memoryBytes: number;
  readonly limitBytes: number;
  /** Of the last hour, by reason. */
  readonly restarts: ReadonlyMap<RestartReason, number>;
  /** In milliseconds of the pool's clock; null: none in the last hour. */
  readonly lastRestartAt: number | null;
  /** What the last process that was replaced wrote to stderr at its end, in lines that are cut with lookahead. Not redacted. */
  readonly lastLines: readonly string[];
  /** What had made the last process unusable that was replaced for that, in the words of the host. Not redacted. */
  readonly recycledFor: string;
};

type Ended = Pick<HostGroup, 'lastLines' | 'recycledFor'>;

type FileRestarts = Ended & {
  readonly at: number;
  /** By minute of the pool's clock. */
  readonly minutes: Map<number, Map<RestartReason, number>>;
};

const MINUTE_MS = 60_000;
const HOUR_MINUTES = 60;

const countAll = (restarts: HostGroup['restarts']): number => restarts.values().reduce((sum, count) => sum + count, 0);

/** Which processes had to be replaced in the last hour, by the file that they ran: 60 minutes of counts a file. */
export class HostRestarts {
  readonly #files = new Map<string, FileRestarts>();

  /** `file`: as in `HostGroup`. */
  add(file: string, reason: RestartReason, { lastLines, recycledFor }: Ended, now: number): void {
    const known = this.#files.get(file) ?? { minutes: new Map(), recycledFor: '' };
    const minute = Math.floor(now / MINUTE_MS);
    const counts = known.minutes.get(minute) ?? new Map<RestartReason, number>();
    counts.set(reason, (counts.get(reason) ?? 0) + 1);
    known.minutes.set(minute, counts);
    const { minutes } = known;
    this.#files.set(file, {
      minutes,
      at: now,
      lastLines,
      recycledFor: recycledFor === '' ? known.recycledFor : recycledFor,
    });
    this.#forget(now);
  }

  /** The same files; those whose work ended most processes first. */
  worstFirst(files: readonly string[], now: number): readonly string[] {
    const counts = new Map(files.map((file) => [file, countAll(this.sum([file], now).restarts)]));
    return files.toSorted((one, other) => (counts.get(other) ?? 0) - (counts.get(one) ?? 0));
  }

  /** What became of the processes of these files. */
  sum(files: readonly string[], now: number): Ended & Pick<HostGroup, 'restarts' | 'lastRestartAt'> {
    this.#forget(now);
    const found = files.flatMap((file) => this.#files.get(file) ?? []);
    const restarts = new Map<RestartReason, number>();
    for (const { minutes } of found)
      for (const counts of minutes.values())
        for (const [reason, count] of counts) restarts.set(reason, (restarts.get(reason) ?? 0) + count);
    const last = found.toSorted((one, other) => other.at - one.at)[0];
    return {
      restarts,
      ...{ lastRestartAt: last?.at ?? null, lastLines: last?.lastLines ?? [], recycledFor: last?.recycledFor ?? '' },
    };
  }

  #forget(now: number): void {
    const oldest = Math.floor(now / MINUTE_MS) - HOUR_MINUTES;
    for (const [file, { minutes }] of this.#files) {
      for (const minute of minutes.keys()) if (minute <= oldest) minutes.delete(minute);
      if (minutes.size === 0) this.#files.delete(file);
    }
  }
}
