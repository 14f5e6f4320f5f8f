import { setTimeout as afterMs } from 'node:timers/promises';
import type { Client } from '@modelcontextprotocol/client';
import type { ToolLog } from 'recourse-server/tools/tool';
import type { createFadingLog } from './limited-log.ts';
import { type ListedTool, readToolList } from './tool-list.ts';
import { explainList } from './trouble.ts';

type ListRefreshOptions = {
  readonly log: ToolLog;
  readonly failures: ReturnType<typeof createFadingLog>;
  readonly limitMs: number;
  /** Between two readings, however often they are requested. */
  readonly gapMs: number;
  /** The client in use; null while there is none. */
  readonly client: () => Client | null;
  /** A tool whose name holds a secret is left out: names are shown as they are, in metrics too. */
  readonly holdsSecret: (tool: string) => boolean;
  readonly onList: (tools: readonly ListedTool[]) => Promise<void>;
};

/** How a reading ended: `read`; `not_asked`, where there was no connection; or why it failed, one clause for people. */
type ListReading = 'read' | 'not_asked' | { readonly cause: string };

/** Reads the list of a server, once at a time and with pauses. */
export class ListRefresh {
  readonly #options: ListRefreshOptions;
  /** Over once the next reading may begin. */
  #last: Promise<unknown> = Promise.resolve();
  /** The reading that runs or has just ended. */
  #recent: Promise<ListReading> | null = null;
  #next: Promise<ListReading> | null = null;

  constructor(options: ListRefreshOptions) {
    this.#options = options;
  }

  /** The next reading; requests that come before it begins share it. Never rejects. */
  read(): Promise<ListReading> {
    this.#next ??= this.#last.then(() => {
      this.#next = null;
      const reading = this.#readOnce();
      this.#recent = reading;
      this.#last = reading
        .then(() => afterMs(this.#options.gapMs, undefined, { ref: false }))
        .then(() => {
          this.#recent = null;
        });
      return reading;
    });
    return this.#next;
  }

  /** The reading that runs or has just ended, else the next one. A further one follows in any case. Never rejects. */
  latest(): Promise<ListReading> {
    const following = this.read();
    return this.#recent ?? following;
  }

  async #readOnce(): Promise<ListReading> {
    const { client, limitMs, holdsSecret, onList, log, failures } = this.#options;
    const current = client();
    if (current === null) return 'not_asked';
    const list = await readToolList(current, limitMs).catch((error: unknown) => ({ cause: explainList(error) }));
    // Meanwhile it may be another connection that serves, with a list of its own.
    if (client() !== current) return 'not_asked';
    if ('cause' in list) {
      failures.failed(list.cause);
      return list;
    }
    failures.worked();
    if (list.dropped > 0)
      log.warn('invalid entries in the tool list of an MCP server dropped', { entries: list.dropped });
    const shown = list.tools.filter(({ name }) => !holdsSecret(name));
    const secret = list.tools.length - shown.length;
    if (secret > 0) log.warn('tools of an MCP server left out: their names contain a secret', { tools: secret });
    await onList(shown);
    return 'read';
  }
}
