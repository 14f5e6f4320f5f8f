/** Which traces are sampled, by the names of the OpenTelemetry specification. */
export type Sampling = {
  readonly root: 'always_on' | 'always_off' | 'traceidratio';
  /** Whether a caller's decision is followed where there is one. */
  readonly parent: 'followed' | 'ignored';
  /** Share of the traces, 0 to 1, for `traceidratio`. */
  readonly ratio: number;
};

/** Limits of the queue in which spans wait to be sent; undefined: the SDK's default. */
export type SpanQueue = {
  readonly scheduledDelayMillis?: number;
  readonly exportTimeoutMillis?: number;
  readonly maxQueueSize?: number;
  readonly maxExportBatchSize?: number;
};

export type SdkVariables = {
  readonly sampling: Sampling;
  readonly queue: SpanQueue;
  /** Names of variables that say nothing usable, and were ignored as the specification asks. */
  readonly ignored: readonly string[];
};

type Environment = Readonly<Record<string, string | undefined>>;

const SAMPLERS: ReadonlyMap<string, Omit<Sampling, 'ratio'>> = new Map([
  ['always_on', { root: 'always_on', parent: 'ignored' }],
  ['always_off', { root: 'always_off', parent: 'ignored' }],
  ['traceidratio', { root: 'traceidratio', parent: 'ignored' }],
  ['parentbased_always_on', { root: 'always_on', parent: 'followed' }],
  ['parentbased_always_off', { root: 'always_off', parent: 'followed' }],
  ['parentbased_traceidratio', { root: 'traceidratio', parent: 'followed' }],
]);

const DEFAULT_SAMPLER = { root: 'always_on', parent: 'followed' } as const;

const QUEUE = {
  OTEL_BSP_SCHEDULE_DELAY: 'scheduledDelayMillis',
  OTEL_BSP_EXPORT_TIMEOUT: 'exportTimeoutMillis',
  OTEL_BSP_MAX_QUEUE_SIZE: 'maxQueueSize',
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: 'maxExportBatchSize',
} as const;

// What a timer of Node's can wait for.
const MAX_NUMBER = 2 ** 31 - 1;

/**
 * The variables that OpenTelemetry's specification defines and version 3 of its SDK no longer reads: sampler and queue.
 * A value that cannot be used is ignored and named.
 */
export const readSdkVariables = (environment: Environment): SdkVariables => {
  const ignored: string[] = [];
  const read = <Value>(name: string, parse: (text: string) => Value | undefined): Value | undefined => {
    const text = environment[name]?.trim() ?? '';
    if (text === '') return undefined;
    const value = parse(text);
    if (value === undefined) ignored.push(name);
    return value;
  };
  const sampler = read('OTEL_TRACES_SAMPLER', (text) => SAMPLERS.get(text)) ?? DEFAULT_SAMPLER;
  const ratio = sampler.root === 'traceidratio' ? (read('OTEL_TRACES_SAMPLER_ARG', toShare) ?? 1) : 1;
  const queue = Object.fromEntries(
    Object.entries(QUEUE).flatMap(([name, option]) => {
      const value = read(name, toCount);
      return value === undefined ? [] : [[option, value]];
    }),
  );
  return { sampling: { ...sampler, ratio }, queue, ignored };
};

const toShare = (text: string): number | undefined => {
  const share = Number(text);
  return share >= 0 && share <= 1 ? share : undefined;
};

const toCount = (text: string): number | undefined => {
  const count = Number(text);
  return Number.isInteger(count) && count > 0 && count <= MAX_NUMBER ? count : undefined;
};
