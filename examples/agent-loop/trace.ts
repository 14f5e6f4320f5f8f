import type { AgentObserver } from './agent.ts';
import type { ToolResult } from './tool-result.ts';

const COLUMN = 11;

/** Writes a run as lines that can be read while it goes on. */
export const createTrace = (write: (line: string) => void): AgentObserver => {
  const line = (label: string, text: string): void => write(`  ${label.padEnd(COLUMN)}${text}`);
  return {
    planned: (thought, calls) => {
      line('planning', thought);
      for (const call of calls) line('acting', `${call.name} ${JSON.stringify(call.arguments)}`);
    },
    received: (result) => {
      line('observing', toSummary(result));
      if (result.message !== '') line('', `"${result.message}"`);
    },
    moved: (from, event, to) => {
      if (to === 'done' || to === 'failed') line(to, `(${from}, ${event})`);
    },
  };
};

const toSummary = ({ outcome, error, retry }: ToolResult): string => {
  const code = error === null ? '' : ` (${error.code}${error.fatal ? ', fatal' : ''})`;
  const budget = retry === null ? '' : `, ${retry.remaining} of ${retry.limit} retries left`;
  return `${outcome}${code}${budget}`;
};
