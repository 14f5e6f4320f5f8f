import { showText } from '../http/show-url.ts';
import type { Publish, UpstreamState } from '../offers/tool-source.ts';
import type { ToolLog } from '../tool.ts';
import { DocumentProblem } from './document/document-problem.ts';
import type { ReadDocument } from './document/read-document.ts';
import { OperationProblem } from './document/references.ts';
import type { ImportedDocument } from './import-document.ts';
import type { OpenApiImportSettings } from './operation/openapi-import-settings.ts';
import { createSecretRemover } from './request/credentials.ts';

/** What serves of an import, and what is said of it. Nothing is published once it is stopped. */
export type ImportProgress = {
  /** For the next look; empty where the last one failed, so that it reads everything. */
  readonly tag: () => string;
  readonly holds: (version: string) => boolean;
  /** The base that later versions must keep. */
  readonly pinned: () => URL | null;
  readonly unchanged: (found: ReadDocument | null) => void;
  readonly imported: (imported: ImportedDocument, found: ReadDocument) => void;
  readonly failed: (thrown: unknown) => 'failed';
  readonly stop: () => void;
  readonly state: () => UpstreamState;
};

export type ImportProgressOptions = {
  readonly name: string;
  readonly settings: Pick<OpenApiImportSettings, 'auth'>;
  readonly publish: Publish;
  readonly log: ToolLog;
};

const MOST_LISTED = 20;
const LONGEST_REASON = 300;
const LEAST_SECRET_LENGTH = 4;

type Progress = {
  serving: ImportedDocument | null;
  version: string;
  tag: string;
  reason: string | null;
  recoveries: number;
  stopped: boolean;
};

export const createImportProgress = ({ name, settings, publish, log }: ImportProgressOptions): ImportProgress => {
  const progress: Progress = { serving: null, version: '', tag: '', reason: null, recoveries: 0, stopped: false };
  const removeSecrets = createSecretRemover(settings.auth, LEAST_SECRET_LENGTH);
  const offer = (reason: string | null): void => {
    const { serving, stopped } = progress;
    if (serving === null || stopped) return;
    const { tools, unavailable } = serving;
    const outdated = new Map(reason === null ? [] : tools.map((tool) => [tool.name, reason]));
    publish({ tools, unavailable, outdated });
  };
  const recovered = (found: ReadDocument | null): void => {
    progress.tag = found?.tag ?? progress.tag;
    if (progress.reason !== null) progress.recoveries += 1;
    progress.reason = null;
  };
  return {
    tag: () => (progress.reason === null ? progress.tag : ''),
    holds: (version) => progress.serving !== null && progress.version === version,
    pinned: () => progress.serving?.base ?? null,
    unchanged: (found) => {
      const wasOutdated = progress.reason !== null;
      recovered(found);
      if (wasOutdated) offer(null);
    },
    imported: (imported, found) => {
      progress.serving = imported;
      progress.version = found.version;
      recovered(found);
      offer(null);
      if (!progress.stopped) logImported(log, name, imported);
    },
    failed: (thrown) => {
      const reason = showText(removeSecrets(toReason(thrown)), LONGEST_REASON);
      if (reason === progress.reason || progress.stopped) return 'failed';
      progress.reason = reason;
      const serves = progress.serving === null ? 'nothing of it' : 'the version before';
      log.warn('openapi document cannot be used', { import: name, reason, serves });
      offer(reason);
      return 'failed';
    },
    stop: () => {
      progress.stopped = true;
    },
    state: () => toState(name, progress),
  };
};

const toState = (name: string, { serving, reason, recoveries }: Progress): UpstreamState => ({
  name: `openapi:${name}`,
  status: serving !== null ? 'up' : reason === null ? 'connecting' : 'down',
  reason,
  tools: serving?.tools.length ?? 0,
  reconnects: recoveries,
});

const toReason = (thrown: unknown): string => {
  if (thrown instanceof DocumentProblem) return thrown.message;
  if (thrown instanceof OperationProblem) return `A path of the document cannot be read. ${thrown.message}`;
  if (!(thrown instanceof Error)) return 'The document cannot be used.';
  return `The document cannot be parsed: ${thrown.message}`;
};

const logImported = (log: ToolLog, name: string, { tools, unavailable, leftOut, base }: ImportedDocument): void => {
  if (leftOut > 0)
    log.warn('openapi document has more operations than are served', { import: name, left_out: leftOut });
  const refused = unavailable.slice(0, MOST_LISTED).map(({ facts, reason }) => `${facts.name}: ${reason}`);
  log.info('openapi document imported', {
    import: name,
    server: base.href,
    tools: tools.length,
    unavailable: unavailable.length,
    ...(refused.length === 0 ? {} : { reasons: refused }),
  });
};
