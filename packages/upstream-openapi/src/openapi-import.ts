import { isIP } from 'node:net';
import { isAnyAddress, isPublicAddress } from '@recourse/toolkit-kit/egress/address-policy';
import { createDnsLookup, type Lookup, lookupBySystem } from '@recourse/toolkit-kit/egress/lookup';
import { createClientOpener } from '@recourse/toolkit-kit/egress/open-client';
import { showText } from '@recourse/toolkit-kit/egress/show-url';
import { objectionTo } from '@recourse/toolkit-kit/egress/target-url';
import { type RetryClock, systemRetryClock } from '@recourse/toolkit-kit/egress/transport-retries';
import type { SourceOptions, ToolSource, UpstreamState } from 'recourse-server/extension';
import { createCredentials, createSecretRemover } from './credentials.ts';
import type { ImportMeans } from './import-means.ts';
import { LinkedFiles } from './linked-files.ts';
import { loadOperations } from './load-operations.ts';
import type { OpenApiImportSettings } from './openapi-import-settings.ts';
import { createAnswerTurns, createArgumentChecks } from './operation-tool.ts';
import { parseOpenApiDocument } from './parse-document.ts';
import { DocumentProblem, findDocument, type ReadDocument, type ReadOptions, readDocument } from './read-document.ts';
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

const FILE_REFRESH_MS = 2_000;
const URL_REFRESH_MS = 300_000;
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 60_000;
const START_LIMIT_MS = 10_000;
const LONGEST_REASON = 300;
const MOST_LISTED = 20;
// Parts of words are shorter; an answer of the API must not be torn for them, a failure may.
const LEAST_SECRET_IN_ANSWER = 8;
const LEAST_SECRET_IN_FAILURE = 4;
const ACCESS = {
  allow: { mayConnect: isAnyAddress, ports: 'any' },
  refuse: { mayConnect: isPublicAddress, ports: 'web' },
} as const;

/** The operations of one OpenAPI document as tools. Reads nothing before `start`; ends its connections with `stop`. */
export const createOpenApiImport = (options: OpenApiImportOptions): ToolSource => new OpenApiImport(options);

/**
 * Owns the version of the document that serves, why the newest one does not, and the timer of the next reading.
 *
 * | state      | serving | reason | published                   |
 * |------------|---------|--------|-----------------------------|
 * | connecting | null    | null   | nothing                     |
 * | down       | null    | text   | nothing                     |
 * | up         | version | null   | its tools                   |
 * | outdated   | version | text   | its tools, with the reason  |
 * | stopped    | any     | any    | nothing more, reads no more |
 */
class OpenApiImport implements ToolSource {
  readonly #options: OpenApiImportOptions;
  readonly #place: ReturnType<typeof findDocument>;
  readonly #lookup: Lookup;
  readonly #client: ReturnType<typeof createClientOpener>;
  readonly #reading: ReadOptions;
  readonly #means: Omit<ImportMeans, 'base' | 'checkFor'>;
  readonly #stopped = new AbortController();
  readonly #firstReading = Promise.withResolvers<void>();
  #timer: NodeJS.Timeout | undefined;
  #failures = 0;
  #recoveries = 0;
  #serving: (Awaited<ReturnType<typeof loadOperations>> & { readonly base: URL }) | null = null;
  #reason: string | null = null;
  #version = '';
  #tag = '';
  /** What the version that was imported last refers to. */
  #linked: LinkedFiles | null = null;

