import { join } from 'node:path';
import { makeDirectory, type TemporaryDirectory } from '@recourse/test-support/temporary-directory.ts';
import { expect } from 'vitest';
import type { MixedLoadKeys } from './mixed-load-keys.ts';
import { timeLimit } from './time-limit.ts';

// Both are read twice a second; a machine that is busy with something else takes its time.
const PATIENCE = { timeout: timeLimit(20_000), interval: 50 };

const BROKEN = 'export const tool = defineTool({\n';

const toReexport = (file: string): string => `export * from ${JSON.stringify(join(import.meta.dirname, file))};\n`;

type Watched = { readonly metric: (name: string, label?: string) => Promise<number> };

/** A tools directory in which one file has never been right. */
export const makeToolFiles = (): TemporaryDirectory =>
  makeDirectory({
    'mixed.ts': toReexport('mixed-load-tools.ts'),
    'channel.ts': toReexport('hostile-tools/channel.ts'),
    'floods.ts': toReexport('hostile-tools/floods.ts'),
    'edited.ts': toReexport('hostile-tools/good.ts'),
    'broken.ts': BROKEN,
  });

/** Breaks a file that has served, and leaves it so: what it was serves on. */
export const breakToolFile = async (scene: Watched & { readonly tools: TemporaryDirectory }): Promise<void> => {
  scene.tools.write('edited.ts', BROKEN);
  await expect.poll(() => scene.metric('recourse_tool_files', '"stale"'), PATIENCE).toBe(1);
};

/** Changes the file of keys rightly, then wrongly, and leaves it so: the keys from before hold. */
export const changeKeys = async (scene: Watched & { readonly keys: MixedLoadKeys }): Promise<void> => {
  for (const [to, label, refused] of [
    ['right', 'taken', 0],
    ['wrong', 'refused', 1],
  ] as const) {
    const before = await scene.metric('recourse_api_key_reloads_total', label);
    scene.keys.change(to);
    await expect.poll(() => scene.metric('recourse_api_key_reloads_total', label), PATIENCE).toBeGreaterThan(before);
    expect(await scene.metric('recourse_api_key_file_refused')).toBe(refused);
  }
};
