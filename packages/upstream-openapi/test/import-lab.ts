import type { InlineTool, ToolContext } from 'recourse-server/internal/tools/tool.ts';
import type { ToolOffer } from 'recourse-server/internal/tools/tool-offer.ts';
import { isToldValue } from 'recourse-server/internal/tools/tool-values.ts';
import { onTestFinished } from 'vitest';
import { createOpenApiImport, type OpenApiImportOptions } from '#src/openapi-import.ts';
import { OpenApiImportSettings } from '#src/openapi-import-settings.ts';
import { createTemporaryFolder } from './temporary-folder.ts';

export type LoggedLine = { readonly level: string; readonly message: string; readonly fields: unknown };

type Settings = Record<string, unknown>;

/** An import of a document, which is an object or a text; over loopback unless the settings say otherwise. */
export const startImport = async (
  document: unknown,
  settings: Settings = {},
  options: Partial<OpenApiImportOptions> = {},
) => {
  const folder = await createTemporaryFolder();
  if (document !== null)
    await folder.write('openapi.json', typeof document === 'string' ? document : JSON.stringify(document));
  const offers: ToolOffer[] = [];
  const lines: LoggedLine[] = [];
  const toLog =
    (level: string) =>
    (message: string, fields: unknown = {}): void => {
      lines.push({ level, message, fields });
    };
  const source = createOpenApiImport({
    name: 'api',
    settings: OpenApiImportSettings.parse({
      document: 'openapi.json',
      prefix: '',
      privateAddresses: 'allow',
      ...settings,
    }),
    directory: folder.path,
    mayRead: async () => true,
    readWorkspaceFile: () => Promise.reject(new Error('There is no workspace.')),
    publish: (offer) => offers.push(offer),
    log: { debug: toLog('debug'), info: toLog('info'), warn: toLog('warn'), error: toLog('error') },
    ...options,
  });
  onTestFinished(source.stop);
  await source.start();
  const offer = (): ToolOffer => offers.at(-1) ?? { tools: [], unavailable: [], outdated: new Map() };
  const tool = (name: string): InlineTool => {
    const found = offer().tools.find((candidate) => candidate.name === name);
    if (found?.runsIn !== 'service') throw new Error(`There is no tool ${name}: ${JSON.stringify(source.state())}`);
    return found;
  };
  return { source, folder, offers, offer, tool, lines };
};

/** A document with these paths. */
export const documentOf = (paths: unknown, more: Readonly<Record<string, unknown>> = {}) => ({
  openapi: '3.1.0',
  info: { title: 'Test', version: '1' },
  paths,
  ...more,
});

/** Calls a tool as the executor would and gives what the handler gave, `ok` and `empty` as they are. */
export const callTool = async (
  tool: InlineTool,
  input: Readonly<Record<string, unknown>> = {},
  context: Partial<ToolContext> = {},
): Promise<unknown> => {
  const prepared = await tool.prepare(input);
  if (!prepared.ok) throw new TypeError(prepared.issues.map(({ path, message }) => `${path}: ${message}`).join('\n'));
  const ignore = (): void => {};
  return prepared.invocation.run({
    signal: new AbortController().signal,
    session: null,
    callId: null,
    log: { debug: ignore, info: ignore, warn: ignore, error: ignore },
    progress: ignore,
    part: ignore,
    effects: tool.effects,
    retriesLeft: 3,
    timeoutMs: tool.timeoutMs ?? 30_000,
    isLastAttempt: false,
    idempotencyKey: null,
    effectId: 'e_0123456789abcdefghijkl',
    traceparent: null,
    tenant: null,
    caller: null,
    ...context,
  });
};

/** The value without the text that came with it. */
export const toBareValue = (given: unknown): unknown =>
  typeof given === 'object' && given !== null && isToldValue(given) ? given.value : given;
