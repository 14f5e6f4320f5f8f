/** What a file says, or why it cannot be read. */
export type FileReading =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly problem: string };

// A file system that is away may answer never, or when it is back.
const MOST_SILENT_POLLS = 10;
// Each reading that does not end holds one of the four threads that all files and names of the process have.
const MAX_READINGS = 2;
const NO_ANSWER: FileReading = { ok: false, problem: 'reading it timed out' };

/**
 * Reads a small file again and again, and tells of every change. Whether it was written to, renamed over, or a link to
 * it was moved (as Kubernetes does) makes no difference, and no time stamp is believed. A reading that does not end is
 * told, too, and another one tried. Returns what ends it.
 */
export const watchFile = ({
  file,
  pollMs,
  onChange,
  read,
}: {
  /** As it was read when the service started. */
  readonly file: { readonly path: string; readonly text: string };
  readonly pollMs: number;
  readonly onChange: (reading: FileReading) => void;
  /** Never rejects; a reading may never end. */
  readonly read: (path: string) => Promise<FileReading>;
}): (() => void) => {
  const isNews = createNewsCheck(file.text);
  const state = { isClosed: false, begun: 0, answered: 0, running: 0, silentPolls: 0 };
  const look = (reading: FileReading): void => {
    if (!state.isClosed && isNews(reading)) onChange(reading);
  };
  const begin = async (): Promise<void> => {
    state.begun += 1;
    state.running += 1;
    const place = state.begun;
    const reading = await read(file.path);
    state.running -= 1;
    // A later reading has been reported already.
    if (place < state.answered) return;
    state.answered = place;
    state.silentPolls = 0;
    look(reading);
  };
  const poll = (): void => {
    if (state.running === 0) {
      void begin();
      return;
    }
    state.silentPolls += 1;
    if (state.silentPolls < MOST_SILENT_POLLS) return;
    look(NO_ANSWER);
    if (state.running < MAX_READINGS) void begin();
  };
  const timer = setInterval(poll, pollMs);
  timer.unref();
  return () => {
    state.isClosed = true;
    clearInterval(timer);
  };
};

/** Whether a reading is a change that two readings in a row agree on: a file that is being written would be taken half. */
export const createNewsCheck = (text: string): ((reading: FileReading) => boolean) => {
  let reported = markOf({ ok: true, text });
  let seen = reported;
  return (reading) => {
    const mark = markOf(reading);
    const isSettled = mark === seen;
    seen = mark;
    if (!isSettled || mark === reported) return false;
    reported = mark;
    return true;
  };
};

const markOf = (reading: FileReading): string => (reading.ok ? `text ${reading.text}` : `problem ${reading.problem}`);
