import { type ChildProcess, spawn } from 'node:child_process';
import type { SessionSettings } from '#src/executor/session-store.ts';

/** Of the sessions that are measured without the service. */
export const SETTINGS: SessionSettings = {
  sessionRetries: 20,
  cooldownMs: 900_000,
  ttlMs: 86_400_000,
  maxCalls: 0,
  maxRounds: 0,
  journal: 200,
};

/** A Redis that keeps nothing on disk. REDIS_SERVER names its program. */
export const startRedis = (port: number): ChildProcess =>
  spawn(process.env['REDIS_SERVER'] ?? 'redis-server', ['--port', `${port}`, '--save', '', '--appendonly', 'no'], {
    stdio: 'ignore',
  });
