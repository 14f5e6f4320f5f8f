import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { defineTool } from '#src/tools/define-tool.ts';
import { createFolder } from '../config-lab.ts';
import { createKeyedClient, freshName, type Sent } from '../keyed-client.ts';
import type { ConsoleLab } from './console-lab.ts';

const RULE = { tools: 'pay', decide: 'ask', edit: true, expires: '30m', summary: 'Pay {/amount} to {/to}' };

/** A service that asks a person before its tool `pay` runs; `rule` changes what it asks by. */
export const startAskedPayments = async (
  lab: ConsoleLab,
  rule: Readonly<Record<string, unknown>> = {},
  environment: Readonly<Record<string, string>> = {},
) => {
  const path = join(await createFolder(), 'recourse.config.yaml');
  await writeFile(path, JSON.stringify({ approvals: { rules: [{ ...RULE, ...rule }] } }));
  const paid: unknown[] = [];
  const tool = defineTool({
    name: 'pay',
    description: 'Pays.',
    effects: 'write',
    input: z.looseObject({ amount: z.number().optional() }),
    run: (input) => {
      paid.push(input);
      return { paid: input.amount };
    },
  });
  const service = await lab.start({ CONFIG_FILE: path, ...environment }, [tool]);
  const client = createKeyedClient(service.url);
  const session_id = freshName();
  return {
    service,
    /** What was paid: the arguments, in their order. */
    paid,
    /** Calls `pay`, each time in the same session; tells the result. */
    pay: async (input: Readonly<Record<string, unknown>>, sent: Sent = {}) =>
      (await client.post({ session_id, calls: [{ name: 'pay', arguments: input }] }, sent)).results[0],
  };
};
