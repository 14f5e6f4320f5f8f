import type { Client } from '@modelcontextprotocol/client';
import type { ToolLog } from '../tool.ts';
import { type ListedTool, readToolList } from './tool-list.ts';

export type ListReaderOptions = {
  readonly log: ToolLog;
  readonly limitMs: number;
  /** Between two readings, however often they are asked for. */
  readonly gapMs: number;
  /** Whom to ask now; null = nobody is there. */
  readonly client: () => Client | null;
  /** A tool whose name holds a secret is not taken: names are shown as they are, in metrics too. */
  readonly holdsSecret: (text: string) => boolean;
  readonly onList: (tools: readonly ListedTool[]) => Promise<void>;
};

/** Reads the list, once at a time; whoever asks meanwhile gets the next reading. Resolves with whether it was read. */
export const createListReader = (options: ListReaderOptions): (() => Promise<boolean>) => {
  let last: Promise<unknown> = Promise.resolve();
  let next: Promise<boolean> | null = null;
  return () => {
    next ??= last.then(() => {
      next = null;
      const reading = readOnce(options);
      last = reading.then(() => pause(options.gapMs));
      return reading;
    });
    return next;
  };
};

const readOnce = async ({ client, limitMs, holdsSecret, onList, log }: ListReaderOptions): Promise<boolean> => {
  const asked = client();
  if (asked === null) return false;
  const list = await readToolList(asked, limitMs).catch((error: unknown) => {
    log.warn('the tools of an MCP server could not be listed', { error: String(error).slice(0, 300) });
    return null;
  });
  // Meanwhile it may be another connection that serves, with a list of its own.
  if (list === null || client() !== asked) return false;
  if (list.dropped > 0) log.warn('entries of the list of an MCP server were dropped', { entries: list.dropped });
  const shown = list.tools.filter(({ name }) => !holdsSecret(name));
  const secret = list.tools.length - shown.length;
  if (secret > 0) log.warn('tools of an MCP server are left out, for their names hold a secret', { tools: secret });
  await onList(shown);
  return true;
};

const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
