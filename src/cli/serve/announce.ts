import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import { type Config, hasKeys } from '../../settings/config.ts';
import type { Service } from '../../wiring.ts';

/** Logs that the service listens, and tells people on stderr where, with which tools, and a call to try. */
export const announce = ({ app, opsApp, listTools }: Service, config: Config, log: Logger): void => {
  const address = app.server.address();
  if (address === null || typeof address === 'string') return;
  const host = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  log.info({ address: address.address, port: address.port, ...toOpsPort(opsApp?.server.address()) }, 'listening');
  const url = `http://${host.replace(/^(0\.0\.0\.0|\[::\])$/, '127.0.0.1')}:${address.port}`;
  const lines = [
    `Recourse serves on ${url}.`,
    ...(config.CONSOLE ? [`  console  ${url}/console`] : []),
    `  tools    ${toToolCount(listTools(), config)}`,
    'Try:',
    '',
    `  ${toCurlLine(url, config)}`,
  ];
  process.stderr.write(`${lines.join('\n')}\n\n`);
};

const toOpsPort = (address: AddressInfo | string | null | undefined): { readonly ops_port?: number } =>
  typeof address === 'object' && address !== null ? { ops_port: address.port } : {};

const toToolCount = (tools: ReturnType<Service['listTools']>, { TOOLS_DIR }: Config): string => {
  if (TOOLS_DIR === undefined) return `${tools.length} (TOOLS_DIR or --tools names a directory of your own)`;
  const own = tools.filter(({ source }) => source.startsWith('TOOLS_DIR/')).length;
  return `${tools.length}, ${own} of them from ${TOOLS_DIR}`;
};

// Quoted, for zsh would take the brackets of an IPv6 address for a pattern.
const toCurlLine = (url: string, config: Config): string => {
  const key = hasKeys(config) ? ` -H "authorization: Bearer $YOUR_KEY"` : '';
  // Only of the example workspace is it known what is in it.
  const call =
    config.WORKSPACE_DIR === undefined
      ? '{"id":"call_1","name":"read_file","arguments":{"path":"notes.md"}}'
      : '{"id":"call_1","name":"list_files","arguments":{}}';
  return `curl -s '${url}/tool-calls' -H 'content-type: application/json'${key} -d '{"calls":[${call}]}'`;
};
