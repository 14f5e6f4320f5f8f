import type { Logger } from 'pino';
import type { ConfigContent, LoadedConfig } from 'recourse-server/config/file/load-config-file';
import { readConfigFile, toUnreadable } from 'recourse-server/config/file/read-config-file';
import { type FileReading, watchFile } from 'recourse-server/files/watch-file';
import { describeCauses } from 'recourse-server/telemetry/describe-error';
import { cutText } from 'recourse-server/tools/describe-value';
import type { SourceChanges } from './source-set.ts';

/** Whether the configuration file is in force as it is now. */
export type ConfigFileState = {
  /** Absolute; null where there is none. */
  readonly path: string | null;
  /** `stale`: it was changed and cannot be used; its previous version still holds. */
  readonly status: 'none' | 'current' | 'stale';
  /** One line for people where it is `stale`. */
  readonly reason: string | null;
};

type FollowOptions = {
  /** As it was read when the service started. */
  readonly file: { readonly path: string; readonly text: string };
  /** What the text says, and whether it may be used; its secrets are registered when this resolves. */
  readonly load: (text: string) => Promise<LoadedConfig>;
  /** Puts it in force, and tells what that changed. */
  readonly apply: (content: ConfigContent) => Promise<SourceChanges>;
  readonly log: Logger;
};

// A change is taken at the second reading that shows it.
const POLL_MS = 500;
const MAX_REASON = 500;

/** Follows the configuration file: a valid change comes into force, an invalid one is logged and changes nothing. */
export const followConfigFile = ({ file, load, apply, log }: FollowOptions) => {
  const { path } = file;
  let state: ConfigFileState = { path, status: 'current', reason: null };
  let isStopped = false;
  let stopWatching = (): void => undefined;
  const keepPrevious = (reason: string): void => {
    state = { path, status: 'stale', reason: cutText(reason, MAX_REASON) };
  };
  const take = async (reading: FileReading): Promise<void> => {
    if (isStopped) return;
    const loaded = reading.ok ? await load(reading.text) : explainUnread(path, reading.problem);
    if (!loaded.ok) {
      const { mistakes } = loaded;
      keepPrevious(mistakes.join('; '));
      log.error({ file: path, mistakes }, 'invalid configuration file, keeping the previous version');
      return;
    }
    const changes = await apply(loaded.content);
    state = { path, status: 'current', reason: null };
    log.info({ file: path, ...changes, overrides: loaded.content.tools.size }, 'configuration file reloaded');
  };
  // A failed change must not keep the next one from being taken.
  const failed = (error: unknown): void => {
    const causes = describeCauses(error);
    keepPrevious(`it could not be applied: ${causes[0]?.message ?? ''}`);
    log.error({ file: path, causes }, 'configuration file could not be applied');
  };
  let last = Promise.resolve();
  const onChange = (reading: FileReading): void => {
    // One after another: each is compared with what the one before put in force.
    last = last.then(() => take(reading)).then(undefined, failed);
  };
  return {
    start: (): void => {
      if (!isStopped) stopWatching = watchFile({ file, pollMs: POLL_MS, onChange, read: readConfigFile });
    },
    stop: (): void => {
      isStopped = true;
      stopWatching();
    },
    state: (): ConfigFileState => state,
  };
};

const explainUnread = (path: string, problem: string) =>
  ({ ok: false, mistakes: [toUnreadable(path, problem)] }) as const;
