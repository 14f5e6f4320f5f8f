import { dirname } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { createOpenApiImport } from '@recourse/upstream-openapi/openapi-import';
import { OpenApiImportSettings } from '@recourse/upstream-openapi/openapi-import-settings';
import type { ToolOffer } from '../../src/tools/tool-offer.ts';

export type Imported = {
  readonly offer: ToolOffer;
  /** Why nothing of the document could be used; null where it could. */
  readonly reason: string | null;
  readonly stop: () => Promise<void>;
};

const MOST_WAITS = 1_200;

/** The tools of one document, as the service would offer them; calls go to `baseUrl`. */
export const importOnce = async (path: string, settings: Readonly<Record<string, unknown>> = {}): Promise<Imported> => {
  let offer: ToolOffer = { tools: [], unavailable: [], outdated: new Map() };
  const ignore = (): void => {};
  const source = createOpenApiImport({
    name: 'api',
    settings: OpenApiImportSettings.parse({
      document: path,
      prefix: '',
      baseUrl: 'http://127.0.0.1:9',
      privateAddresses: 'allow',
      ...settings,
    }),
    directory: dirname(path),
    mayRead: async () => true,
    readWorkspaceFile: () => Promise.reject(new Error('There is no workspace.')),
    publish: (next) => {
      offer = next;
    },
    log: { debug: ignore, info: ignore, warn: ignore, error: ignore },
  });
  await source.start();
  // A start waits for 10 s at most; the largest documents take longer.
  for (let waits = 0; source.state().status === 'connecting' && waits < MOST_WAITS; waits += 1) await setTimeout(100);
  return { offer, reason: source.state().reason, stop: source.stop };
};
