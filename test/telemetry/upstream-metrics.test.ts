import { expect, test } from 'vitest';
import { createMetrics, type UpstreamSample } from '#src/telemetry/metrics.ts';

const createSubject = () => {
  const metrics = createMetrics('0.0.0');
  const read = async (): Promise<readonly string[]> =>
    (await metrics.registry.metrics()).split('\n').filter((line) => line.startsWith('recourse_upstream_'));
  return { metrics, read };
};

const FILES: UpstreamSample = { name: 'mcp:files', status: 'up', tools: 4, reconnects: 2 };

test('each upstream is a series of each metric, and up only while it answers', async () => {
  const { metrics, read } = createSubject();
  metrics.showUpstreamsBy(() => [
    FILES,
    { name: 'mcp:mail', status: 'down', tools: 0, reconnects: 0 },
    { name: 'mcp:chat', status: 'connecting', tools: 0, reconnects: 0 },
    { name: 'mcp:notes', status: 'held', tools: 3, reconnects: 0 },
  ]);
  expect(await read()).toEqual([
    'recourse_upstream_up{upstream="mcp:files"} 1',
    'recourse_upstream_up{upstream="mcp:mail"} 0',
    'recourse_upstream_up{upstream="mcp:chat"} 0',
    'recourse_upstream_up{upstream="mcp:notes"} 1',
    'recourse_upstream_tools{upstream="mcp:files"} 4',
    'recourse_upstream_tools{upstream="mcp:mail"} 0',
    'recourse_upstream_tools{upstream="mcp:chat"} 0',
    'recourse_upstream_tools{upstream="mcp:notes"} 3',
    'recourse_upstream_reconnects_total{upstream="mcp:files"} 2',
    'recourse_upstream_reconnects_total{upstream="mcp:mail"} 0',
    'recourse_upstream_reconnects_total{upstream="mcp:chat"} 0',
    'recourse_upstream_reconnects_total{upstream="mcp:notes"} 0',
  ]);
});

test('an upstream that is no longer configured leaves no series behind, and a scrape counts nothing twice', async () => {
  const { metrics, read } = createSubject();
  let samples: readonly UpstreamSample[] = [FILES];
  metrics.showUpstreamsBy(() => samples);
  await read();
  expect(await read()).toContain('recourse_upstream_reconnects_total{upstream="mcp:files"} 2');
  samples = [];
  expect(await read()).toEqual([]);
});

test('a configuration file that is refused shows as long as it is', async () => {
  const { metrics } = createSubject();
  const read = async (): Promise<readonly string[]> =>
    (await metrics.registry.metrics()).split('\n').filter((line) => line.startsWith('recourse_config_file_refused'));
  expect(await read()).toEqual(['recourse_config_file_refused 0']);
  let refused = true;
  metrics.showConfigFileBy(() => refused);
  expect(await read()).toEqual(['recourse_config_file_refused 1']);
  refused = false;
  expect(await read()).toEqual(['recourse_config_file_refused 0']);
});