  constructor(options: OpenApiImportOptions) {
    const { name, settings, clock = systemRetryClock, readWorkspaceFile } = options;
    this.#options = options;
    this.#place = findDocument(settings.document, options.directory);
    this.#lookup = options.lookup ?? (settings.privateAddresses === 'allow' ? lookupBySystem : createDnsLookup());
    this.#client = createClientOpener({ ...ACCESS[settings.privateAddresses], lookup: this.#lookup, clock });
    this.#reading = { importName: name, openClient: this.#client.open, signal: this.#stopped.signal };
    this.#means = {
      name,
      settings,
      credentials: createCredentials(settings.auth),
      removeSecrets: {
        fromAnswer: createSecretRemover(settings.auth, LEAST_SECRET_IN_ANSWER),
        fromFailure: createSecretRemover(settings.auth, LEAST_SECRET_IN_FAILURE),
      },
      readWorkspaceFile: settings.uploads === 'workspace' ? readWorkspaceFile : null,
      upstream: { name: `openapi:${name}`, concurrency: settings.concurrency },
      openClient: this.#client.open,
      turnFor: createAnswerTurns(),
      now: clock.now,
    };
  }

  readonly start = async (): Promise<void> => {
    const limit = setTimeout(this.#firstReading.resolve, START_LIMIT_MS).unref();
    void this.#refresh();
    await this.#firstReading.promise;
    clearTimeout(limit);
  };

  readonly stop = async (): Promise<void> => {
    clearTimeout(this.#timer);
    this.#firstReading.resolve();
    this.#stopped.abort();
    await this.#client.close();
  };

  readonly state = (): UpstreamState => ({
    name: `openapi:${this.#options.name}`,
    status: this.#serving !== null ? 'up' : this.#reason === null ? 'connecting' : 'down',
    reason: this.#reason,
    tools: this.#serving?.tools.length ?? 0,
    reconnects: this.#recoveries,
  });

  async #refresh(): Promise<void> {
    await this.#read().then(
      () => {
        this.#failures = 0;
      },
      (error: unknown) => {
        this.#failures += 1;
        this.#fail(error);
      },
    );
    this.#firstReading.resolve();
    const usualMs = typeof this.#place === 'string' ? FILE_REFRESH_MS : URL_REFRESH_MS;
    const { refreshMs = usualMs, firstRetryMs = FIRST_RETRY_MS } = this.#options;
    const retryMs = Math.min(LONGEST_RETRY_MS, firstRetryMs * 2 ** Math.min(this.#failures - 1, 16));
    // Between half and whole by chance: a crowd of replicas must not come back as one.
    const delayMs = this.#failures === 0 ? refreshMs : retryMs * (0.5 + Math.random() / 2);
    if (!this.#stopped.signal.aborted) this.#timer = setTimeout(() => void this.#refresh(), delayMs).unref();
  }

  async #read(): Promise<void> {
    const place = this.#place;
    // Of a URL without its query, which may hold a key.
    const shown = showText(typeof place === 'string' ? place : place.origin + place.pathname);
    const isStale = (await this.#linked?.hasChanged()) === true;
    // After a failure everything is read again.
    const tag = isStale || this.#reason !== null ? '' : this.#tag;
    const found = await readDocument(place, shown, { ...this.#reading, tag });
    if (found !== null && 'problem' in found) throw new DocumentProblem(`The document ${found.problem}`);
    const isSame = found === null || (!isStale && this.#serving !== null && found.version === this.#version);
    if (isSame) {
      if (this.#recover(found)) this.#publish();
      return;
    }
    this.#linked = new LinkedFiles(place, this.#reading, this.#options.mayRead);
    this.#serving = await this.#import(found.text, this.#linked);
    this.#version = found.version;
    this.#recover(found);
    this.#publish();
    this.#logImported();
  }

  /** One version of the document as tools. Rejects with a DocumentProblem, or what the parsers throw, where it cannot serve. */
  async #import(text: string, files: LinkedFiles) {
    const { settings } = this.#options;
    const documentUrl = typeof this.#place === 'string' ? null : this.#place;
    const document = await parseOpenApiDocument(text, files);
    const base = chooseBase(document.root, documentUrl, settings);
    const before = this.#serving?.base ?? base;
    if (before.href !== base.href)
      throw new DocumentProblem(`The document now names the server ${base.href}, but the import uses ${before.href}.`);
    for (const server of [base, ...settings.servers.map((url) => toBase(new URL(url)))]) await this.#checkBase(server);
    const means = { ...this.#means, base, checkFor: createArgumentChecks(settings.formats) };
    return { ...(await loadOperations(document, documentUrl, means)), base };
  }

  /** Calls would be refused one by one; the person who sets the import up learns it at once. */
  async #checkBase(base: URL): Promise<void> {
    const { name, settings } = this.#options;
    const { mayConnect, ports } = ACCESS[settings.privateAddresses];
    const objection = objectionTo(base, ports);
    if (objection !== null) throw new DocumentProblem(`The server ${base.href} cannot be used: ${objection}.`);
    const host = base.hostname.replace(/^\[|\]$/g, '');
    // A look-up that fails says nothing about the address: calls will tell.
    const addresses = isIP(host) === 0 ? await this.#lookup(host).catch(() => []) : [host];
    if (!addresses.every(mayConnect))
      throw new DocumentProblem(
        `The server ${base.origin} is not at a public address. To allow it, set privateAddresses: allow for the import '${name}'.`,
      );
  }

  /** The newest version serves. Whether the one before did not. */
  #recover(found: ReadDocument | null): boolean {
    const wasOutdated = this.#reason !== null;
    this.#tag = found?.tag ?? this.#tag;
    this.#reason = null;
    if (wasOutdated) this.#recoveries += 1;
    return wasOutdated;
  }

  #fail(error: unknown): void {
    const reason = showText(this.#means.removeSecrets.fromFailure(explainFailure(error)), LONGEST_REASON);
    if (reason === this.#reason || this.#stopped.signal.aborted) return;
    this.#reason = reason;
    const serves = this.#serving === null ? 'none' : 'previous version';
    this.#options.log.warn('openapi document cannot be used', { import: this.#options.name, reason, serves });
    this.#publish();
  }

  #publish(): void {
    if (this.#serving === null || this.#stopped.signal.aborted) return;
    const { tools, unavailable } = this.#serving;
    const why = this.#reason;
    const outdated = new Map(why === null ? [] : tools.map((tool) => [tool.name, why]));
    this.#options.publish({ tools, unavailable, outdated });
  }

  #logImported(): void {
    const { log, name } = this.#options;
    if (this.#serving === null || this.#stopped.signal.aborted) return;
    const { tools, unavailable, leftOut, base } = this.#serving;
    if (leftOut > 0)
      log.warn('openapi document has more operations than the limit', { import: name, left_out: leftOut });
    const reasons = unavailable.slice(0, MOST_LISTED).map(({ facts, reason }) => `${facts.name}: ${reason}`);
    log.info('openapi document imported', {
      ...{ import: name, server: base.href, tools: tools.length, unavailable: unavailable.length },
      ...(reasons.length === 0 ? {} : { reasons }),
    });
  }
}

const explainFailure = (error: unknown): string => {
  if (error instanceof DocumentProblem) return error.message;
  if (error instanceof OperationProblem) return `A path of the document cannot be read. ${error.message}`;
  if (!(error instanceof Error)) return 'The document cannot be used.';
  return `The document cannot be parsed: ${error.message}`;
};
