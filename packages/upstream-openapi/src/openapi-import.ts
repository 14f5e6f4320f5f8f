import { isIP } from 'node:net';
import { isAnyAddress, isPublicAddress } from '@recourse/toolkit-kit/egress/address-policy';
import { createDnsLookup, type Lookup, lookupBySystem } from '@recourse/toolkit-kit/egress/lookup';
import { createClientOpener } from '@recourse/toolkit-kit/egress/open-client';
import { showText } from '@recourse/toolkit-kit/egress/show-url';
import { objectionTo } from '@recourse/toolkit-kit/egress/target-url';
import { type RetryClock, systemRetryClock } from '@recourse/toolkit-kit/egress/transport-retries';
import type { SourceOptions, ToolSource, UpstreamState } from 'recourse-server/extension';
import type { ToolLog } from 'recourse-server/tools/tool';
import { createCredentials, createSecretRemover } from './credentials.ts';
import { createLinkedFiles, type LinkedFiles } from './linked-files.ts';
import { type LoadedOperations, loadOperations } from './load-operations.ts';
import type { OpenApiImportSettings } from './openapi-import-settings.ts';
import { createAnswerTurns, createArgumentChecks, type ImportMeans } from './operation-tool.ts';
import { parseOpenApiDocument } from './parse-document.ts';
import { DocumentProblem, type ReadDocument, readDocument, toDocumentPlace } from './read-document.ts';
import { chooseBase, OperationProblem, toBase } from './references.ts';

export type OpenApiImportOptions = Pick<
  SourceOptions<OpenApiImportSettings>,
  'name' | 'settings' | 'directory' | 'publish' | 'log' | 'mayRead' | 'readWorkspaceFile'
> & {
  /** How the waits of the transport's retries pass. */
  readonly clock?: RetryClock;
  /** How names become addresses. Default: the name servers; with `privateAddresses: allow` the operating system. */
  readonly lookup?: Lookup;
  /** Milliseconds between two looks at the document. Default 2 000 for a file, 300 000 for a URL. */
  readonly refreshMs?: number;
  /** Milliseconds until the first try again after a failure; doubles up to a minute. Default 1 000. */
  readonly firstRetryMs?: number;
};

const REFRESH_MS = { file: 2_000, url: 300_000 } as const;
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 60_000;
const START_LIMIT_MS = 10_000;
const ACCESS = {
  allow: { mayConnect: isAnyAddress, ports: 'any' },
  refuse: { mayConnect: isPublicAddress, ports: 'web' },
} as const;

/** One version of a document as tools. */
type Imported = LoadedOperations & { readonly base: URL };

/** The operations of one OpenAPI document as tools. Reads nothing before `start`; ends its connections with `stop`. */
export const createOpenApiImport = (options: OpenApiImportOptions): ToolSource => {
  const { name, settings, clock = systemRetryClock, mayRead } = options;
  const place = toDocumentPlace(settings.document, options.directory);
  const documentUrl = place.kind === 'url' ? place.url : null;
  // Of a URL without its query, which may hold a key.
  const shown = showText(place.kind === 'file' ? place.path : place.url.origin + place.url.pathname);
  const lookup = options.lookup ?? (settings.privateAddresses === 'allow' ? lookupBySystem : createDnsLookup());
  const client = createClientOpener({ ...ACCESS[settings.privateAddresses], lookup, clock });
  const progress = createProgress(options);
  const ending = new AbortController();
  const reading = { importName: name, openClient: client.open, signal: ending.signal };
  const means = toMeans(options, client.open, clock);
  // What the version that serves refers to.
  let linked: LinkedFiles | null = null;
  const read = async (): Promise<void> => {
    const isStale = (await linked?.hasChanged(ending.signal)) === true;
    const tag = isStale ? '' : progress.tag();
    const found = await readDocument(place, shown, { ...reading, tag, subject: 'The document' });
    if (found === null || (!isStale && progress.holds(found.version))) return progress.unchanged(found);
    linked = createLinkedFiles({ ...reading, place, mayRead });
    const context = { options, documentUrl, pinned: progress.pinned(), means, lookup, files: linked };
    progress.imported(await importText(found.text, context), found);
  };
  const first = Promise.withResolvers<void>();
  let timer: NodeJS.Timeout | undefined;
  let failures = 0;
  const look = async (): Promise<void> => {
    failures = await read().then(
      () => 0,
      (error: unknown) => {
        progress.failed(error);
        return failures + 1;
      },
    );
    first.resolve();
    const { refreshMs = REFRESH_MS[place.kind], firstRetryMs = FIRST_RETRY_MS } = options;
    const delayMs = failures === 0 ? refreshMs : toRetryMs(failures, firstRetryMs);
    if (!ending.signal.aborted) timer = setTimeout(() => void look(), delayMs).unref();
  };
  return {
    start: async () => {
      const limit = setTimeout(first.resolve, START_LIMIT_MS).unref();
      void look();
      await first.promise;
      clearTimeout(limit);
    },
    stop: async () => {
      progress.stop();
      clearTimeout(timer);
      first.resolve();
      ending.abort();
      await client.close();
    },
    state: progress.state,
  };
};

type Means = Omit<ImportMeans, 'base' | 'checkFor'>;

const toMeans = (
  { name, settings, readWorkspaceFile }: OpenApiImportOptions,
  openClient: Means['openClient'],
  { now }: RetryClock,
): Means => ({
  importName: name,
  auth: settings.auth,
  credentials: createCredentials(settings.auth),
  files: {
    maxUploadBytes: settings.maxUploadBytes,
    readWorkspaceFile: settings.uploads === 'workspace' ? readWorkspaceFile : null,
  },
  upstream: { name: `openapi:${name}`, concurrency: settings.concurrency },
  timeoutMs: settings.timeoutMs,
  maxResponseBytes: settings.maxResponseBytes,
  openClient,
  turnFor: createAnswerTurns(),
  now,
});

