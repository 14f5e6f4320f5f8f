import type { ToolResult } from '../../contract/tool-result.ts';
import type { Paint } from '../terminal/paint.ts';
import { escapeForTerminal, toPlainLines, toPlainText } from '../terminal/plain-text.ts';

/** A result as people read it: how it ended, what the model is told, the value, whether it ran, and what is left of its retries. */
export const showResult = (tool: string, result: ToolResult, paint: Paint): string => {
  const { success, outcome, error, message, executed, duration_ms: durationMs, empty } = result;
  const ended = success
    ? paint('green', empty === true ? 'success, nothing found' : 'success')
    : paint('red', `${outcome}, ${error?.code ?? ''}`);
  const rows = [
    ...(message === '' ? [] : [toRow('message', toPlainLines(message), paint)]),
    ...(result.value === null && !success ? [] : [toRow('value', toValueText(result.value), paint)]),
    ...(result.warnings ?? []).map((warning) => toRow('warning', toPlainText(warning.message), paint)),
    toRow('executed', executed, paint),
    ...(result.retry === null ? [] : [toRow('retry', toRetryText(result.retry), paint)]),
    toRow('duration', durationMs < 10 ? `${durationMs.toFixed(1)} ms` : `${Math.round(durationMs)} ms`, paint),
  ];
  return [`${paint('bold', toPlainText(tool))}: ${ended}${toMarks(result)}`, ...rows].join('\n');
};

const WIDTH = 10;

const toRow = (name: string, text: string, paint: Paint): string => {
  const [first = '', ...more] = text.split('\n');
  const indent = ' '.repeat(WIDTH + 2);
  return [`  ${paint('dim', name.padEnd(WIDTH))}${first}`, ...more.map((line) => `${indent}${line}`)].join('\n');
};

// What fits into a line beside its name stands in one.
const SHORT = 80;

const toValueText = (value: unknown): string => {
  if (typeof value === 'string') return toPlainLines(value);
  const line = JSON.stringify(value) ?? 'null';
  return escapeForTerminal(line.length <= SHORT ? line : JSON.stringify(value, null, 2));
};

const toRetryText = ({ allowed, remaining, limit, scope }: NonNullable<ToolResult['retry']>): string =>
  `${allowed ? 'allowed' : 'not allowed'}, ${remaining} of ${limit} left in this ${scope}`;

const toMarks = ({ replayed, truncated }: ToolResult): string =>
  [...(replayed === true ? [' (replayed)'] : []), ...(truncated === true ? [' (value cut)'] : [])].join('');
