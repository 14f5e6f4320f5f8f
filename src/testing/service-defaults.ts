/**
 * What a service has with no setting changed, as far as a call of a tool can tell: times in milliseconds, sizes in bytes. A
 * test compares it with the settings.
 */
export const SERVICE_DEFAULTS = {
  gracefulErrors: 'on',
  maxResultBytes: 1_048_576,
  maxAnswerBytes: 4_194_304,
  maxBatchCalls: 64,
  maxDeadlineMs: 300_000,
  batchConcurrency: 64,
  sessionRetries: 20,
  cooldownMs: 900_000,
  sessionTtlMs: 86_400_000,
  sessionMaxCalls: 0,
  sessionMaxRounds: 0,
  journal: 200,
  toolConcurrency: 512,
  callerConcurrency: 768,
  maxConcurrentCalls: 1024,
  maxQueuedCalls: 2048,
  circuitFailures: 10,
  circuitOpenMs: 10_000,
} as const;
