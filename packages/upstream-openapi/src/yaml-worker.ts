import { parentPort, workerData } from 'node:worker_threads';
import { parse } from 'yaml';
import { sizeOf } from './value-size.ts';

// The thread that parses texts of YAML: the texts in, their JSON out, or why there is none. Too much for the stack or the
// heap ends it, with the reason.

// Aliases make much of little: a hundred of them may each stand for a megabyte.
const MOST_EXPANDED = { values: 2_000_000, characters: 67_108_864 };

const toJson = (yaml: unknown): { readonly json: string } | { readonly problem: string } => {
  try {
    // `silent` would give what can be read of a text that is broken. A key that is there twice counts as in JSON.
    const value: unknown = parse(String(yaml), { logLevel: 'error', uniqueKeys: false });
    if (sizeOf(value, MOST_EXPANDED) === null) return { problem: 'its aliases expand to too many values' };
    return { json: JSON.stringify(value) ?? 'null' };
  } catch (thrown) {
    if (thrown instanceof Error) return { problem: thrown.message };
    throw thrown;
  }
};

const yamls: unknown = workerData;
parentPort?.postMessage(Array.isArray(yamls) ? yamls.map(toJson) : []);
