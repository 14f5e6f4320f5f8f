import { defineTool, z } from 'recourse-server';

// Beyond what a host may have, and still bounded where nobody stops it.
const MAX_BUFFERS = 64;
const BUFFER_BYTES = 16_777_216;

const HOGS = {
  heap: () => {
    const kept: unknown[] = [];
    for (;;) kept.push({ kept: kept.length, text: `text ${kept.length}` });
  },
  buffers: () => {
    const kept: Buffer[] = [];
    while (kept.length < MAX_BUFFERS) kept.push(Buffer.alloc(BUFFER_BYTES, 1));
    return { kept: kept.length };
  },
} as const;

export const hog = defineTool({
  name: 'hog',
  description: 'Takes memory and keeps it.',
  effects: 'read',
  input: z.object({ what: z.enum(['heap', 'buffers']) }),
  timeoutMs: 5000,
  run: ({ what }) => HOGS[what](),
});
