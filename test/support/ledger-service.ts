import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import * as z from 'zod';
import { loadConfig } from '#src/config/settings/config.ts';
import { defineTool } from '#src/tools/define-tool.ts';
import { wire } from '#src/wiring/wire.ts';

/** A whole service with a tool that writes a line each time it runs, and takes some milliseconds after that. */
const main = async (): Promise<void> => {
  const { LEDGER_FILE: file = '/dev/null', ...environment } = process.env;
  const loaded = loadConfig(environment);
  if ('mistakes' in loaded) throw new Error(loaded.mistakes.join('\n'));
  const log = pino({ level: 'info', base: null });
  const writeLine = defineTool({
    name: 'write_line',
    description: 'Has a side effect.',
    effects: 'write',
    background: 'optional',
    input: z.object({ line: z.string() }),
    run: async ({ line }) => {
      appendFileSync(file, `${line}\n`);
      await sleep(2);
      return line;
    },
  });
  const service = await wire(loaded.config, log, { extraTools: [writeLine] });
  await service.app.listen({ host: '127.0.0.1', port: 0 });
  const address = service.app.server.address();
  log.info({ port: typeof address === 'object' ? address?.port : 0 }, 'listening');
};

if (import.meta.main) await main();