type ImportContext = {
  readonly options: OpenApiImportOptions;
  readonly documentUrl: URL | null;
  /** The base of the first version of the document; no later version may lead elsewhere. null = there was none yet. */
  readonly pinned: URL | null;
  readonly means: Means;
  readonly lookup: Lookup;
  /** What the document may refer to. */
  readonly files: LinkedFiles;
};

/** Throws a DocumentProblem, or what the parsers throw, where the document cannot serve. */
const importText = async (text: string, context: ImportContext): Promise<Imported> => {
  const { options, documentUrl, pinned, means, lookup, files } = context;
  const { settings } = options;
  const document = await parseOpenApiDocument(text, files);
  const base = chooseBase(document.root, documentUrl, settings);
  if (pinned !== null && pinned.href !== base.href)
    throw new DocumentProblem(`The document now names the server ${base.href}, but the import uses ${pinned.href}.`);
  for (const server of [base, ...settings.servers.map((url) => toBase(new URL(url)))])
    await checkBase(server, options, lookup);
  const checkFor = createArgumentChecks(settings.formats);
  return { ...(await loadOperations({ document, documentUrl, settings, means: { ...means, base, checkFor } })), base };
};

// Between half and whole by chance: a crowd of replicas must not come back as one.
const toRetryMs = (failures: number, firstMs: number): number =>
  Math.min(LONGEST_RETRY_MS, firstMs * 2 ** Math.min(failures - 1, 16)) * (0.5 + Math.random() / 2);

/** Calls would be refused one by one; the person who sets the import up learns it at once. */
const checkBase = async (base: URL, { name, settings }: OpenApiImportOptions, lookup: Lookup): Promise<void> => {
  const { mayConnect, ports } = ACCESS[settings.privateAddresses];
  const objection = objectionTo(base, ports);
  if (objection !== null) throw new DocumentProblem(`The server ${base.href} cannot be used: ${objection}.`);
  const host = base.hostname.replace(/^\[|\]$/g, '');
  // A look-up that fails says nothing about the address: calls will tell.
  const addresses = isIP(host) === 0 ? await lookup(host).catch(() => []) : [host];
  if (!addresses.every(mayConnect))
    throw new DocumentProblem(
      `The server ${base.origin} is not at a public address. To allow it, set privateAddresses: allow for the import '${name}'.`,
    );
};

const LONGEST_REASON = 300;
const LEAST_SECRET_LENGTH = 4;

/** What serves of an import, and what is said of it. Nothing is published once it is stopped. */
const createProgress = ({ name, settings, publish, log }: OpenApiImportOptions) => {
  const removeSecrets = createSecretRemover(settings.auth, LEAST_SECRET_LENGTH);
  let serving: Imported | null = null;
  let version = '';
  let tag = '';
  let reason: string | null = null;
  let recoveries = 0;
  let isStopped = false;
  const offer = (): void => {
    if (serving === null || isStopped) return;
    const { tools, unavailable } = serving;
    const why = reason;
    publish({ tools, unavailable, outdated: new Map(why === null ? [] : tools.map((tool) => [tool.name, why])) });
  };
  const recover = (found: ReadDocument | null): void => {
    tag = found?.tag ?? tag;
    if (reason !== null) recoveries += 1;
    reason = null;
  };
  return {
    /** For the next look; empty where the last one failed, so that it reads everything. */
    tag: (): string => (reason === null ? tag : ''),
    holds: (text: string): boolean => serving !== null && version === text,
    /** The base that later versions must keep: null = there was none yet. */
    pinned: (): URL | null => serving?.base ?? null,
    unchanged: (found: ReadDocument | null): void => {
      const wasOutdated = reason !== null;
      recover(found);
      if (wasOutdated) offer();
    },
    imported: (imported: Imported, found: ReadDocument): void => {
      serving = imported;
      version = found.version;
      recover(found);
      offer();
      if (!isStopped) logImported(log, name, imported);
    },
    failed: (error: unknown): void => {
      const failure = showText(removeSecrets(toReason(error)), LONGEST_REASON);
      if (failure === reason || isStopped) return;
      reason = failure;
      const serves = serving === null ? 'none' : 'previous version';
      log.warn('openapi document cannot be used', { import: name, reason, serves });
      offer();
    },
    stop: (): void => {
      isStopped = true;
    },
    state: (): UpstreamState => ({
      name: `openapi:${name}`,
      status: serving !== null ? 'up' : reason === null ? 'connecting' : 'down',
      reason,
      tools: serving?.tools.length ?? 0,
      reconnects: recoveries,
    }),
  };
};

const toReason = (error: unknown): string => {
  if (error instanceof DocumentProblem) return error.message;
  if (error instanceof OperationProblem) return `A path of the document cannot be read. ${error.message}`;
  if (!(error instanceof Error)) return 'The document cannot be used.';
  return `The document cannot be parsed: ${error.message}`;
};

const MOST_LISTED = 20;

const logImported = (log: ToolLog, name: string, { tools, unavailable, leftOut, base }: Imported): void => {
  if (leftOut > 0) log.warn('openapi document has more operations than the limit', { import: name, left_out: leftOut });
  const refused = unavailable.slice(0, MOST_LISTED).map(({ facts, reason }) => `${facts.name}: ${reason}`);
  log.info('openapi document imported', {
    import: name,
    server: base.href,
    tools: tools.length,
    unavailable: unavailable.length,
    ...(refused.length === 0 ? {} : { reasons: refused }),
  });
};
