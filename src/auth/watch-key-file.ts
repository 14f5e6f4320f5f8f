import { readFile } from 'node:fs';

/** What a file says, or why it cannot be read. */
export type KeyFileReading =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly problem: string };

export type WatchOptions = {
  readonly path: string;
  /** What was read when the service started. */
  readonly text: string;
  readonly pollMs: number;
  readonly onChange: (reading: KeyFileReading) => void;
};

/**
 * Reads a small file again and again, and tells of every change. Whether it was written to, renamed over, or a link to
 * it was moved (as Kubernetes does) makes no difference, and no time stamp is believed. Returns what ends it.
 */
export const watchKeyFile = ({ path, text, pollMs, onChange }: WatchOptions): (() => void) => {
  const isNews = createNewsCheck(text);
  let state: 'idle' | 'reading' | 'closed' = 'idle';
  const look = (reading: KeyFileReading): void => {
    if (state === 'closed') return;
    state = 'idle';
    if (isNews(reading)) onChange(reading);
  };
  const timer = setInterval(() => {
    if (state !== 'idle') return;
    state = 'reading';
    readFile(path, 'utf8', (error, read) =>
      look(error === null ? { ok: true, text: read } : { ok: false, problem: error.message }),
    );
  }, pollMs);
  timer.unref();
  return () => {
    state = 'closed';
    clearInterval(timer);
  };
};

/** Whether a reading is a change that two readings in a row agree on: a file that is being written would be taken half. */
export const createNewsCheck = (text: string): ((reading: KeyFileReading) => boolean) => {
  let told = toMark({ ok: true, text });
  let seen = told;
  return (reading) => {
    const mark = toMark(reading);
    const isSettled = mark === seen;
    seen = mark;
    if (!isSettled || mark === told) return false;
    told = mark;
    return true;
  };
};

const toMark = (reading: KeyFileReading): string =>
  reading.ok ? `text ${reading.text}` : `problem ${reading.problem}`;
