/** Where audit lines go. Nothing here throws or rejects. */
export type AuditSink = {
  /** Takes one line, without its end. */
  readonly write: (line: string) => void;
  /** Whether the next line would be kept. */
  readonly isUp: () => boolean;
  /** Writes what it still has, as far as it can. */
  readonly close: () => Promise<void>;
};

/** What is counted and logged of a sink. */
export type SinkObserver = {
  readonly lost: (lines: number) => void;
  /** It cannot be written, for this reason, or it can again: null. Told once of each change. */
  readonly changed: (problem: string | null) => void;
};

/** Lines among those of the log. `writeOut` says whether anybody reads it yet. */
export const createStdoutSink = (writeOut: (text: string) => boolean, { lost, changed }: SinkObserver): AuditSink => {
  let isRead = true;
  return {
    write: (line) => {
      if (writeOut(`${line}\n`)) return;
      lost(1);
      if (isRead) changed('EPIPE');
      isRead = false;
    },
    isUp: () => isRead,
    close: async () => undefined,
  };
};
