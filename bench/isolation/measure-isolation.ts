import { measureIsolated } from './measure-isolated.ts';
import { measureKill } from './measure-kill.ts';
import { measureOverload } from './measure-overload.ts';
import type { Part } from './part.ts';
import type { IsolationMeasured } from './to-isolation-sections.ts';

/** Measures what was asked for of the tool hosts, one after the other. */
export const measureIsolation = async (part: Part): Promise<IsolationMeasured> => {
  const { parts } = part.options;
  return {
    isolated: parts.includes('isolated') ? await measureIsolated(part) : null,
    overloads: parts.includes('overload') ? await measureOverload(part) : null,
    kills: parts.includes('kill') ? await measureKill(part) : null,
  };
};
