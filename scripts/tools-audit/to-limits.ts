import * as z from 'zod';
import type { ToolFacts } from '../../src/tools/tool.ts';

const Bounds = z.object({
  properties: z
    .record(
      z.string(),
      z.object({ maxLength: z.number().optional(), maximum: z.number().optional(), maxItems: z.number().optional() }),
    )
    .default({}),
});

/** The limits that a tool states of itself: its time, and what its arguments may be at most. */
export const toLimits = ({ timeoutMs, inputSchema }: ToolFacts): readonly string[] => {
  const { properties } = Bounds.parse(inputSchema);
  return [
    toTime(timeoutMs),
    ...Object.entries(properties).flatMap(([name, { maxLength, maximum, maxItems }]) => [
      ...toBound(name, maxLength, ' characters'),
      ...toBound(name, maximum, ''),
      ...toBound(name, maxItems, ' entries'),
    ]),
  ];
};

const toTime = (ms: number): string => (ms % 1000 === 0 ? `${ms / 1000} s` : `${toDigits(ms)} ms`);

// zod states of every whole number that it is a safe one.
const toBound = (name: string, most: number | undefined, unit: string): readonly string[] =>
  most === undefined || most === Number.MAX_SAFE_INTEGER ? [] : [`\`${name}\` ≤ ${toDigits(most)}${unit}`];

/** `131 072` */
const toDigits = (number: number): string => String(number).replace(/\B(?=(\d{3})+$)/g, ' ');
