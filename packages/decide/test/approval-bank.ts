import type { IncomingMessage, ServerResponse } from 'node:http';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import * as z from 'zod';
import { openBank } from './open-bank.ts';

/** Where the bank lets a payment wait: before it is in the ledger, or after that and before it is answered. */
export type Hold = 'gate' | 'effect';

type Held = { readonly at: Hold; readonly reached: PromiseWithResolvers<void>; letGo: () => void };

const TOOL = (url: string) => `
  import { defineTool, z } from 'recourse-server';
  const ask = async (path, mark) => {
    const body = JSON.stringify({ mark });
    return (await fetch('${url}' + path, { method: 'POST', headers: { connection: 'close' }, body })).json();
  };
  export const pay = defineTool({
    name: 'pay',
    description: 'Pays by the bank of a test.',
    effects: 'write',
    background: 'optional',
    timeoutMs: 60000,
    maxDurationMs: 60000,
    input: z.object({ mark: z.string(), fate: z.string() }),
    run: async ({ mark }) => {
      await ask('/gate', mark);
      return ask('/pay', mark);
    },
  });
`;

const Asked = z.object({ mark: z.string() });

/** A bank that books whatever it is asked for, each time, and the directory of the tool that pays by it. */
export const startStrictBank = async () => {
  const ledger: string[] = [];
  const held = new Map<string, Held>();
  const wait = (mark: string, at: Hold, response: ServerResponse): void => {
    const letGo = () => void response.end(JSON.stringify({ paid: mark }));
    const place = held.get(mark);
    if (place?.at === at) {
      place.letGo = letGo;
      place.reached.resolve();
    } else letGo();
  };
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const text = await Array.fromAsync(request, String);
    const { mark } = Asked.parse(JSON.parse(text.join('')));
    if (request.url === '/pay') ledger.push(mark);
    wait(mark, request.url === '/pay' ? 'effect' : 'gate', response);
  };
  const tools = makeDirectory({ 'pay.ts': TOOL(await openBank(serve)) });
  return {
    tools: tools.root,
    /** The marks of all payments, in their order. */
    ledger,
    /** Has a payment wait there. Resolves when it has come so far. */
    hold: (mark: string, at: Hold): Promise<void> => {
      const reached = Promise.withResolvers<void>();
      held.set(mark, { at, reached, letGo: () => undefined });
      return reached.promise;
    },
    letGo: (mark: string): void => {
      held.get(mark)?.letGo();
      held.delete(mark);
    },
  };
};

export type StrictBank = Awaited<ReturnType<typeof startStrictBank>>;
