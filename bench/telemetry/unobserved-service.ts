import { pino } from 'pino';
import { loadConfig } from '../../src/config/settings/config.ts';
import { wire } from '../../src/wiring/wire.ts';

/** The service, of which nothing is counted or logged: what telemetry costs is the difference to this. */
const loaded = loadConfig(process.env);
if ('mistakes' in loaded) throw new Error(loaded.mistakes.join('\n'));
const { config } = loaded;
const service = await wire(config, pino({ level: 'silent' }), { telemetry: 'off' });
process.on('SIGTERM', () => process.exit(0));
await service.app.listen({ host: config.HOST, port: config.PORT });
