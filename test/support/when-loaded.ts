import { setTimeout as pause } from 'node:timers/promises';
import type { LogLine } from './start-service.ts';
import { timeLimit } from './time-limit.ts';

const LATE = /^its process did not start within |the machine was too busy$/;

const isLate = ({ msg, reason }: LogLine): boolean => msg === 'tool file cannot be loaded' && LATE.test(String(reason));

/**
 * Resolves when a service that has just started has its tools. On a machine under full load the process of a file may take too long:
 * the service then serves without it, and tries it again by itself.
 */
export const whenLoaded = async (lines: () => readonly LogLine[]): Promise<void> => {
  if (!lines().some(isLate)) return;
  const until = performance.now() + timeLimit(30_000);
  const loads = () => lines().filter(({ msg }) => msg === 'tools directory loaded').length;
  // What is never loaded is for the test to find.
  while (loads() < 2 && performance.now() < until) await pause(50);
};
