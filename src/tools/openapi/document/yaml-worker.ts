import { parentPort, workerData } from 'node:worker_threads';
import { parse } from 'yaml';
import { sizeOf } from './value-size.ts';

// The thread that parses one document of YAML: its text in, its JSON out. What it throws ends it, with the reason.

// Aliases make much of little: a hundred of them may each stand for a megabyte.
const MOST_EXPANDED = { values: 2_000_000, characters: 67_108_864 };

const value: unknown = parse(String(workerData), { logLevel: 'silent' });
if (sizeOf(value, MOST_EXPANDED) === null) throw new Error('its aliases stand for too much');
parentPort?.postMessage(JSON.stringify(value) ?? 'null');
