import { expect, test } from 'vitest';
import { createLoadConfigFile } from '#src/config/file/load-config-file.ts';
import {
  createLaneLookup,
  DEFAULT_LANE,
  findUnknownLanes,
  type Lane,
  toServedLanes,
} from '#src/config/settings/lanes.ts';

const loadConfigFile = await createLoadConfigFile();

const load = (lines: readonly string[]) => loadConfigFile({ file: 'c.yaml', text: lines.join('\n'), environment: {} });

const lanesOf = (...lines: readonly string[]): readonly Lane[] => {
  const loaded = load(lines);
  if (!loaded.ok) throw new Error(loaded.mistakes.join('\n'));
  return loaded.content.lanes;
};

const mistakesOf = (...lines: readonly string[]): readonly string[] => {
  const loaded = load(lines);
  return loaded.ok ? [] : loaded.mistakes;
};

const GPU = ['lanes:', '  default: {}', "  gpu: { tools: ['render_*'], concurrency: 2, shards: 1 }"];

test('lanes are read, and the default one is there whether the file names it or not', () => {
  const gpu = { lane: 'gpu', tools: ['render_*'], concurrency: 2, shards: 1 };
  const standard = { lane: 'default', tools: [], concurrency: null, shards: 1 };
  expect(lanesOf(...GPU)).toEqual([standard, gpu]);
  expect(lanesOf('tools: {}')).toEqual([standard]);
  expect(lanesOf('lanes: { gpu: { tools: [render] }, default: { concurrency: 5, shards: 3 } }')).toEqual([
    { lane: 'default', tools: [], concurrency: 5, shards: 3 },
    { lane: 'gpu', tools: ['render'], concurrency: null, shards: 1 },
  ]);
});

test('each mistake in a lane is told with its place', () => {
  expect(
    mistakesOf(
      'lanes:',
      '  default: { tools: [a] }',
      '  GPU: { tools: [a] }',
      '  gpu: { concurrency: 2 }',
      '  wide: { tools: [a], concurrency: 2, shards: 3 }',
      '  odd: { tools: [], concurency: 1 }',
    ),
  ).toEqual([
    'CONFIG_FILE c.yaml line 3, column 3: lanes.GPU: is not a valid name: must begin with a lower-case letter, then have at most 31 of a to z, 0 to 9, _ and -',
    'CONFIG_FILE c.yaml line 6, column 10: lanes.odd.tools: Too small: expected array to have >=1 items',
    "CONFIG_FILE c.yaml line 6, column 21: lanes.odd.concurency: is unknown here: did you mean 'concurrency'?",
  ]);
  expect(
    mistakesOf(
      'lanes:',
      '  default: { tools: [a] }',
      '  gpu: { concurrency: 2 }',
      '  wide: { tools: [a], concurrency: 2, shards: 3 }',
    ),
  ).toEqual([
    'CONFIG_FILE c.yaml line 2, column 14: lanes.default.tools: must be left out: all tools that no other lane names are in this one',
    'CONFIG_FILE c.yaml line 3, column 3: lanes.gpu.tools: must name the tools of this lane',
    'CONFIG_FILE c.yaml line 4, column 39: lanes.wide.shards: must not be larger than concurrency: a worker takes from each at least one call',
  ]);
});

test('a tool waits in the lane of the most specific pattern that fits, else in the default one', () => {
  const laneOf = createLaneLookup(
    lanesOf('lanes:', "  gpu: { tools: ['render_*', ocr] }", "  video: { tools: ['render_video_*', 'ocr*'] }"),
  );
  expect(['render_page', 'render_video_hd', 'ocr', 'ocr_fast', 'search'].map(laneOf)).toEqual([
    'gpu',
    'video',
    'gpu',
    'video',
    'default',
  ]);
  expect(createLaneLookup([DEFAULT_LANE])('render_page')).toBe('default');
});

test('a worker serves all lanes or those it names, each with its own concurrency or that of the worker', () => {
  const lanes = lanesOf(...GPU);
  expect(toServedLanes({ WORKER_LANES: [], WORKER_CONCURRENCY: 16 }, lanes)).toEqual([
    { lane: 'default', concurrency: 16 },
    { lane: 'gpu', concurrency: 2 },
  ]);
  expect(toServedLanes({ WORKER_LANES: ['gpu'], WORKER_CONCURRENCY: 16 }, lanes)).toEqual([
    { lane: 'gpu', concurrency: 2 },
  ]);
});

test('a lane that nothing defines is a mistake with a hint', () => {
  expect(findUnknownLanes({ WORKER_LANES: ['gpu', 'gpus', 'printing'] }, lanesOf(...GPU))).toEqual([
    "WORKER_LANES names the lane 'gpus', which the configuration file does not define: did you mean 'gpu'?",
    "WORKER_LANES names the lane 'printing', which the configuration file does not define: lanes are default, gpu",
  ]);
});
