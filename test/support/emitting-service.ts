import { setTimeout } from 'node:timers/promises';
import { pino } from 'pino';
import { loadConfig } from '#src/config/settings/config.ts';
import { wire } from '#src/wiring/wire.ts';

// A service of its own kind: once its store answers it tells the webhook endpoint `ops` of EMIT calls that have ended, and
// then says that it listens. Messages of before would be kept in this process, and be lost with it.
const loaded = loadConfig(process.env);
if ('mistakes' in loaded) throw new Error(loaded.mistakes.join('\n'));
const log = pino({ base: null });
const service = await wire(loaded.config, log, { environment: process.env });
const url = await service.app.listen({ host: '127.0.0.1', port: 0 });
while (!(await fetch(`${url}/sessions/none`, { method: 'DELETE' })).ok) await setTimeout(20);
const count = Number(process.env['EMIT'] ?? '0');
for (let index = 0; index < count; index += 1)
  await service.webhooks.emit({
    type: 'tool_call.completed',
    tenant: 'acme',
    endpoint: 'ops',
    data: { request_id: 'r', index, outcome: 'success', executed: 'yes', code: null },
  });
const address = service.app.server.address();
log.info({ port: typeof address === 'object' ? address?.port : 0 }, 'listening');
