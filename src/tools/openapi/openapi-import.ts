import { isAnyAddress, isPublicAddress } from '../http/address-policy.ts';
import { createDnsLookup, type Lookup, lookupBySystem } from '../http/lookup.ts';
import { createClientOpener } from '../http/open-client.ts';
import { type RetryClock, systemRetryClock } from '../http/transport-retries.ts';
import type { Publish, ToolSource } from '../offers/tool-source.ts';
import type { ToolLog } from '../tool.ts';
import { createAnswerTurns } from './answer/answer-turns.ts';
import { createLinkedFiles, type LinkedFiles } from './document/linked-files.ts';
import { readDocument, toDocumentPlace, toDocumentSubject } from './document/read-document.ts';
import { importDocument } from './import-document.ts';
import { createImportProgress } from './import-progress.ts';
import type { OpenApiImportSettings } from './operation/openapi-import-settings.ts';
import { toCredentials } from './request/credentials.ts';
import { createRereading } from './rereading.ts';

export type OpenApiImportOptions = {
  /** The name of the import: `openapi:<name>` in logs, metrics and the catalogue. */
  readonly name: string;
  readonly settings: OpenApiImportSettings;
  /** Absolute: what a relative `document` is relative to, the folder of the configuration file. */
  readonly directory: string;
  readonly publish: Publish;
  readonly log: ToolLog;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
  /** How the waits of the transport's retries pass. */
  readonly clock?: RetryClock;
  /** How names become addresses. Default: the name servers; with `privateAddresses: allow` the operating system. */
  readonly lookup?: Lookup;
  /** Whether a file that the document refers to may be read, by its real path. Default: all below its directory. */
  readonly mayRead?: (path: string) => Promise<boolean>;
  /** All of a file of the workspace, for `uploads: workspace`, or one byte more than `most`. Default: none are sent. */
  readonly readWorkspaceFile?: (path: string, most: number) => Promise<Uint8Array>;
  /** Milliseconds between two looks at the document. Default 2 000 for a file, 300 000 for a URL. */
  readonly refreshMs?: number;
  /** Milliseconds until the first try again after a failure; doubles up to a minute. Default 1 000. */
  readonly firstRetryMs?: number;
};

const REFRESH_MS = { file: 2_000, url: 300_000 } as const;
const FIRST_RETRY_MS = 1_000;
const START_LIMIT_MS = 10_000;
const ACCESS = {
  allow: { mayConnect: isAnyAddress, ports: 'any' },
  refuse: { mayConnect: isPublicAddress, ports: 'web' },
} as const;

/** The operations of one OpenAPI document as tools. Reads nothing before `start`; ends its connections with `stop`. */
export const createOpenApiImport = (options: OpenApiImportOptions): ToolSource => {
  const { name, settings, clock = systemRetryClock, mayRead = async () => true } = options;
  const now = options.now ?? clock.now;
  const place = toDocumentPlace(settings.document, options.directory);
  const lookup = options.lookup ?? (settings.privateAddresses === 'allow' ? lookupBySystem : createDnsLookup());
  const client = createClientOpener({ ...ACCESS[settings.privateAddresses], lookup, clock: { ...clock, now } });
  const reading = { importName: name, openClient: client.open };
  const progress = createImportProgress(options);
  const ending = new AbortController();
  const means = {
    importName: name,
    auth: settings.auth,
    credentials: toCredentials(settings.auth),
    files: {
      maxUploadBytes: settings.maxUploadBytes,
      readWorkspaceFile: settings.uploads === 'workspace' ? (options.readWorkspaceFile ?? null) : null,
    },
    upstream: { name: `openapi:${name}`, concurrency: settings.concurrency },
    timeoutMs: settings.timeoutMs,
    maxResponseBytes: settings.maxResponseBytes,
    openClient: client.open,
    turnFor: createAnswerTurns(),
    now,
  };
  // What the version that serves refers to.
  let linked: LinkedFiles | null = null;
  const read = async (): Promise<void> => {
    const isStale = (await linked?.hasChanged(ending.signal)) === true;
    const found = await readDocument(toDocumentSubject(place), isStale ? '' : progress.tag(), ending.signal, reading);
    if (found === null || (!isStale && progress.holds(found.version))) return progress.unchanged(found);
    const files = createLinkedFiles({ ...reading, place, signal: ending.signal, mayRead });
    linked = files;
    const documentUrl = place.kind === 'url' ? place.url : null;
    const imported = await importDocument(found.text, {
      importName: name,
      settings,
      documentUrl,
      pinned: progress.pinned(),
      means,
      lookup,
      files,
    });
    progress.imported(imported, found);
  };
  const first = Promise.withResolvers<void>();
  const rereading = createRereading({
    look: async () => {
      const outcome = await read().then(() => 'fine' as const, progress.failed);
      first.resolve();
      return outcome;
    },
    refreshMs: options.refreshMs ?? REFRESH_MS[place.kind],
    firstRetryMs: options.firstRetryMs ?? FIRST_RETRY_MS,
  });
  return {
    start: async () => {
      const limit = setTimeout(() => first.resolve(), START_LIMIT_MS).unref();
      rereading.start();
      await first.promise;
      clearTimeout(limit);
    },
    stop: async () => {
      progress.stop();
      rereading.stop();
      first.resolve();
      ending.abort();
      await client.close();
    },
    state: progress.state,
  };
};
