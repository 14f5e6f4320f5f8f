import type { StreamOptions } from '#src/routes/event-stream.ts';
import type { OpenReadings } from '#src/routes/open-readings.ts';
import type { Reading } from '#src/routes/route-host.ts';

const toReading = (): Reading => ({
  over: new Promise(() => undefined),
  isLost: () => false,
  requireRight: () => undefined,
  shows: () => undefined,
});

/** A place for every answer, and no caller ever loses its right to one. */
export const ANY_READINGS: OpenReadings = { open: toReading, watch: toReading, recheck: () => undefined };

/** Streams of which nobody counts anything. */
export const NO_STREAMS: StreamOptions = {
  heartbeatMs: 1000,
  observer: { opened: () => undefined, closed: () => undefined, dropped: () => undefined },
};
